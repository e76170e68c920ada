//! Watches end when the rights of their user end.

use axum::body::BodyDataStream;
use futures_util::StreamExt as _;
use serde_json::json;

use super::*;

const MAPS: &str = "/api/v1/namespaces/shop/configmaps";

/// Open watch.
struct Watch(BodyDataStream);

impl Watch {
    async fn open(env: &TestEnv, who: &As) -> Self {
        let path = format!("{MAPS}?watch=true&resourceVersion=0");
        let response = send(env, who, request("GET", &path, &Value::Null)).await;
        assert_eq!(response.status(), StatusCode::OK);
        Self(response.into_body().into_data_stream())
    }

    /// Waits for an event about an object.
    async fn sees(&mut self, name: &str) {
        let mut text = String::new();
        while !text.contains(&format!("\"name\":\"{name}\"")) {
            let chunk = self.0.next().await.expect("the watch is open").unwrap();
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    /// Waits for the end, and returns what came before.
    async fn end(mut self) -> String {
        let mut text = String::new();
        while let Some(chunk) = self.0.next().await {
            text.push_str(&String::from_utf8_lossy(&chunk.unwrap()));
        }
        text
    }
}

async fn map(env: &TestEnv, name: &str) {
    create(env, MAPS, json!({"metadata": {"name": name}})).await;
}

async fn shop() -> TestEnv {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    env
}

fn watching() -> Value {
    json!([rule(&["watch"], "", &["configmaps"])])
}

#[tokio::test]
async fn a_watch_ends_when_the_right_to_watch_is_revoked() {
    let env = shop().await;
    grant(&env, "shop", "watcher", user("ann"), watching()).await;
    for (path, body) in [
        (in_namespace("shop", "rolebindings/watcher"), Value::Null),
        (in_namespace("shop", "roles/watcher"), Value::Null),
        (in_namespace("shop", "roles/watcher"), json!({"rules": [rule(&["get"], "", &["configmaps"])]})),
    ] {
        let mut watch = Watch::open(&env, &As::User("ann", &[])).await;
        map(&env, "before").await;
        watch.sees("before").await;
        let method = if body.is_null() { "DELETE" } else { "PATCH" };
        assert!(call(&env, &As::Admin, method, &path, body).await.code.is_success());
        map(&env, "after").await;
        assert!(!watch.end().await.contains("after"), "nothing is sent after {method} {path}");
        // Once more from the beginning.
        call(&env, &As::Admin, "DELETE", &in_namespace("shop", "roles/watcher"), json!({})).await;
        call(&env, &As::Admin, "DELETE", &in_namespace("shop", "rolebindings/watcher"), json!({})).await;
        for name in ["before", "after"] {
            call(&env, &As::Admin, "DELETE", &format!("{MAPS}/{name}"), json!({})).await;
        }
        grant(&env, "shop", "watcher", user("ann"), watching()).await;
    }
}

#[tokio::test]
async fn a_watch_ends_with_the_service_account_of_its_token() {
    let env = shop().await;
    grant(&env, "shop", "watcher", account("shop", "robot"), watching()).await;
    let robot = service_account(&env, "shop", "robot").await;
    let mut watch = Watch::open(&env, &robot).await;
    map(&env, "before").await;
    watch.sees("before").await;
    let path = "/api/v1/namespaces/shop/serviceaccounts/robot";
    call(&env, &As::Admin, "DELETE", path, json!({})).await.created();
    map(&env, "after").await;
    assert!(!watch.end().await.contains("after"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_its_token_expires() {
    let env = shop().await;
    grant(&env, "shop", "watcher", account("shop", "robot"), watching()).await;
    service_account(&env, "shop", "robot").await;
    let robot = As::Token(token(&env, "shop", "robot", json!({"expirationSeconds": 600})).await);
    let begun = tokio::time::Instant::now();
    let watch = Watch::open(&env, &robot).await;
    watch.end().await;
    assert_eq!(begun.elapsed().as_secs(), 600, "without any event");
}

#[tokio::test]
async fn a_watch_of_an_impersonator_ends_with_the_right_to_impersonate() {
    let env = shop().await;
    grant(&env, "shop", "watcher", user("ann"), watching()).await;
    let roles = format!("{RBAC}/clusterroles");
    create(&env, &roles, cluster_role("act", json!([rule(&["impersonate"], "", &["users"])]))).await;
    let bindings = format!("{RBAC}/clusterrolebindings");
    create(&env, &bindings, cluster_role_binding("act", "act", user("bob"))).await;
    let path = format!("{MAPS}?watch=true&resourceVersion=0");
    let mut asked = request("GET", &path, &Value::Null);
    asked.headers_mut().insert("impersonate-user", "ann".parse().unwrap());
    let response = send(&env, &As::User("bob", &[]), asked).await;
    assert_eq!(response.status(), StatusCode::OK);
    let watch = Watch(response.into_body().into_data_stream());
    call(&env, &As::Admin, "DELETE", &format!("{bindings}/act"), json!({})).await.created();
    map(&env, "after").await;
    assert!(!watch.end().await.contains("after"));
}

#[tokio::test]
async fn a_watch_continues_through_changes_that_concern_others() {
    let env = shop().await;
    grant(&env, "shop", "watcher", user("ann"), watching()).await;
    let mut watch = Watch::open(&env, &As::User("ann", &[])).await;
    grant(&env, "shop", "other", user("bob"), watching()).await;
    call(&env, &As::Admin, "DELETE", &in_namespace("shop", "rolebindings/other"), json!({})).await.created();
    map(&env, "after").await;
    watch.sees("after").await;
}
