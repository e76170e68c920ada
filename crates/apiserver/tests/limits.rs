//! Limits of requests, per caller.

use std::{convert::Infallible, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Request, Response, header},
};
use orchestra_apiserver::{Api, Caller, Options, store::Memory};
use orchestra_limits::{Bound, Limits, Options as LimitOptions};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=true";

/// API with small limits.
async fn api() -> Api {
    let one = Bound { total: 8, per_caller: 1 };
    let limits = LimitOptions {
        requests: one,
        long_requests: one,
        wait: Duration::from_millis(1),
        ..LimitOptions::default()
    };
    Api::open(Memory, Options { limits: Limits::new(limits), ..Options::default() }).await.unwrap()
}

async fn send(router: &Router, caller: &str, method: &str, path: &str, body: Body) -> Response<Body> {
    let request =
        Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    let mut request = request.body(body).unwrap();
    if !caller.is_empty() {
        request.extensions_mut().insert(Caller::new(caller, ["system:masters"]));
    }
    router.clone().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn a_caller_with_too_many_watches_gets_a_status_and_others_watch() {
    let api = api().await;
    let router = api.router();
    let held = send(&router, "jane", "GET", WATCH, Body::empty()).await;
    assert_eq!(held.status(), 200);
    let refused = send(&router, "jane", "GET", WATCH, Body::empty()).await;
    assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
    let body = to_bytes(refused.into_body(), usize::MAX).await.unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&body).unwrap(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Too many requests, please try again later.", "reason": "TooManyRequests",
            "details": {"retryAfterSeconds": 1}, "code": 429,
        })
    );
    assert_eq!(send(&router, "john", "GET", WATCH, Body::empty()).await.status(), 200);
    assert_eq!(send(&router, "jane", "GET", CONFIG_MAPS, Body::empty()).await.status(), 200, "another lane");
    drop(held);
    assert_eq!(send(&router, "jane", "GET", WATCH, Body::empty()).await.status(), 200);
}

#[tokio::test]
async fn requests_of_this_process_and_probes_have_no_limits() {
    let api = api().await;
    let mut held = Vec::new();
    let own = api.router_for(Caller::admin());
    for _ in 0..20 {
        let watch = send(&own, "", "GET", WATCH, Body::empty()).await;
        assert_eq!(watch.status(), 200);
        held.push(watch);
    }
    // A body that never ends keeps a request in progress.
    let router = api.router();
    let pending = Body::from_stream(futures_util::stream::pending::<Result<Bytes, Infallible>>());
    let busy = router.clone();
    let busy = tokio::spawn(async move { send(&busy, "jane", "POST", CONFIG_MAPS, pending).await });
    tokio::task::yield_now().await;
    assert_eq!(send(&router, "jane", "GET", CONFIG_MAPS, Body::empty()).await.status(), 429);
    assert_eq!(send(&router, "jane", "GET", "/readyz", Body::empty()).await.status(), 200);
    assert_eq!(send(&router, "", "GET", "/version", Body::empty()).await.status(), 200);
    busy.abort();
}
