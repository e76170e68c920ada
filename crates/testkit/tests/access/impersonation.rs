//! Users that act as others.

use serde_json::json;

use super::*;

const WHOAMI: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

async fn acting(env: &TestEnv, who: &As, headers: &[(&str, &str)]) -> Answer {
    let mut request = request("POST", WHOAMI, &json!({}));
    for (name, value) in headers {
        let name: http::HeaderName = name.parse().unwrap();
        request.headers_mut().append(name, value.parse().unwrap());
    }
    answer(send(env, who, request).await).await
}

async fn identity(env: &TestEnv, headers: &[(&str, &str)]) -> Value {
    acting(env, &As::Admin, headers).await.created()["status"]["userInfo"].clone()
}

#[tokio::test]
async fn an_administrator_acts_as_anybody() {
    let env = TestEnv::start().await;
    for (headers, expected) in [
        (&[("Impersonate-User", "ann")][..], json!({"username": "ann", "groups": ["system:authenticated"]})),
        (
            &[("Impersonate-User", "ann"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")],
            json!({"username": "ann", "groups": ["a", "b", "system:authenticated"]}),
        ),
        (
            &[("Impersonate-User", "ann"), ("Impersonate-Uid", "u"), ("Impersonate-Extra-Acme.com%2fx", "1")],
            json!({
                "username": "ann", "uid": "u", "groups": ["system:authenticated"], "extra": {"acme.com/x": ["1"]},
            }),
        ),
        (
            &[("Impersonate-User", "system:serviceaccount:shop:robot")],
            json!({
                "username": "system:serviceaccount:shop:robot",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
            }),
        ),
        (
            &[("Impersonate-User", "system:anonymous")],
            json!({"username": "system:anonymous", "groups": ["system:unauthenticated"]}),
        ),
    ] {
        if headers.iter().any(|(_, value)| *value == "system:anonymous") {
            // An anonymous user may not ask who they are.
            assert_eq!(acting(&env, &As::Admin, headers).await.code, StatusCode::FORBIDDEN);
        } else {
            assert_eq!(identity(&env, headers).await, expected, "{headers:?}");
        }
    }
    let incomplete = acting(&env, &As::Admin, &[("Impersonate-Group", "a")]).await;
    assert_eq!(incomplete.code, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn each_attribute_needs_its_right() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let roles = format!("{RBAC}/clusterroles");
    let mut named = rule(&["impersonate"], "", &["users"]);
    named["resourceNames"] = json!(["ann"]);
    let mut groups = rule(&["impersonate"], "", &["groups"]);
    groups["resourceNames"] = json!(["devs"]);
    let extra = rule(&["impersonate"], "authentication.k8s.io", &["userextras/scope", "uids"]);
    create(&env, &roles, cluster_role("act", json!([named, groups, extra]))).await;
    let binding = cluster_role_binding("act", "act", user("bob"));
    create(&env, &format!("{RBAC}/clusterrolebindings"), binding).await;
    grant(&env, "shop", "robots", user("bob"), json!([rule(&["impersonate"], "", &["serviceaccounts"])]))
        .await;
    let bob = As::User("bob", &[]);
    for (headers, allowed) in [
        (&[("impersonate-user", "ann")][..], true),
        (&[("impersonate-user", "eve")], false),
        (&[("impersonate-user", "ann"), ("impersonate-group", "devs")], true),
        (&[("impersonate-user", "ann"), ("impersonate-group", "system:masters")], false),
        (&[("impersonate-user", "ann"), ("impersonate-group", "devs"), ("impersonate-group", "x")], false),
        (&[("impersonate-user", "ann"), ("impersonate-uid", "1")], true),
        (&[("impersonate-user", "ann"), ("impersonate-extra-scope", "1")], true),
        (&[("impersonate-user", "ann"), ("impersonate-extra-other", "1")], false),
        (&[("impersonate-user", "system:serviceaccount:shop:r")], true),
        (&[("impersonate-user", "system:serviceaccount:bank:r")], false),
        (&[("impersonate-user", "system:serviceaccount:shop:r"), ("impersonate-group", "devs")], true),
    ] {
        assert_eq!(acting(&env, &bob, headers).await.is_allowed(), allowed, "{headers:?}");
        assert!(!acting(&env, &As::Anonymous, headers).await.is_allowed(), "{headers:?}");
    }
}

#[tokio::test]
async fn the_rights_are_those_of_the_other_user() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    grant(&env, "shop", "maps", user("ann"), json!([rule(&["list"], "", &["configmaps"])])).await;
    let as_ann = async |path: &str| {
        let mut request = request("GET", path, &Value::Null);
        request.headers_mut().insert("impersonate-user", "ann".parse().unwrap());
        answer(send(&env, &As::Admin, request).await).await
    };
    assert!(as_ann("/api/v1/namespaces/shop/configmaps").await.is_allowed());
    let refused = as_ann("/api/v1/namespaces/shop/secrets").await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN);
    assert!(refused.message().contains(r#"User "ann" cannot list"#), "{}", refused.message());
}

#[tokio::test]
async fn impersonation_can_be_limited_to_some_requests() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let view = role_binding("view", "ClusterRole", "view", user("ann"));
    create(&env, &in_namespace("shop", "rolebindings"), view).await;
    let as_user = rule(&["impersonate:user-info"], "authentication.k8s.io", &["users", "groups"]);
    let on_maps = rule(&["impersonate-on:user-info:list"], "", &["configmaps"]);
    create(&env, &format!("{RBAC}/clusterroles"), cluster_role("limited", json!([as_user, on_maps]))).await;
    let binding = cluster_role_binding("limited", "limited", user("bob"));
    create(&env, &format!("{RBAC}/clusterrolebindings"), binding).await;
    for (path, allowed) in [("configmaps", true), ("configmaps/a", false), ("serviceaccounts", false)] {
        let path = format!("/api/v1/namespaces/shop/{path}");
        let mut request = request("GET", &path, &Value::Null);
        request.headers_mut().insert("impersonate-user", "ann".parse().unwrap());
        let found = answer(send(&env, &As::User("bob", &[]), request).await).await;
        assert_eq!(found.is_allowed(), allowed, "{path}: {found:?}");
    }
    for (group, allowed) in [("devs", true), ("system:masters", false)] {
        let mut request = request("GET", "/api/v1/namespaces/shop/configmaps", &Value::Null);
        request.headers_mut().insert("impersonate-user", "ann".parse().unwrap());
        request.headers_mut().insert("impersonate-group", group.parse().unwrap());
        let found = answer(send(&env, &As::User("bob", &[]), request).await).await;
        assert_eq!(found.is_allowed(), allowed, "{group}: {found:?}");
    }
}
