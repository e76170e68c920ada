//! Callers of a cluster's platform: the cluster says who they are and what they may. The embedded API has no reviews, so
//! a cluster is played that answers only those; the real one is asked in the tests of the command line.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Body, middleware::from_fn_with_state};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use orchestra_server::{Reviews, Server, introduce, router};
use serde_json::{Value as Json, json};
use tower::{ServiceExt as _, service_fn};

use crate::platform::Platform;

const EXPLAIN: &str = "/orchestra/v1/namespaces/default/workloads/web/explain";

/// A cluster that knows the token `good` of jane, who may get plans, and is broken for the token `broken`.
fn cluster(asked: &Arc<Mutex<Vec<Json>>>) -> Client {
    let asked = Arc::clone(asked);
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let asked = Arc::clone(&asked);
        async move {
            let bytes = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: Json = serde_json::from_slice(&bytes).unwrap();
            asked.lock().unwrap().push(review.clone());
            let token = review["spec"]["token"].as_str().map(ToOwned::to_owned);
            let status = if token.as_deref() == Some("broken") { 500 } else { 201 };
            review["status"] = match token.as_deref() {
                Some("good") => {
                    json!({"authenticated": true, "user": {"username": "jane", "groups": ["shop"], "extra": {"a": ["b"]}}})
                }
                Some(_) => json!({"authenticated": false}),
                None => {
                    let verb = &review["spec"]["resourceAttributes"]["verb"];
                    json!({"allowed": review["spec"]["user"] == "jane" && verb == "get"})
                }
            };
            let answer = Response::builder().status(status).header("content-type", "application/json");
            Ok::<_, Infallible>(answer.body(Body::from(review.to_string())).unwrap())
        }
    });
    Client::new(service, "default")
}

fn app(platform: &Platform, asked: &Arc<Mutex<Vec<Json>>>) -> Router {
    let reviews = Reviews::new(cluster(asked));
    let server = Server { access: Arc::new(reviews.clone()), ..platform.server() };
    router(server).layer(from_fn_with_state(reviews, introduce))
}

async fn ask(app: &Router, method: &str, path: &str, token: &str) -> (StatusCode, String) {
    let mut request = Request::builder().method(method).uri(path);
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let answer = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cluster_says_who_asks_and_what_they_may() {
    let platform = Platform::start().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    let asked = Arc::default();
    let app = app(&platform, &asked);
    let plan = "/orchestra/v1/namespaces/default/workloads/web/plan";
    for (method, path, token, status) in [
        ("GET", EXPLAIN, "good", StatusCode::OK),
        ("POST", plan, "good", StatusCode::FORBIDDEN),
        ("GET", "/orchestra/metrics", "good", StatusCode::FORBIDDEN),
        ("GET", EXPLAIN, "bad", StatusCode::UNAUTHORIZED),
        ("GET", EXPLAIN, "", StatusCode::UNAUTHORIZED),
        ("GET", EXPLAIN, "broken", StatusCode::SERVICE_UNAVAILABLE),
        ("GET", "/orchestra/healthz", "", StatusCode::OK),
    ] {
        let (answered, text) = ask(&app, method, path, token).await;
        assert_eq!(answered, status, "{method} {path} {token:?}: {text}");
        assert!(token.is_empty() || !text.contains(&format!("{token:?}")), "{text}");
    }
    let reviews = asked.lock().unwrap().clone();
    let access = reviews.iter().find(|review| review["kind"] == "SubjectAccessReview").unwrap();
    assert_eq!(
        access["spec"],
        json!({
            "user": "jane", "groups": ["shop"], "extra": {"a": ["b"]},
            "resourceAttributes": {
                "group": "score.dev", "resource": "workloads", "subresource": "plan", "verb": "get",
                "namespace": "default", "name": "web",
            },
        })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_asks_again_does_not_burden_the_cluster() {
    let platform = Platform::start().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    let asked = Arc::default();
    let app = app(&platform, &asked);
    for _ in 0..3 {
        ask(&app, "GET", EXPLAIN, "good").await;
    }
    assert_eq!(asked.lock().unwrap().len(), 2, "one review of the token, one of the access");
}
