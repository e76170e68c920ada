//! Reviews of access.

use serde_json::json;

use super::*;

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";

fn on_maps(verb: &str, namespace: &str) -> Value {
    json!({"resourceAttributes": {"verb": verb, "resource": "configmaps", "namespace": namespace}})
}

async fn reader(env: &TestEnv) {
    env.namespace("shop").await;
    grant(env, "shop", "maps", user("ann"), json!([rule(&["get"], "", &["configmaps"])])).await;
}

#[tokio::test]
async fn a_review_answers_as_the_request_would() {
    let env = TestEnv::start().await;
    reader(&env).await;
    let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
    let ann = As::User("ann", &[]);
    for (verb, namespace, allowed) in
        [("get", "shop", true), ("list", "shop", false), ("get", "bank", false), ("get", "", false)]
    {
        let review = json!({"spec": on_maps(verb, namespace)});
        let answer = call(&env, &ann, "POST", &path, review).await;
        assert_eq!(answer.code, StatusCode::CREATED);
        assert_eq!(answer.body["status"]["allowed"], allowed, "{verb} {namespace}");
    }
    let review = json!({"spec": on_maps("get", "shop")});
    let status = call(&env, &ann, "POST", &path, review).await.body["status"].clone();
    let reason = r#"RBAC: allowed by RoleBinding "maps/shop" of Role "maps" to User "ann""#;
    assert_eq!(status, json!({"allowed": true, "reason": reason}));
    let path_review = json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/version"}}});
    assert_eq!(call(&env, &ann, "POST", &path, path_review).await.body["status"]["allowed"], true);
}

#[tokio::test]
async fn only_administrators_review_other_users() {
    let env = TestEnv::start().await;
    reader(&env).await;
    let mut spec = on_maps("get", "shop");
    spec["user"] = json!("ann");
    let review = json!({"spec": spec});
    let anywhere = format!("{AUTHORIZATION}/subjectaccessreviews");
    assert_eq!(create(&env, &anywhere, review.clone()).await["status"]["allowed"], true);
    let local = format!("{AUTHORIZATION}/namespaces/shop/localsubjectaccessreviews");
    let mut local_review = review.clone();
    local_review["metadata"] = json!({"namespace": "shop"});
    assert_eq!(create(&env, &local, local_review.clone()).await["status"]["allowed"], true);
    for path in [&anywhere, &local] {
        let found = call(&env, &As::User("ann", &[]), "POST", path, review.clone()).await;
        assert_eq!(found.code, StatusCode::FORBIDDEN, "{path}");
    }
    let elsewhere = format!("{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews");
    let mut review = local_review;
    review["metadata"] = json!({"namespace": "default"});
    let found = call(&env, &As::Admin, "POST", &elsewhere, review).await;
    assert_eq!(found.code, StatusCode::UNPROCESSABLE_ENTITY, "the namespaces differ");
}

#[tokio::test]
async fn the_rules_of_a_user_are_listed() {
    let env = TestEnv::start().await;
    reader(&env).await;
    let path = format!("{AUTHORIZATION}/selfsubjectrulesreviews");
    let review = json!({"spec": {"namespace": "shop"}});
    let status = call(&env, &As::User("ann", &[]), "POST", &path, review).await.body["status"].clone();
    let own = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]});
    assert!(status["resourceRules"].as_array().unwrap().contains(&own), "{status}");
    assert!(status["nonResourceRules"].to_string().contains("/openapi/*"), "{status}");
    assert_eq!(status["incomplete"], false);
    let without = call(&env, &As::Admin, "POST", &path, json!({"spec": {}})).await;
    assert_eq!(without.code, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_token_review_names_the_user_of_a_token() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let As::Token(token) = service_account(&env, "shop", "robot").await else { panic!() };
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let status = create(&env, path, json!({"spec": {"token": token}})).await["status"].clone();
    assert_eq!(status["authenticated"], true);
    assert_eq!(status["user"]["username"], "system:serviceaccount:shop:robot");
    assert_eq!(status["audiences"], json!(["https://kubernetes.default.svc"]));
    let status = create(&env, path, json!({"spec": {"token": "nonsense"}})).await["status"].clone();
    assert_eq!(status, json!({"user": {}, "error": "invalid bearer token"}));
    let empty = call(&env, &As::Admin, "POST", path, json!({"spec": {}})).await;
    assert_eq!(empty.code, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn reviews_are_not_stored_and_only_created() {
    let env = TestEnv::start().await;
    for path in [
        "/apis/authentication.k8s.io/v1/tokenreviews",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
    ] {
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            let found = call(&env, &As::Admin, method, path, Value::Null).await;
            assert_eq!(found.code, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        }
        let named = get(&env, &As::Admin, &format!("{path}/x")).await;
        assert_eq!(named.code, StatusCode::NOT_FOUND, "{path}");
    }
    let across = "/apis/authorization.k8s.io/v1/localsubjectaccessreviews";
    assert_eq!(call(&env, &As::Admin, "POST", across, json!({})).await.code, StatusCode::NOT_FOUND);
}
