//! Tokens of service accounts.

use std::time::Duration;

use serde_json::json;

use super::*;

const WHOAMI: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

async fn whoami(env: &TestEnv, who: &As) -> Answer {
    call(env, who, "POST", WHOAMI, json!({})).await
}

#[tokio::test]
async fn a_token_identifies_its_service_account() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let robot = service_account(&env, "shop", "robot").await;
    let found = whoami(&env, &robot).await.created();
    let info = &found["status"]["userInfo"];
    assert_eq!(info["username"], "system:serviceaccount:shop:robot");
    let groups = ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"];
    assert_eq!(info["groups"], json!(groups));
    assert!(info["uid"].is_string());
    let id = info["extra"]["authentication.kubernetes.io/credential-id"][0].as_str().unwrap();
    assert!(id.starts_with("JTI="), "{id}");
}

#[tokio::test]
async fn only_bearer_tokens_count_and_bad_ones_are_never_anonymous() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let As::Token(good) = service_account(&env, "shop", "robot").await else { panic!() };
    let with = async |value: &str| {
        let mut request = request("GET", "/healthz", &Value::Null);
        request.headers_mut().insert(header::AUTHORIZATION, value.parse().unwrap());
        send(&env, &As::Anonymous, request).await.status()
    };
    for (value, code) in [
        (format!("Bearer {good}"), 200),
        (format!("bearer   {good}"), 200),
        (format!("Bearer {good}x"), 401),
        ("Bearer nonsense".to_owned(), 401),
        (format!("Bearer {good},{good}"), 401),
        // Without a bearer token the request is anonymous, who may read the health.
        ("Bearer".to_owned(), 200),
        ("Bearer ".to_owned(), 200),
        ("Basic YTpi".to_owned(), 200),
    ] {
        assert_eq!(with(&value).await.as_u16(), code, "{value:.40}");
    }
}

#[tokio::test]
async fn a_token_expires_by_the_clock_of_the_server() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    service_account(&env, "shop", "robot").await;
    let short = As::Token(token(&env, "shop", "robot", json!({"expirationSeconds": 600})).await);
    let long = As::Token(token(&env, "shop", "robot", json!({"expirationSeconds": 1200})).await);
    env.clock().advance(Duration::from_secs(599));
    assert!(whoami(&env, &short).await.is_allowed());
    env.clock().advance(Duration::from_secs(1));
    assert_eq!(whoami(&env, &short).await.code, StatusCode::UNAUTHORIZED);
    assert!(whoami(&env, &long).await.is_allowed());
}

#[tokio::test]
async fn a_token_for_another_audience_or_server_is_rejected() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    service_account(&env, "shop", "robot").await;
    let vault = token(&env, "shop", "robot", json!({"audiences": ["vault"]})).await;
    assert_eq!(whoami(&env, &As::Token(vault.clone())).await.code, StatusCode::UNAUTHORIZED);
    let review = |audiences: Value| {
        let (env, vault) = (&env, vault.clone());
        async move {
            let path = "/apis/authentication.k8s.io/v1/tokenreviews";
            let spec = json!({"token": vault, "audiences": audiences});
            create(env, path, json!({"spec": spec})).await["status"].clone()
        }
    };
    assert_eq!(review(json!(["vault", "x"])).await["audiences"], json!(["vault"]));
    assert_ne!(review(json!([])).await["authenticated"], true);

    let other = TestEnv::start().await;
    other.namespace("shop").await;
    let foreign = service_account(&other, "shop", "robot").await;
    assert_eq!(whoami(&env, &foreign).await.code, StatusCode::UNAUTHORIZED, "signed by another key");
}

