//! Failures on order.

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

/// The failures that are ordered. As a layer around a server, it strikes the requests that pass. Clones share it.
///
/// Each fault strikes once: the `nth` matching request, counted from 1 since it was ordered. Of several that are due
/// at the same request, the first ordered strikes, and the others have counted it.
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
/// assert!(!fault.struck());
/// assert!(matches!(namespaces.get("default").await, Err(kube::Error::Api(status)) if status.code == 503));
/// assert!(fault.struck());
/// namespaces.get("default").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Vec<Ordered>>>);

#[derive(Debug)]
struct Ordered {
    matching: Matching,
    /// Matching requests up to the one that is struck.
    left: usize,
    strike: Strike,
    struck: watch::Sender<bool>,
}

#[derive(Clone, Debug)]
enum Strike {
    Fail(StatusCode),
    Delay(Duration),
    Hold(watch::Receiver<bool>),
    DropAnswer,
}

impl Faults {
    /// The request is not executed, and answered with this status and a `Status` object.
    pub fn fail(&self, matching: Matching, nth: usize, status: StatusCode) -> Fault {
        self.order(matching, nth, Strike::Fail(status), None)
    }

    /// The request is executed this much later, on Tokio's clock.
    pub fn delay(&self, matching: Matching, nth: usize, by: Duration) -> Fault {
        self.order(matching, nth, Strike::Delay(by), None)
    }

    /// The request is executed when the test says so, with [`Fault::release`] or by dropping the fault.
    pub fn hold(&self, matching: Matching, nth: usize) -> Fault {
        let (release, released) = watch::channel(false);
        self.order(matching, nth, Strike::Hold(released), Some(release))
    }

    /// The request is executed, but the client sees a [broken connection](BrokenConnection).
    pub fn drop_answer(&self, matching: Matching, nth: usize) -> Fault {
        self.order(matching, nth, Strike::DropAnswer, None)
    }

    fn order(
        &self,
        matching: Matching,
        nth: usize,
        strike: Strike,
        release: Option<watch::Sender<bool>>,
    ) -> Fault {
        let (sender, struck) = watch::channel(false);
        let ordered = Ordered { matching, left: nth.max(1), strike, struck: sender };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ordered);
        Fault { struck, release }
    }

    /// Counts a request, and tells what strikes it.
    fn strike(&self, request: &Parts) -> Option<Strike> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in all.iter_mut().filter(|fault| fault.matching.matches(request)) {
            fault.left = fault.left.saturating_sub(1);
        }
        let due = all.iter().position(|fault| fault.left == 0 && fault.matching.matches(request))?;
        let fault = all.remove(due);
        fault.struck.send_replace(true);
        Some(fault.strike)
    }
}

impl<S> Layer<S> for Faults {
    type Service = FaultyService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FaultyService { faults: self.clone(), inner }
    }
}

/// A fault that was ordered.
#[derive(Debug)]
pub struct Fault {
    struck: watch::Receiver<bool>,
    release: Option<watch::Sender<bool>>,
}

impl Fault {
    /// Whether its request has come.
    pub fn struck(&self) -> bool {
        *self.struck.borrow()
    }

    /// Waits until its request has come.
    pub async fn strikes(&self) {
        // An error means that the faults are gone, and with them every request.
        let _ = self.struck.clone().wait_for(|struck| *struck).await;
    }

    /// Lets a held request go on. Other faults have nothing to release.
    pub fn release(&self) {
        if let Some(release) = &self.release {
            release.send_replace(true);
        }
    }
}

/// What a client gets instead of an answer that is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection broke before the answer came")]
pub struct BrokenConnection;

/// A server whose requests may be struck.
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
        // The clone may not be ready; the one that was asked is.
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let (parts, body) = request.into_parts();
        let strike = self.faults.strike(&parts);
        let request = Request::from_parts(parts, axum::body::Body::new(body));
        Box::pin(async move {
            match strike {
                Some(Strike::Fail(status)) => return Ok(failure(status)),
                Some(Strike::Delay(by)) => tokio::time::sleep(by).await,
                // An error means that nobody is left to release it.
                Some(Strike::Hold(mut released)) => drop(released.wait_for(|released| *released).await),
                Some(Strike::DropAnswer) => {
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
        "message": "a fault that the test ordered", "reason": reason(status), "code": status.as_u16(),
    });
    (status, [(CONTENT_TYPE, "application/json")], object.to_string()).into_response()
}

/// The reason that a Kubernetes server gives with this status.
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
