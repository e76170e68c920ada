//! REST server for previews, explanations, events, logs, health and metrics.
//!
//! Users have access to Workloads only. Previews, explanations, events and logs depend on objects that they may not read;
//! the server reads them for callers that pass an access review on a virtual subresource of the Workload.
//!
//! | request, under `/orchestra` | response | permission |
//! |---|---|---|
//! | `GET /healthz` | `ok` | |
//! | `GET /readyz` | `ok`, or 503 and what is still missing | |
//! | `GET /metrics` | metrics in the `OpenMetrics` format | `get` on the URL `/metrics` |
//! | `GET /v1/namespaces/{namespace}/workloads/{name}/explain` | explanation of its status | `get` on `workloads/plan` |
//! | `POST /v1/namespaces/{namespace}/workloads/{name}/plan` | preview of an apply of the body | `create` on `workloads/plan` |
//! | `POST …/plan?delete=true` | preview of a deletion | `create` on `workloads/plan` |
//! | `GET /v1/namespaces/{namespace}/workloads/{name}/events` | its events, the newest last | `get` on `workloads/log` |
//! | `GET /v1/namespaces/{namespace}/workloads/{name}/logs` | log lines of its containers | `get` on `workloads/log` |
//! | `PUT /v1/namespaces/{namespace}/workloads/{name}/origin` | records its origin on this machine: folder and variables | `update` on `workloads/origin` |
//!
//! If the previewed Workload is invalid or violates a policy, the header `orchestra-refused` has the reason. The header
//! `orchestra-error` has the code of an error. Responses are JSON, or text for clients that prefer `text/plain`. The server
//! neither writes objects nor reads Secrets.
//!
//! A request is authenticated, admitted within the limits of its caller, and authorized before its body is read.

mod access;
mod access_log;
mod body;
mod config;
mod error;
mod events;
mod format;
mod health;
mod log_access;
mod logs;
mod preview_cost;
mod review;
mod review_cache;
pub mod snapshot;
mod token_review;
mod workload;
mod workload_origin;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use axum::{
    Router,
    http::HeaderMap,
    middleware::from_fn_with_state,
    routing::{get, post, put},
};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use orchestra_core::{preview::CapabilitiesOf, provision::Engine};
use orchestra_drivers::{Runtime, WorkloadOrigins, runtime};
use orchestra_limits::Limits;

pub use access::{Access, AccessError, AccessRequest, Caller, CredentialCheck, METRICS_PATH};
pub use access_log::{is_followed, required_access};
pub use config::config_in_force;
pub use error::{Code, ERROR_CODE, Error, WorkloadError, reject_token};
pub use review::Reviews;
pub use token_review::TokenReviewError;
pub use workload::REFUSED;

use format::Format;

/// Dependencies of the server. Clones share them.
#[derive(Clone)]
pub struct Server {
    /// Client of the API.
    pub client: Client,
    /// Authorizer.
    pub access: Arc<dyn Access>,
    /// Limits of requests.
    pub limits: Limits,
    /// Metrics as text.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// Missing parts of a platform that is not ready.
    pub awaited: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Provisioning engines, for the forecast of claims; `None` if unknown.
    pub engines: Option<BTreeMap<String, Engine>>,
    /// Runtimes by class, for previews and logs.
    pub runtimes: BTreeMap<String, Arc<dyn Runtime>>,
    /// Recorder of workload origins, if a runtime runs on the machine of the author.
    pub origins: Option<Arc<dyn WorkloadOrigins>>,
    /// Clock.
    pub clock: fn() -> Timestamp,
}

impl Server {
    /// Answers of the runtimes about a plan, for previews.
    fn capabilities(&self) -> CapabilitiesOf {
        let runtimes = self.runtimes.clone();
        CapabilitiesOf::new(move |plan| {
            let runtime = runtimes.get(&plan.spec.runtime_class)?;
            Some(runtime::capabilities(runtime.as_ref(), plan))
        })
    }

    /// Classes of the built-in runtimes.
    fn classes(&self) -> BTreeSet<String> {
        self.runtimes.keys().cloned().collect()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

/// Router of all routes, under `/orchestra`. The listener adds the authenticated [`Caller`] to the extensions of a request.
pub fn router(server: Server) -> Router {
    assemble(protected(), server)
}

/// The same router, for callers that send a bearer token. Public paths and unknown ones cost no review.
pub fn router_with_tokens(server: Server, reviews: Reviews) -> Router {
    assemble(protected().layer(from_fn_with_state(reviews, review::authenticate_token)), server)
}

/// Router of the health checks alone, for a listener of their own.
pub fn health_router(server: Server) -> Router {
    assemble(Router::new(), server)
}

/// Routes that need a caller.
fn protected() -> Router<Server> {
    let of_workload = Router::new()
        .route("/explain", get(workload::explain))
        .route("/plan", post(workload::plan))
        .route("/events", get(events::events))
        .route("/logs", get(logs::logs))
        .route("/origin", put(workload_origin::record));
    Router::new()
        .route("/metrics", get(health::metrics))
        .nest("/v1/namespaces/{namespace}/workloads/{name}", of_workload)
}

fn assemble(protected: Router<Server>, server: Server) -> Router {
    let all = protected
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .fallback(no_such_path)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(server);
    Router::new().nest("/orchestra", all)
}

async fn no_such_path(headers: HeaderMap) -> axum::response::Response {
    Error::NoSuchPath.respond(Format::of(&headers))
}

async fn method_not_allowed(headers: HeaderMap) -> axum::response::Response {
    Error::MethodNotAllowed.respond(Format::of(&headers))
}
