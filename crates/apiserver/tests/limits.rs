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
    with_limits(LimitOptions { requests: one, long_requests: one, ..LimitOptions::default() }).await
}

/// API whose requests wait shortly.
async fn with_limits(limits: LimitOptions) -> Api {
    let limits = LimitOptions { wait: Duration::from_millis(1), ..limits };
    Api::open(Memory, Options { limits: Limits::new(limits), ..Options::default() }).await.unwrap()
}

async fn send(router: &Router, caller: &str, method: &str, path: &str, body: Body) -> Response<Body> {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, kind);
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

fn config_map(name: &str, length: usize) -> Body {
    Body::from(json!({"metadata": {"name": name}, "data": {"text": "x".repeat(length)}}).to_string())
}

#[tokio::test]
async fn a_write_is_answered_also_while_its_caller_has_no_room_for_answers() {
    const KIB: usize = 1024;
    let bytes = Bound { total: 128 * KIB, per_caller: 64 * KIB };
    let router = with_limits(LimitOptions { bytes, ..LimitOptions::default() }).await.router();
    let send = async |method: &str, path: &str, body: Body| send(&router, "jane", method, path, body).await;
    drop(send("POST", CONFIG_MAPS, config_map("large", 64 * KIB)).await);
    let large = format!("{CONFIG_MAPS}/large");
    let unread = send("GET", &large, Body::empty()).await;
    assert_eq!(unread.status(), 200);
    assert_eq!(send("GET", &large, Body::empty()).await.status(), 429, "there is no room");
    let created = send("POST", CONFIG_MAPS, config_map("small", 20 * KIB)).await;
    assert_eq!(created.status(), 201);
    let body = to_bytes(created.into_body(), usize::MAX).await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["metadata"]["name"], "small");
    let label = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    let patched = send("PATCH", &format!("{CONFIG_MAPS}/small"), Body::from(label)).await;
    assert_eq!(patched.status(), 200);
    drop(unread);
    assert_eq!(send("GET", &large, Body::empty()).await.status(), 200);
}

#[tokio::test]
async fn memory_of_values_is_reserved_before_they_are_decoded() {
    const MIB: usize = 1024 * 1024;
    let bytes = Bound { total: 16 * MIB, per_caller: 8 * MIB };
    let router = with_limits(LimitOptions { bytes, ..LimitOptions::default() }).await.router();
    let send = async |method: &str, path: &str, body: Body| send(&router, "jane", method, path, body).await;
    drop(send("POST", CONFIG_MAPS, config_map("large", MIB)).await);
    let many_labels: serde_json::Map<_, _> = (0..400).map(|n| (format!("l{n}"), json!(""))).collect();
    let labelled = json!({"metadata": {"name": "labels", "labels": many_labels}}).to_string();
    assert_eq!(send("POST", CONFIG_MAPS, Body::from(labelled)).await.status(), 201);
    let unread = send("GET", &format!("{CONFIG_MAPS}?limit=1"), Body::empty()).await;
    let mut held = vec![unread];
    // Until there is no room for another.
    loop {
        let next = send("GET", &format!("{CONFIG_MAPS}/large"), Body::empty()).await;
        if next.status() == 429 {
            break;
        }
        held.push(next);
    }
    let maps =
        format!(r#"{{"metadata": {{"name": "maps"}}, "data": {{"a": [{}0]}}}}"#, "{\"\":0},".repeat(1000));
    let body = maps.len();
    assert_eq!(send("POST", CONFIG_MAPS, Body::from(maps)).await.status(), 429, "{body} bytes");
    let label = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    let patched = send("PATCH", &format!("{CONFIG_MAPS}/labels"), Body::from(label.clone())).await;
    assert_eq!(patched.status(), 429, "the object that is patched is decoded, too");
    assert_eq!(send("DELETE", CONFIG_MAPS, Body::empty()).await.status(), 429);
    drop(held);
    let labels = format!("{CONFIG_MAPS}/labels");
    assert_eq!(send("GET", &labels, Body::empty()).await.status(), 200, "nothing was deleted");
    assert_eq!(send("PATCH", &labels, Body::from(label)).await.status(), 200);
    assert_eq!(send("DELETE", CONFIG_MAPS, Body::empty()).await.status(), 200);
}

#[tokio::test]
async fn a_body_with_too_many_maps_is_too_large() {
    let router = with_limits(LimitOptions::default()).await.router();
    let maps =
        format!(r#"{{"metadata": {{"name": "a"}}, "data": {{"a": [{}0]}}}}"#, "{\"\":0},".repeat(70_000));
    let refused = send(&router, "jane", "POST", CONFIG_MAPS, Body::from(maps)).await;
    assert_eq!(refused.status(), 413);
}
