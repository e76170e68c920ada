//! Token and access reviews of a mock cluster, which counts them and fails on demand. The other tests of this crate use those
//! of the embedded API.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Body};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use orchestra_server::{Reviews, Server, router_with_tokens};
use serde_json::{Value as Json, json};
use tower::{ServiceExt as _, service_fn};

use crate::platform::Platform;

const EXPLAIN: &str = "/orchestra/v1/namespaces/default/workloads/web/explain";

/// Mock cluster: the token `good` belongs to jane, who may get plans; reviews of the token `broken` fail.
fn cluster(reviews: &Arc<Mutex<Vec<Json>>>) -> Client {
    let reviews = Arc::clone(reviews);
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let reviews = Arc::clone(&reviews);
        async move {
            let bytes = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: Json = serde_json::from_slice(&bytes).unwrap();
            reviews.lock().unwrap().push(review.clone());
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

fn app(platform: &Platform, reviews: &Arc<Mutex<Vec<Json>>>) -> Router {
    let reviews = Reviews::new(cluster(reviews));
    let server = Server { access: Arc::new(reviews.clone()), ..platform.server() };
    router_with_tokens(server, reviews)
}

async fn send(app: &Router, method: &str, path: &str, token: &str) -> (StatusCode, String) {
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
async fn the_cluster_authenticates_and_authorizes_callers() {
    let platform = Platform::start().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    let reviews = Arc::default();
    let app = app(&platform, &reviews);
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
        let (answered, text) = send(&app, method, path, token).await;
        assert_eq!(answered, status, "{method} {path} {token:?}: {text}");
        assert!(token.is_empty() || !text.contains(&format!("{token:?}")), "{text}");
    }
    let reviews = reviews.lock().unwrap().clone();
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
async fn reviews_of_repeated_requests_are_cached() {
    let platform = Platform::start().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    let reviews = Arc::default();
    let app = app(&platform, &reviews);
    for _ in 0..3 {
        send(&app, "GET", EXPLAIN, "good").await;
    }
    assert_eq!(reviews.lock().unwrap().len(), 2, "one review of the token, one of the access");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_and_unknown_paths_cost_no_review() {
    let platform = Platform::start().await;
    let reviews = Arc::default();
    let app = app(&platform, &reviews);
    for (method, path, status) in [
        ("GET", "/orchestra/healthz", StatusCode::OK),
        ("GET", "/orchestra/readyz", StatusCode::OK),
        ("GET", "/orchestra/nothing", StatusCode::NOT_FOUND),
        ("GET", "/elsewhere", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(send(&app, method, path, "good").await.0, status, "{path}");
    }
    assert_eq!(*reviews.lock().unwrap(), Vec::<Json>::new());
}
