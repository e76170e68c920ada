//! Logs and origins of Workloads.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use futures_util::{StreamExt as _, future::BoxFuture};
use http::{Request, StatusCode};
use k8s_openapi::jiff::Timestamp;
use orchestra_drivers::{LogLine, WorkloadOrigin, WorkloadOrigins};
use orchestra_server::{Access, AccessError, AccessRequest, Caller, CredentialCheck, Server, router};
use serde_json::{Value as Json, json};
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use crate::platform::{Platform, administrator, request};

const WEB: &str = "/orchestra/v1/namespaces/default/workloads/web";

fn line(container: &str, second: i64, text: &str) -> LogLine {
    let time = Timestamp::from_second(second).unwrap();
    LogLine { container: container.to_owned(), time, text: text.to_owned() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_are_filtered_by_container_time_and_number() {
    let platform = Platform::start().await;
    let both = json!({"containers": {"app": {"image": "nginx"}, "side": {"image": "nginx"}}});
    platform.apply("web", &both).await;
    platform.until_ready("web").await;
    for line in [line("app", 1, "first"), line("side", 2, "second"), line("app", 3, "third")] {
        platform.runtime.write("default", "web", line);
    }
    let all = platform.get(&format!("{WEB}/logs"), "text/plain").await;
    assert_eq!(all.text, "app | first\nside | second\napp | third\n");
    let since = platform.get(&format!("{WEB}/logs?since=1970-01-01T00:00:02Z&container=app"), "").await;
    let lines: Vec<Json> = since.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, [json!({"container": "app", "time": "1970-01-01T00:00:03Z", "text": "third"})]);
    assert_eq!(platform.get(&format!("{WEB}/logs?tail=1"), "text/plain").await.text, "app | third\n");
    let none = platform.get(&format!("{WEB}/logs?container=other"), "text/plain").await;
    assert_eq!(none.status, StatusCode::BAD_REQUEST);
    assert!(none.text.contains("the containers are `app`, `side`"), "{}", none.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_of_an_external_runtime_are_an_error() {
    let platform = Platform::start().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.until_ready("web").await;
    let server = Server { runtimes: BTreeMap::new(), ..platform.server() };
    let path = format!("{WEB}/logs");
    let reply = request(router(server), Some(administrator()), "GET", &path, "", "", Body::empty()).await;
    assert_eq!(reply.code(), "NO_LOGS");
    assert!(reply.text.contains("scripted"), "{}", reply.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followed_logs_of_a_workload_without_a_plan_wait_for_it() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    let none = platform.get(&format!("{WEB}/logs"), "text/plain").await;
    assert_eq!((none.status, none.text.as_str()), (StatusCode::OK, ""));
    let mut followed = Request::get(format!("{WEB}/logs?follow=true")).body(Body::empty()).unwrap();
    followed.extensions_mut().insert(administrator());
    let response = router(platform.server()).oneshot(followed).await.unwrap();
    platform.start_controllers().await;
    platform.until_ready("web").await;
    platform.runtime.write("default", "web", line("app", 1, "first"));
    let mut lines = response.into_body().into_data_stream();
    let first = lines.next().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("first"), "{first:?}");
}

/// Authorizer that allows everything until it is closed, and fails while it is broken.
#[derive(Default)]
struct Closable {
    is_closed: AtomicBool,
    is_broken: AtomicBool,
}

impl Access for Closable {
    fn review<'a>(
        &'a self,
        caller: &'a Caller,
        _: &'a AccessRequest<'a>,
    ) -> BoxFuture<'a, Result<bool, AccessError>> {
        self.review_metrics(caller)
    }

    fn review_metrics<'a>(&'a self, _: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>> {
        Box::pin(async {
            if self.is_broken.load(Ordering::Relaxed) {
                return Err(kube::Error::LinesCodecMaxLineLengthExceeded.into());
            }
            Ok(!self.is_closed.load(Ordering::Relaxed))
        })
    }
}

/// End of followed logs after the given change, on a paused clock; `None` if they go on.
async fn end_of_followed_logs(change: impl FnOnce(&Closable, &AtomicBool)) -> Option<Duration> {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    let (access, is_valid) = (Arc::new(Closable::default()), Arc::new(AtomicBool::new(true)));
    let mut followed = Request::get(format!("{WEB}/logs?follow=true")).body(Body::empty()).unwrap();
    let credential = Arc::clone(&is_valid);
    let check = move || Box::pin(std::future::ready(credential.load(Ordering::Relaxed))) as BoxFuture<_>;
    followed.extensions_mut().insert(CredentialCheck::new(check));
    followed.extensions_mut().insert(administrator());
    let server = Server { access: access.clone(), ..platform.server() };
    let response = router(server).oneshot(followed).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    change(&access, &is_valid);
    let began = Instant::now();
    let mut lines = response.into_body().into_data_stream();
    let ended = timeout(Duration::from_mins(10), lines.next()).await;
    ended.ok().map(|line| assert!(line.is_none(), "{line:?}")).map(|()| began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn followed_logs_end_soon_after_the_permission_is_revoked() {
    let end = end_of_followed_logs(|access, _| access.is_closed.store(true, Ordering::Relaxed)).await;
    assert!(end.is_some_and(|end| end <= Duration::from_mins(1)), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn followed_logs_end_soon_after_the_token() {
    let end = end_of_followed_logs(|_, is_valid| is_valid.store(false, Ordering::Relaxed)).await;
    assert!(end.is_some_and(|end| end <= Duration::from_mins(1)), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn followed_logs_go_on_while_the_permission_lasts_or_cannot_be_reviewed() {
    assert_eq!(end_of_followed_logs(|_, _| ()).await, None);
    let broken = end_of_followed_logs(|access, _| access.is_broken.store(true, Ordering::Relaxed)).await;
    assert_eq!(broken, None);
}

#[derive(Default)]
struct Recorded(Mutex<Vec<(String, String, WorkloadOrigin)>>);

impl WorkloadOrigins for Recorded {
    fn is_recorded(&self, _: &str, _: &str) -> io::Result<bool> {
        Ok(false)
    }

    fn record(&self, namespace: &str, name: &str, origin: WorkloadOrigin) -> io::Result<()> {
        self.0.lock().unwrap().push((namespace.to_owned(), name.to_owned(), origin));
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_origin_of_a_workload_is_recorded_before_it_exists() {
    let platform = Platform::start().await;
    let recorded = Arc::new(Recorded::default());
    let put = async |body: &str| {
        let server = Server { origins: Some(recorded.clone()), ..platform.server() };
        let body = Body::from(body.to_owned());
        let path = format!("{WEB}/origin");
        request(router(server), Some(administrator()), "PUT", &path, "text/plain", "application/json", body)
            .await
    };
    let reply = put(r#"{"folder": "/here", "environment": {"KEY": "value"}}"#).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT, "{}", reply.text);
    for bad in ["", "[]", r#"{"folder": "here"}"#, r#"{"folder": "/here", "more": 1}"#] {
        assert_eq!(put(bad).await.status, StatusCode::BAD_REQUEST, "{bad}");
    }
    let long = format!(r#"{{"folder": "/{}"}}"#, "x".repeat(3 * 1024 * 1024));
    assert_eq!(put(&long).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    let recorded = recorded.0.lock().unwrap();
    let environment = [("KEY".to_owned(), "value".to_owned())].into();
    let origin = WorkloadOrigin { folder: "/here".into(), path: None, environment, first_plan: None };
    assert_eq!(*recorded, [("default".to_owned(), "web".to_owned(), origin)]);
}