#[tokio::test]
async fn a_token_dies_with_its_service_account() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let robot = service_account(&env, "shop", "robot").await;
    assert!(whoami(&env, &robot).await.is_allowed());
    let path = "/api/v1/namespaces/shop/serviceaccounts/robot";
    call(&env, &As::Admin, "DELETE", path, json!({})).await.created();
    assert_eq!(whoami(&env, &robot).await.code, StatusCode::UNAUTHORIZED);
    let again = service_account(&env, "shop", "robot").await;
    assert_eq!(whoami(&env, &robot).await.code, StatusCode::UNAUTHORIZED, "the new account has another uid");
    assert!(whoami(&env, &again).await.is_allowed());
}

#[tokio::test]
async fn a_token_dies_with_the_secret_it_is_bound_to() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    service_account(&env, "shop", "robot").await;
    let secrets = "/api/v1/namespaces/shop/secrets";
    create(&env, secrets, json!({"metadata": {"name": "s"}})).await;
    let reference = json!({"apiVersion": "v1", "kind": "Secret", "name": "s"});
    let bound = As::Token(token(&env, "shop", "robot", json!({"boundObjectRef": reference})).await);
    assert!(whoami(&env, &bound).await.is_allowed());
    call(&env, &As::Admin, "DELETE", &format!("{secrets}/s"), json!({})).await.created();
    assert_eq!(whoami(&env, &bound).await.code, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn requests_for_tokens_are_checked() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    service_account(&env, "shop", "robot").await;
    let path = "/api/v1/namespaces/shop/serviceaccounts/robot/token";
    let secret =
        |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Secret", "name": name, "uid": uid});
    for (body, code) in [
        (json!({}), 201),
        (json!({"spec": {"expirationSeconds": 599}}), 422),
        (json!({"spec": {"expirationSeconds": 600}}), 201),
        (json!({"spec": {"expirationSeconds": 1i64 << 33}}), 422),
        (json!({"spec": {"expirationSeconds": "600"}}), 400),
        (json!({"metadata": {"name": "other"}}), 422),
        (json!({"metadata": {"namespace": "other"}}), 400),
        (json!({"metadata": {"uid": "other"}}), 409),
        (json!({"spec": {"boundObjectRef": secret("gone", "")}}), 404),
        (json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}}}), 404),
        (json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "m"}}}), 400),
        (json!({"kind": "Other"}), 400),
    ] {
        let answer = call(&env, &As::Admin, "POST", path, body.clone()).await;
        assert_eq!(answer.code.as_u16(), code, "{body}: {answer:?}");
    }
    let gone = "/api/v1/namespaces/shop/serviceaccounts/gone/token";
    assert_eq!(call(&env, &As::Admin, "POST", gone, json!({})).await.code, StatusCode::NOT_FOUND);
    let put = call(&env, &As::Admin, "PUT", path, json!({})).await;
    assert_eq!(put.code, StatusCode::METHOD_NOT_ALLOWED);
    let robot = As::User("alice", &[]);
    assert_eq!(call(&env, &robot, "POST", path, json!({})).await.code, StatusCode::FORBIDDEN);
    let rules = json!([rule(&["create"], "", &["serviceaccounts"])]);
    grant(&env, "shop", "accounts", user("alice"), rules).await;
    assert_eq!(call(&env, &robot, "POST", path, json!({})).await.code, StatusCode::FORBIDDEN);
    let rules = json!([rule(&["create"], "", &["serviceaccounts/token"])]);
    grant(&env, "shop", "tokens", user("alice"), rules).await;
    assert_eq!(call(&env, &robot, "POST", path, json!({})).await.code, StatusCode::CREATED);
}

#[tokio::test]
async fn the_key_of_the_tokens_is_published_to_service_accounts() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let robot = service_account(&env, "shop", "robot").await;
    let keys = get(&env, &robot, "/openid/v1/jwks").await.created();
    assert_eq!(keys["keys"][0]["alg"], "ES256");
    let issuer = get(&env, &robot, "/.well-known/openid-configuration").await.created();
    assert_eq!(issuer["issuer"], "https://kubernetes.default.svc");
    assert_eq!(get(&env, &As::Anonymous, "/openid/v1/jwks").await.code, StatusCode::FORBIDDEN);
}
