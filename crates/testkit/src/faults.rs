//! Fault injection.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::Request,
    http::{StatusCode, header::CONTENT_TYPE, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::sync::watch;
use tower::{BoxError, Layer, Service};

use crate::Matching;

/// Injected faults, as a layer around a server. Clones share them.
///
/// Each fault triggers once: at the `nth` matching request, counted from 1 since its injection. Of several that are due at
/// the same request, the oldest triggers; all of them count the request.
///
/// ```
/// use axum::http::StatusCode;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::Api;
/// use orchestra_testkit::{Matching, TestEnv, Verb};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), kube::Error> {
/// let env = TestEnv::start().await;
/// let second = Matching::any().verb(Verb::Get).path("/api/v1/namespaces/*");
/// let fault = env.faults().fail(second, 2, StatusCode::SERVICE_UNAVAILABLE);
///
/// let namespaces: Api<Namespace> = Api::all(env.faulty_client());
/// namespaces.get("default").await?;
/// assert!(!fault.is_triggered());
/// assert!(matches!(namespaces.get("default").await, Err(kube::Error::Api(status)) if status.code == 503));
/// assert!(fault.is_triggered());
/// namespaces.get("default").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Vec<PendingFault>>>);

#[derive(Debug)]
struct PendingFault {
    matching: Matching,
    /// Matching requests until the fault triggers.
    left: usize,
    effect: Effect,
    triggered: watch::Sender<bool>,
}

#[derive(Clone, Debug)]
enum Effect {
    Fail(StatusCode),
    Delay(Duration),
    Hold(watch::Receiver<bool>),
    DropAnswer,
}

impl Faults {
    /// Rejects the request with this status and a `Status` object, without executing it.
    pub fn fail(&self, matching: Matching, nth: usize, status: StatusCode) -> Fault {
        self.inject(matching, nth, Effect::Fail(status), None)
    }

    /// Delays the request, on Tokio's clock.
    pub fn delay(&self, matching: Matching, nth: usize, by: Duration) -> Fault {
        self.inject(matching, nth, Effect::Delay(by), None)
    }

    /// Holds the request until [`Fault::release`], or until the fault is dropped.
    pub fn hold(&self, matching: Matching, nth: usize) -> Fault {
        let (release, released) = watch::channel(false);
        self.inject(matching, nth, Effect::Hold(released), Some(release))
    }

    /// Executes the request, but the client sees a [broken connection](BrokenConnection).
    pub fn drop_answer(&self, matching: Matching, nth: usize) -> Fault {
        self.inject(matching, nth, Effect::DropAnswer, None)
    }

    fn inject(
        &self,
        matching: Matching,
        nth: usize,
        effect: Effect,
        release: Option<watch::Sender<bool>>,
    ) -> Fault {
        let (sender, triggered) = watch::channel(false);
        let fault = PendingFault { matching, left: nth.max(1), effect, triggered: sender };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
        Fault { triggered, release }
    }

    /// Counts a request, and returns the effect of the fault that is due.
    fn count(&self, request: &Parts) -> Option<Effect> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in all.iter_mut().filter(|fault| fault.matching.matches(request)) {
            fault.left = fault.left.saturating_sub(1);
        }
        let due = all.iter().position(|fault| fault.left == 0 && fault.matching.matches(request))?;
        let fault = all.remove(due);
        fault.triggered.send_replace(true);
        Some(fault.effect)
    }
}

impl<S> Layer<S> for Faults {
    type Service = FaultyService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FaultyService { faults: self.clone(), inner }
    }
}

/// Injected fault.
#[derive(Debug)]
pub struct Fault {
    triggered: watch::Receiver<bool>,
    release: Option<watch::Sender<bool>>,
}

impl Fault {
    /// True if the fault has triggered.
    pub fn is_triggered(&self) -> bool {
        *self.triggered.borrow()
    }

    /// Waits until the fault triggers.
    pub async fn until_triggered(&self) {
        // An error means that the layer is dropped, so there are no more requests.
        let _ = self.triggered.clone().wait_for(|triggered| *triggered).await;
    }

    /// Releases a held request. Other faults ignore it.
    pub fn release(&self) {
        if let Some(release) = &self.release {
            release.send_replace(true);
        }
    }
}

/// Error of a client whose response is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("connection closed before the response")]
pub struct BrokenConnection;

/// Server with injected faults.
#[derive(Clone, Debug)]
pub struct FaultyService<S> {
    faults: Faults,
    inner: S,
}

impl<B, S> Service<axum::http::Request<B>> for FaultyService<S>
where
    B: axum::body::HttpBody<Data = axum::body::Bytes, Error: Into<BoxError>> + Send + 'static,
    S: Service<Request, Response = Response, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    type Response = Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: axum::http::Request<B>) -> Self::Future {
        let clone = self.inner.clone();
        // Only the original has been polled for readiness, not the clone.
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let (parts, body) = request.into_parts();
        let effect = self.faults.count(&parts);
        let request = Request::from_parts(parts, axum::body::Body::new(body));
        Box::pin(async move {
            match effect {
                Some(Effect::Fail(status)) => return Ok(failure(status)),
                Some(Effect::Delay(by)) => tokio::time::sleep(by).await,
                // An error means that the fault is dropped.
                Some(Effect::Hold(mut released)) => drop(released.wait_for(|released| *released).await),
                Some(Effect::DropAnswer) => {
                    inner.call(request).await.map_err(Into::into)?;
                    return Err(BrokenConnection.into());
                }
                None => {}
            }
            inner.call(request).await.map_err(Into::into)
        })
    }
}

fn failure(status: StatusCode) -> Response {
    let object = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "injected fault", "reason": reason(status), "code": status.as_u16(),
    });
    (status, [(CONTENT_TYPE, "application/json")], object.to_string()).into_response()
}

/// Reason that Kubernetes uses with this status.
fn reason(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}
