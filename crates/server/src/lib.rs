//! What users ask the platform for beyond their Workloads.
//!
//! Users may read and write Workloads only. What else they need to know of one (what an apply would do, why it is not
//! ready, what happened to it) rests on objects that they may not read; the server reads them for whoever passes an
//! access review on a virtual subresource of the Workload.
//!
//! | request, under `/orchestra` | answer | needs |
//! |---|---|---|
//! | `GET /healthz` | `ok` | |
//! | `GET /readyz` | `ok`, or 503 and what is awaited | |
//! | `GET /metrics` | metrics as Prometheus reads them | `get` on the URL `/metrics` |
//! | `GET /v1/namespaces/{namespace}/workloads/{name}/explain` | why it is as it is | `get` on `workloads/plan` |
//! | `POST /v1/namespaces/{namespace}/workloads/{name}/plan` | what an apply of the body would do | `create` on `workloads/plan` |
//! | `POST …/plan?delete=true` | what a deletion would do | `create` on `workloads/plan` |
//! | `GET /v1/namespaces/{namespace}/workloads/{name}/events` | what happened to it, the newest last | `get` on `workloads/log` |
//! | `GET /v1/namespaces/{namespace}/workloads/{name}/logs` | what its containers wrote, line by line | `get` on `workloads/log` |
//! | `PUT /v1/namespaces/{namespace}/workloads/{name}/home` | notes where it comes from on this machine | `update` on `workloads/home` |
//!
//! Beside a plan that would be refused (the document has a mistake, or a policy forbids something) the header
//! `orchestra-refused` has the reason. Answers are JSON, or text for people who ask for `text/plain`. Nothing here
//! writes objects, and nothing here reads Secrets.

mod access;
mod answer;
mod body;
mod events;
mod gather;
mod health;
mod home;
mod logs;
mod review;
mod workload;

use std::{collections::BTreeMap, fmt, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::HeaderMap,
    routing::{get, post, put},
};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use orchestra_core::{config::Ground, provision::Engine};
use orchestra_drivers::Runtime;

pub use access::{Access, AccessError, AdminOnly, Ask, Caller};
pub use answer::{Code, Failure};
pub use gather::{Gathered, gather, read_sharers};
pub use home::{Home, Homes};
pub use review::{Reviews, introduce};
pub use workload::REFUSED;

use answer::Format;

/// The longest body that is read: as long as the API takes.
const BODY: usize = 3 * 1024 * 1024;

/// What the server works with. Clones share it.
#[derive(Clone)]
pub struct Server {
    /// The API.
    pub client: Client,
    /// Who may ask for what.
    pub access: Arc<dyn Access>,
    /// The metrics, as text.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// What has to happen before the platform is ready; nothing if it is.
    pub awaited: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// The engines that provide what claims ask for, where they are known: what is foreseen of claims rests on them.
    pub engines: Option<BTreeMap<String, Engine>>,
    /// What keeps the logs of Workloads, by the class of the runtime.
    pub runtimes: BTreeMap<String, Arc<dyn Runtime>>,
    /// Where Workloads come from on this machine, where something runs that has to know.
    pub homes: Option<Arc<dyn Homes>>,
    /// The time of day.
    pub clock: fn() -> Timestamp,
}

impl Server {
    /// What the platform stands on.
    fn ground(&self) -> Ground {
        Ground::of(self.runtimes.keys().map(String::as_str))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

/// The service, under `/orchestra`. Whoever accepts requests puts a [`Caller`] beside each whose caller it knows.
pub fn router(server: Server) -> Router {
    let of_workload = Router::new()
        .route("/explain", get(workload::explain))
        .route("/plan", post(workload::plan))
        .route("/events", get(events::events))
        .route("/logs", get(logs::logs))
        .route("/home", put(home::note));
    let all = Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .nest("/v1/namespaces/{namespace}/workloads/{name}", of_workload)
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(server);
    Router::new().nest("/orchestra", all)
}

async fn no_such_route(headers: HeaderMap) -> axum::response::Response {
    Failure::new(Code::NotFound, "There is nothing at this address.").answer(Format::of(&headers))
}

async fn no_such_method(headers: HeaderMap) -> axum::response::Response {
    Failure::new(Code::MethodNotAllowed, "This address does not take this method.")
        .answer(Format::of(&headers))
}
