//! Limits of requests: what is read and held for whom.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
};
use futures_util::{StreamExt as _, future::BoxFuture};
use http::{Request, Response, header};
use http_body::Frame;
use orchestra_limits::{Bound, Limits, Options};
use orchestra_server::{Access, AccessError, AccessRequest, Caller, ERROR_CODE, Server, router};
use serde_json::json;
use tower::ServiceExt as _;

use crate::platform::{Platform, administrator, object};

const WEB: &str = "/orchestra/v1/namespaces/default/workloads/web";

/// Endless body that counts how often it is read.
#[derive(Clone, Default)]
struct Endless(Arc<AtomicUsize>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b' '; 1024])))))
    }
}

async fn send(app: &Router, method: &str, path: &str, caller: Option<&str>, body: Body) -> Response<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(body)
        .unwrap();
    if let Some(user) = caller {
        request.extensions_mut().insert(Caller { user: user.to_owned(), ..administrator() });
    }
    app.clone().oneshot(request).await.unwrap()
}

/// Authorizer that allows everything to everybody but `stranger`.
struct ButStranger;

impl Access for ButStranger {
    fn review<'a>(
        &'a self,
        caller: &'a Caller,
        _: &'a AccessRequest<'a>,
    ) -> BoxFuture<'a, Result<bool, AccessError>> {
        self.review_metrics(caller)
    }

    fn review_metrics<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>> {
        Box::pin(async move { Ok(caller.user != "stranger") })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_body_is_read_before_the_caller_is_authorized() {
    let platform = Platform::start().await;
    let app = router(Server { access: Arc::new(ButStranger), ..platform.server() });
    let body = Endless::default();
    for (method, path, caller, status) in [
        ("POST", format!("{WEB}/plan"), None, 401),
        ("POST", format!("{WEB}/plan"), Some("stranger"), 403),
        ("PUT", format!("{WEB}/origin"), None, 401),
        ("GET", format!("{WEB}/explain"), None, 401),
        ("POST", "/orchestra/nothing".to_owned(), None, 404),
        ("POST", "/orchestra/healthz".to_owned(), None, 405),
    ] {
        let answer = send(&app, method, &path, caller, Body::new(body.clone())).await;
        assert_eq!(answer.status(), status, "{method} {path} {caller:?}");
        assert_eq!(body.0.load(Ordering::Relaxed), 0, "{method} {path} {caller:?}");
    }
    let answer = send(&app, "POST", &format!("{WEB}/plan"), Some("jane"), Body::new(body.clone())).await;
    assert_eq!(answer.status(), 413);
    let kib = body.0.load(Ordering::Relaxed);
    assert!(
        kib <= (3 + 4 * 3) * 1024 + 2,
        "it is read up to the limit, and dropped up to four times that: {kib} KiB"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_with_too_many_requests_is_told_to_retry_and_others_are_answered() {
    let platform = Platform::start().await;
    platform.apply("web", &json!({"containers": {"app": {"image": "nginx"}}})).await;
    let one = Bound { total: 2, per_caller: 1 };
    let options = Options { requests: one, wait: Duration::from_millis(1), ..Options::default() };
    let app =
        router(Server { limits: Limits::new(options), access: Arc::new(ButStranger), ..platform.server() });
    let plan = format!("{WEB}/plan");
    // Its body is read once it is admitted, and never ends.
    let (admitted, is_admitted) = tokio::sync::oneshot::channel();
    let first = futures_util::stream::once(async move {
        admitted.send(()).unwrap();
        Ok::<_, Infallible>(Bytes::from_static(b"{"))
    });
    let body = Body::from_stream(first.chain(futures_util::stream::pending()));
    let (busy, path) = (app.clone(), plan.clone());
    let busy = tokio::spawn(async move { send(&busy, "POST", &path, Some("jane"), body).await });
    is_admitted.await.unwrap();
    let refused = send(&app, "GET", &format!("{WEB}/explain"), Some("jane"), Body::empty()).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
    assert_eq!(refused.headers()[ERROR_CODE], "TOO_MANY_REQUESTS");
    let answer = send(&app, "GET", &format!("{WEB}/explain"), Some("john"), Body::empty()).await;
    assert_eq!(answer.status(), 200);
    busy.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_with_too_many_values_is_refused_before_it_is_parsed() {
    let platform = Platform::start().await;
    let mut web = object("web", &json!({"containers": {"app": {"image": "nginx"}}}));
    web["spec"]["containers"]["app"]["args"] = json!(vec![0; 30_000]);
    let reply =
        platform.post(&format!("{WEB}/plan"), "text/plain", "application/json", web.to_string()).await;
    assert_eq!((reply.status.as_u16(), reply.error.as_str()), (413, "PAYLOAD_TOO_LARGE"));
    assert_eq!(reply.text, "The body has more than 20000 values; shorten it, or split the workload.\n");
}
