//! Nobody grants what they do not have.

use serde_json::json;

use super::*;

/// Manager of roles and bindings in `shop`, with the right to read config maps.
async fn manager(env: &TestEnv, further: &[Value]) -> As {
    env.namespace("shop").await;
    let verbs = ["get", "list", "create", "update", "patch", "delete"];
    let mut rules =
        vec![rule(&verbs, RBAC_GROUP, &["roles", "rolebindings"]), rule(&["get"], "", &["configmaps"])];
    rules.extend_from_slice(further);
    grant(env, "shop", "manager", user("mona"), json!(rules)).await;
    As::User("mona", &[])
}

fn reads(resource: &str) -> Value {
    json!([rule(&["get"], "", &[resource])])
}

#[tokio::test]
async fn a_role_is_written_by_users_who_have_its_rules() {
    let env = TestEnv::start().await;
    let mona = manager(&env, &[]).await;
    let roles = in_namespace("shop", "roles");
    let write = async |name: &str, rules: Value| call(&env, &mona, "POST", &roles, role(name, rules)).await;
    assert_eq!(write("maps", reads("configmaps")).await.code, StatusCode::CREATED);
    assert_eq!(write("empty", json!([])).await.code, StatusCode::CREATED);
    let refused = write("secrets", reads("secrets")).await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN);
    for part in [
        r#"roles.rbac.authorization.k8s.io "secrets" is forbidden: user "mona" (groups=["system:authenticated"])"#,
        "is attempting to grant RBAC permissions not currently held",
        r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}"#,
    ] {
        assert!(refused.message().contains(part), "{}", refused.message());
    }
    for rules in [
        json!([rule(&["*"], "", &["configmaps"])]),
        json!([rule(&["get"], "*", &["configmaps"])]),
        json!([rule(&["get"], "", &["*"])]),
        json!([rule(&["get"], "", &["configmaps", "secrets"])]),
    ] {
        assert_eq!(write("more", rules.clone()).await.code, StatusCode::FORBIDDEN, "{rules}");
    }
    let maps = format!("{roles}/maps");
    let patched = call(&env, &mona, "PATCH", &maps, json!({"rules": reads("secrets")})).await;
    assert_eq!(patched.code, StatusCode::FORBIDDEN);
    let put = call(&env, &mona, "PUT", &maps, role("maps", reads("secrets"))).await;
    assert_eq!(put.code, StatusCode::FORBIDDEN);
    let created_by_put =
        call(&env, &mona, "PUT", &format!("{roles}/new"), role("new", reads("secrets"))).await;
    assert_eq!(created_by_put.code, StatusCode::FORBIDDEN);
    let dry = call(&env, &mona, "POST", &format!("{roles}?dryRun=All"), role("dry", reads("secrets"))).await;
    assert_eq!(dry.code, StatusCode::FORBIDDEN);
    let apply = Request::builder().method("PATCH").uri(format!("{roles}/applied?fieldManager=m"));
    let apply = apply.header(header::CONTENT_TYPE, "application/apply-patch+yaml");
    let apply = apply.body(Body::from(role("applied", reads("secrets")).to_string())).unwrap();
    assert_eq!(send(&env, &mona, apply).await.status(), StatusCode::FORBIDDEN);
    // A role with more rights than its manager has may lose a finalizer, and may be deleted.
    create(&env, &roles, role("strong", reads("secrets"))).await;
    let strong = format!("{roles}/strong");
    let owners = json!({"metadata": {"finalizers": ["example.org/f"]}});
    assert!(call(&env, &mona, "PATCH", &strong, owners).await.code.is_success());
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(call(&env, &mona, "PATCH", &strong, labels).await.code, StatusCode::FORBIDDEN);
    assert!(call(&env, &mona, "DELETE", &strong, json!({})).await.code.is_success());
}

