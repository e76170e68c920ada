//! Rights of service accounts.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_service_account_has_the_rights_of_its_bindings_and_groups() {
    let env = TestEnv::start().await;
    for namespace in ["shop", "bank"] {
        env.namespace(namespace).await;
    }
    let robot = service_account(&env, "shop", "robot").await;
    let maps = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps");
    assert_eq!(get(&env, &robot, &maps("shop")).await.code, StatusCode::FORBIDDEN);
    grant(&env, "shop", "own", account("shop", "robot"), json!([rule(&["list"], "", &["configmaps"])])).await;
    assert!(get(&env, &robot, &maps("shop")).await.is_allowed());
    assert!(!get(&env, &robot, &maps("bank")).await.is_allowed());
    let all = group("system:serviceaccounts:shop");
    grant(&env, "bank", "guests", all, json!([rule(&["list"], "", &["configmaps"])])).await;
    assert!(get(&env, &robot, &maps("bank")).await.is_allowed());
    let other = service_account(&env, "bank", "other").await;
    assert!(!get(&env, &other, &maps("bank")).await.is_allowed());
    assert!(get(&env, &other, "/apis").await.is_allowed(), "discovery is for all authenticated users");
}

#[tokio::test]
async fn a_revoked_right_is_gone_for_the_next_request() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let alice = As::User("alice", &[]);
    let maps = "/api/v1/namespaces/shop/configmaps";
    let rules = json!([rule(&["list"], "", &["configmaps"])]);
    create(&env, &in_namespace("shop", "roles"), role("r", rules.clone())).await;
    let bindings = in_namespace("shop", "rolebindings");
    for round in 0..20 {
        assert!(!get(&env, &alice, maps).await.is_allowed(), "before round {round}");
        create(&env, &bindings, role_binding("b", "Role", "r", user("alice"))).await;
        assert!(get(&env, &alice, maps).await.is_allowed(), "round {round}");
        let path = if round % 2 == 0 { format!("{bindings}/b") } else { in_namespace("shop", "roles/r") };
        assert!(call(&env, &As::Admin, "DELETE", &path, json!({})).await.code.is_success());
        assert!(!get(&env, &alice, maps).await.is_allowed(), "after round {round}");
        if round % 2 == 1 {
            create(&env, &in_namespace("shop", "roles"), role("r", rules.clone())).await;
            call(&env, &As::Admin, "DELETE", &format!("{bindings}/b"), json!({})).await;
        }
    }
}

#[tokio::test]
async fn a_denied_request_reveals_nothing_and_its_body_is_not_read() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    create(&env, "/api/v1/namespaces/shop/configmaps", json!({"metadata": {"name": "here"}})).await;
    let eve = As::User("eve", &[]);
    let message = |path: &str| {
        let path = path.to_owned();
        let (env, eve) = (&env, &eve);
        async move { get(env, eve, &path).await.message().replace("here", "x").replace("gone", "x") }
    };
    assert_eq!(
        message("/api/v1/namespaces/shop/configmaps/here").await,
        message("/api/v1/namespaces/shop/configmaps/gone").await
    );
    // A body that never ends.
    let endless =
        Body::from_stream(futures_util::stream::pending::<Result<axum::body::Bytes, axum::Error>>());
    let request = Request::builder().method("POST").uri("/api/v1/namespaces/shop/configmaps");
    let denied = send(&env, &eve, request.body(endless).unwrap()).await;
    assert_eq!(denied.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_write_of_the_status_needs_its_own_right() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    env.install(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.example.org"},
        "spec": {
            "group": "sea.example.org", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    }))
    .await;
    let boats = "/apis/sea.example.org/v1/namespaces/shop/boats";
    let boat = json!({"apiVersion": "sea.example.org/v1", "kind": "Boat", "metadata": {"name": "a"}});
    create(&env, boats, boat).await;
    let verbs = ["get", "update", "patch"];
    let group = "sea.example.org";
    grant(&env, "shop", "spec", user("sailor"), json!([rule(&verbs, group, &["boats"])])).await;
    grant(&env, "shop", "status", user("harbour"), json!([rule(&verbs, group, &["boats/status"])])).await;
    grant(&env, "shop", "parts", user("port"), json!([rule(&verbs, group, &["*/status"])])).await;
    for (name, spec, status) in
        [("sailor", true, false), ("harbour", false, true), ("port", false, true), ("eve", false, false)]
    {
        let who = As::User(name, &[]);
        let patch = json!({"status": {"a": 1}});
        let on = |part: &str| format!("{boats}/a{part}");
        let found = [
            call(&env, &who, "PATCH", &on(""), patch.clone()).await.is_allowed(),
            call(&env, &who, "PATCH", &on("/status"), patch.clone()).await.is_allowed(),
        ];
        assert_eq!(found, [spec, status], "{name}");
        if !status {
            let stored = get(&env, &As::Admin, &on("")).await.body;
            assert_eq!(stored["status"], Value::Null, "{name} wrote the status with the object");
        }
        call(&env, &As::Admin, "PATCH", &on("/status"), json!({"status": null})).await.created();
    }
}

