//! Tricks with paths: what is checked is what is executed.

use serde_json::json;

use super::*;

#[tokio::test]
async fn no_spelling_of_a_path_reaches_what_is_denied() {
    let env = TestEnv::start().await;
    for namespace in ["open", "shop"] {
        env.namespace(namespace).await;
        let path = format!("/api/v1/namespaces/{namespace}/secrets");
        create(&env, &path, json!({"metadata": {"name": "s"}, "stringData": {"k": "treasure"}})).await;
    }
    // Everything in one namespace, and all paths without objects.
    let admin = role_binding("all", "ClusterRole", "cluster-admin", user("eve"));
    create(&env, &in_namespace("open", "rolebindings"), admin).await;
    let eve = As::User("eve", &[]);
    assert!(get(&env, &eve, "/api/v1/namespaces/open/secrets/s").await.is_allowed());
    for path in [
        "/api/v1/namespaces/shop/secrets/s",
        "/api/v1/namespaces/shop/secrets/s/",
        "/api/v1/namespaces/shop/%73ecrets/s",
        "/api/v1/namespaces/%73hop/secrets/s",
        "/%61pi/v1/namespaces/shop/secrets/s",
        "/api/v1/namespaces/open/../shop/secrets/s",
        "/api/v1/namespaces/open/%2e%2e/shop/secrets/s",
        "/api/v1/namespaces/open%2f..%2fshop/secrets/s",
        "/api/v1/namespaces/open/secrets/..%2F..%2Fshop%2Fsecrets%2Fs",
        "/api/v1/namespaces//secrets",
        "/api/v1//namespaces/shop/secrets/s",
        "//api/v1/namespaces/shop/secrets/s",
        "/api/v1/secrets",
        "/api/v1/secrets/",
        "/api/v1/secrets?fieldSelector=metadata.namespace%3Dopen",
        "/api/v1/secrets?namespace=open",
        "/api/v1/namespaces/shop/Secrets/s",
        "/API/v1/namespaces/shop/secrets/s",
        "/api/V1/namespaces/shop/secrets/s",
        "/api/v1/watch/secrets",
        "/api/v1/watch/namespaces/shop/secrets",
        "/api/v1/namespaces/shop/secrets/s?namespace=open",
        "/api/v1/namespaces/shop;/secrets/s",
        "/api/v1/namespaces/shop%00/secrets/s",
        "/version/../api/v1/namespaces/shop/secrets/s",
        "/healthz/..%2fapi/v1/namespaces/shop/secrets/s",
        "/openapi/v3/../../api/v1/namespaces/shop/secrets/s",
    ] {
        for who in [&eve, &As::Anonymous] {
            let found = get(&env, who, path).await;
            assert!(!found.code.is_success(), "{path}: {found:?}");
            assert!(!found.body.to_string().contains("dHJlYXN1cmU="), "{path}");
        }
    }
}

#[tokio::test]
async fn anonymous_callers_read_health_and_version_only() {
    let env = TestEnv::start().await;
    for (method, path, code) in [
        ("GET", "/healthz", 200),
        ("GET", "/livez", 200),
        ("GET", "/readyz", 200),
        ("GET", "/readyz/", 200),
        ("GET", "/version", 200),
        ("GET", "/version/", 200),
        ("POST", "/version", 403),
        ("DELETE", "/healthz", 403),
        ("GET", "/livez/ping", 403),
        ("GET", "/", 403),
        ("GET", "/api", 403),
        ("GET", "/apis", 403),
        ("GET", "/openapi/v3", 403),
        ("GET", "/metrics", 403),
        ("GET", "/nowhere", 403),
        ("GET", "/api/v1/namespaces", 403),
        ("GET", "/api/v1/namespaces/default", 403),
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", 403),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", 403),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 403),
    ] {
        let found = call(&env, &As::Anonymous, method, path, Value::Null).await;
        assert_eq!(found.code.as_u16(), code, "{method} {path}: {found:?}");
        if code == 403 {
            assert!(found.message().contains(r#"User "system:anonymous" cannot"#), "{}", found.message());
        }
    }
}

#[tokio::test]
async fn a_path_that_does_not_exist_is_denied_before_it_is_not_found() {
    let env = TestEnv::start().await;
    let alice = As::User("alice", &[]);
    for path in [
        "/apis/nowhere.example.org/v1/things",
        "/api/v1/namespaces/gone/things/x",
        "/api/v1/namespaces/gone/configmaps/x/scale",
        "/nowhere",
    ] {
        assert_eq!(get(&env, &alice, path).await.code, StatusCode::FORBIDDEN, "{path}");
        assert_eq!(get(&env, &As::Admin, path).await.code, StatusCode::NOT_FOUND, "{path}");
    }
    // Discovery is allowed, also of what does not exist.
    assert_eq!(get(&env, &alice, "/apis/nowhere.example.org/v1").await.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn rules_about_paths_cover_what_they_spell_and_nothing_else() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let secrets = "/api/v1/namespaces/shop/secrets";
    create(&env, secrets, json!({"metadata": {"name": "s"}, "stringData": {"k": "treasure"}})).await;
    let bindings = format!("{RBAC}/clusterrolebindings");
    for (name, verbs, paths) in [
        ("scraper", json!(["get"]), json!(["/metrics", "/logs/*", "/api/v1/*"])),
        ("poster", json!(["post"]), json!(["*"])),
    ] {
        let rules = json!([{"verbs": verbs, "nonResourceURLs": paths}]);
        create(&env, &format!("{RBAC}/clusterroles"), cluster_role(name, rules)).await;
        create(&env, &bindings, cluster_role_binding(name, name, user(name))).await;
    }
    for (path, scraper) in [
        ("/metrics", true),
        ("/%6detrics", true),
        ("/metrics?a=b", true),
        ("/metrics/", false),
        ("/metrics/a", false),
        ("/metricsa", false),
        ("/Metrics", false),
        ("//metrics", false),
        ("/./metrics", false),
        ("/logs/", true),
        ("/logs/a", true),
        ("/logs/a/b", true),
        ("/logs", false),
        ("/LOGS/a", false),
        ("/logsa", false),
        ("/debug", false),
        ("/*", false),
        // A rule about paths is none about objects.
        ("/api/v1/namespaces/shop/secrets", false),
        ("/api/v1/namespaces/shop/secrets/s", false),
        ("/api/v1/secrets", false),
        // What is allowed by its prefix leads nowhere.
        ("/logs/../api/v1/namespaces/shop/secrets/s", true),
        ("/logs/%2e%2e/api/v1/namespaces/shop/secrets/s", true),
        ("/logs/..%2fapi/v1/namespaces/shop/secrets/s", true),
    ] {
        for (name, method, expected) in [
            ("scraper", "GET", scraper),
            ("scraper", "POST", false),
            ("scraper", "DELETE", false),
            ("poster", "GET", false),
            ("poster", "POST", !path.starts_with("/api/")),
            ("eve", "GET", false),
        ] {
            let found = call(&env, &As::User(name, &[]), method, path, Value::Null).await;
            assert_eq!(found.is_allowed(), expected, "{name}: {method} {path}: {found:?}");
            assert!(!found.code.is_success(), "{name}: {method} {path}: {found:?}");
        }
        let anonymous = get(&env, &As::Anonymous, path).await;
        assert_eq!(anonymous.code, StatusCode::FORBIDDEN, "{path}");
    }
}