#[tokio::test]
async fn a_binding_is_written_by_users_who_have_the_rules_of_its_role() {
    let env = TestEnv::start().await;
    let mona = manager(&env, &[]).await;
    let (roles, bindings) = (in_namespace("shop", "roles"), in_namespace("shop", "rolebindings"));
    create(&env, &roles, role("maps", reads("configmaps"))).await;
    create(&env, &roles, role("secrets", reads("secrets"))).await;
    let bind = async |kind: &str, name: &str| {
        let binding = role_binding(name, kind, name, user("mona"));
        call(&env, &mona, "POST", &bindings, binding).await.code.as_u16()
    };
    assert_eq!(bind("Role", "maps").await, 201);
    assert_eq!(bind("Role", "secrets").await, 403);
    assert_eq!(bind("ClusterRole", "cluster-admin").await, 403);
    assert_eq!(bind("ClusterRole", "admin").await, 403, "aggregated rules count");
    assert_eq!(bind("Role", "gone").await, 404);
    let cluster = cluster_role_binding("all", "cluster-admin", user("mona"));
    let found = call(&env, &mona, "POST", &format!("{RBAC}/clusterrolebindings"), cluster).await;
    assert_eq!(found.code, StatusCode::FORBIDDEN);
    // A new subject of a binding gets the same rights.
    let strong = role_binding("strong", "Role", "secrets", user("ann"));
    create(&env, &bindings, strong).await;
    let patch = json!({"subjects": [user("mona")]});
    let found = call(&env, &mona, "PATCH", &format!("{bindings}/strong"), patch).await;
    assert_eq!(found.code, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn escalate_and_bind_replace_the_rights_themselves() {
    let env = TestEnv::start().await;
    let mut bind = rule(&["bind"], RBAC_GROUP, &["clusterroles"]);
    bind["resourceNames"] = json!(["view"]);
    let mona = manager(&env, &[rule(&["escalate"], RBAC_GROUP, &["roles"]), bind]).await;
    let role = call(&env, &mona, "POST", &in_namespace("shop", "roles"), role("s", reads("secrets"))).await;
    assert_eq!(role.code, StatusCode::CREATED);
    for (name, code) in [("view", 201), ("edit", 403)] {
        let binding = role_binding(name, "ClusterRole", name, user("mona"));
        let found = call(&env, &mona, "POST", &in_namespace("shop", "rolebindings"), binding).await;
        assert_eq!(found.code.as_u16(), code, "{name}");
    }
}

#[tokio::test]
async fn only_administrators_write_aggregation_rules() {
    let env = TestEnv::start().await;
    let roles = format!("{RBAC}/clusterroles");
    let verbs = ["get", "create", "update", "patch"];
    let own = cluster_role("writer", json!([rule(&verbs, RBAC_GROUP, &["clusterroles"])]));
    create(&env, &roles, own).await;
    let bindings = format!("{RBAC}/clusterrolebindings");
    create(&env, &bindings, cluster_role_binding("writer", "writer", user("mona"))).await;
    let mona = As::User("mona", &[]);
    let aggregated = |name: &str| {
        let selectors = json!([{"matchLabels": {"a": "b"}}]);
        rbac(
            "ClusterRole",
            name,
            json!({"rules": [], "aggregationRule": {"clusterRoleSelectors": selectors}}),
        )
    };
    let refused = call(&env, &mona, "POST", &roles, aggregated("one")).await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN);
    assert!(refused.message().contains("must have cluster-admin privileges"), "{}", refused.message());
    create(&env, &roles, aggregated("one")).await;
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    let patched = call(&env, &mona, "PATCH", &format!("{roles}/one"), patch).await;
    assert_eq!(patched.code, StatusCode::FORBIDDEN, "also for a role that has one");
    create(&env, &bindings, cluster_role_binding("admin", "cluster-admin", user("mona"))).await;
    assert_eq!(call(&env, &mona, "POST", &roles, aggregated("two")).await.code, StatusCode::CREATED);
}

#[tokio::test]
async fn a_label_that_aggregates_needs_the_rules_of_its_role() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let roles = format!("{RBAC}/clusterroles");
    let verbs = ["get", "create", "update", "patch"];
    let own = cluster_role("writer", json!([rule(&verbs, RBAC_GROUP, &["clusterroles"])]));
    create(&env, &roles, own).await;
    create(
        &env,
        &format!("{RBAC}/clusterrolebindings"),
        cluster_role_binding("writer", "writer", user("mona")),
    )
    .await;
    create(
        &env,
        &in_namespace("shop", "rolebindings"),
        role_binding("v", "ClusterRole", "view", user("mona")),
    )
    .await;
    create(&env, &roles, cluster_role("strong", reads("secrets"))).await;
    let mona = As::User("mona", &[]);
    let labels = json!({"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}});
    let strong = format!("{roles}/strong");
    assert_eq!(call(&env, &mona, "PATCH", &strong, labels.clone()).await.code, StatusCode::FORBIDDEN);
    let mut labelled = cluster_role("other", reads("secrets"));
    labelled["metadata"]["labels"] = labels["metadata"]["labels"].clone();
    assert_eq!(call(&env, &mona, "POST", &roles, labelled).await.code, StatusCode::FORBIDDEN);
    let view = json!({"rules": reads("secrets")});
    assert_eq!(call(&env, &mona, "PATCH", &format!("{roles}/view"), view).await.code, StatusCode::FORBIDDEN);
    let secret = get(&env, &mona, "/api/v1/namespaces/shop/secrets/s").await;
    assert_eq!(secret.code, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_role_of_a_binding_never_changes() {
    let env = TestEnv::start().await;
    let mona = manager(&env, &[]).await;
    let bindings = in_namespace("shop", "rolebindings");
    create(&env, &in_namespace("shop", "roles"), role("maps", reads("configmaps"))).await;
    create(&env, &bindings, role_binding("maps", "Role", "maps", user("mona"))).await;
    let path = format!("{bindings}/maps");
    let other = role_binding("maps", "ClusterRole", "cluster-admin", user("mona"));
    let change = json!({"roleRef": other["roleRef"]});
    for (who, code) in [(&mona, 403), (&As::Admin, 422)] {
        assert_eq!(call(&env, who, "PATCH", &path, change.clone()).await.code.as_u16(), code, "{who:?}");
        assert_eq!(call(&env, who, "PUT", &path, other.clone()).await.code.as_u16(), code, "{who:?}");
    }
    assert_eq!(get(&env, &As::Admin, &path).await.body["roleRef"]["name"], "maps");
}