#[tokio::test]
async fn a_put_or_an_apply_that_creates_needs_create() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let rules = json!([rule(&["update", "patch"], "coordination.k8s.io", &["leases"])]);
    grant(&env, "shop", "writer", user("alice"), rules).await;
    let alice = As::User("alice", &[]);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/shop/leases";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}});
    let put = call(&env, &alice, "PUT", &format!("{leases}/a"), lease.clone()).await;
    assert_eq!(put.code, StatusCode::FORBIDDEN);
    assert!(put.message().contains(r#"cannot create resource "leases""#), "{}", put.message());
    let apply = || {
        let uri = format!("{leases}/a?fieldManager=m");
        let request = Request::builder().method("PATCH").uri(uri);
        let request = request.header(header::CONTENT_TYPE, "application/apply-patch+yaml");
        request.body(Body::from(lease.to_string())).unwrap()
    };
    let applied = answer(send(&env, &alice, apply()).await).await;
    assert_eq!(applied.code, StatusCode::FORBIDDEN);
    assert!(applied.message().contains("cannot create"), "{}", applied.message());
    create(&env, leases, lease.clone()).await;
    assert!(call(&env, &alice, "PATCH", &format!("{leases}/a"), json!({"spec": {}})).await.is_allowed());
    assert!(send(&env, &alice, apply()).await.status().is_success(), "an existing object needs no create");
}

#[tokio::test]
async fn names_restrict_rights_to_single_objects() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let mut rules = rule(&["get", "list", "watch", "update", "delete", "create"], "", &["configmaps"]);
    rules["resourceNames"] = json!(["a"]);
    grant(&env, "shop", "one", user("alice"), json!([rules])).await;
    let alice = As::User("alice", &[]);
    let maps = "/api/v1/namespaces/shop/configmaps";
    for name in ["a", "b"] {
        create(&env, maps, json!({"metadata": {"name": name}})).await;
    }
    for (method, path, allowed) in [
        ("GET", "/a", true),
        ("GET", "/b", false),
        ("GET", "", false),
        ("GET", "?fieldSelector=metadata.name%3Da", true),
        ("GET", "?fieldSelector=metadata.name%3Db", false),
        ("GET", "?fieldSelector=metadata.name!%3Da", false),
        ("GET", "?fieldSelector=metadata.namespace%3Da", false),
        ("POST", "", false),
        ("DELETE", "?fieldSelector=metadata.name%3Da", false),
        ("DELETE", "/b", false),
        ("DELETE", "/a?dryRun=All", true),
    ] {
        let body = if method == "POST" { json!({"metadata": {"name": "a"}}) } else { Value::Null };
        let found = call(&env, &alice, method, &format!("{maps}{path}"), body).await;
        assert_eq!(found.is_allowed(), allowed, "{method} {path}: {found:?}");
    }
    let listed = get(&env, &alice, &format!("{maps}?fieldSelector=metadata.name%3Da")).await.body;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "only what the name selects");
    let both = get(&env, &alice, &format!("{maps}?fieldSelector=metadata.name%3Da,metadata.name%3Db")).await;
    assert_eq!(both.body["items"], json!([]));
}
