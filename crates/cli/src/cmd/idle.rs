//! The end of a platform that was started in the background, once nobody needs it any more: nothing runs on it, and
//! nobody has asked it anything for a while; or nothing runs on it, and its user says so.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::post,
};
use kube::{Api, Client, ResourceExt, api::ListParams};
use orchestra_api::{Workload, annotation};
use tokio::{sync::Notify, time::sleep};

/// After how long nobody needs it any more.
const UNASKED: Duration = Duration::from_mins(5);
/// How often it is looked.
const LOOK: Duration = Duration::from_secs(30);

/// Whether a platform is needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Idle {
    end: Arc<Notify>,
}

/// Whether anything runs, whatever is said of it.
pub(super) type IsBusy = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Clone)]
struct Watched {
    idle: Idle,
    client: Client,
    is_busy: IsBusy,
    asked: Arc<Mutex<Instant>>,
}

impl Idle {
    /// Resolves when the platform is needed no longer.
    pub(super) async fn ended(&self) {
        self.end.notified().await;
    }

    /// A platform that ends when it is needed no longer.
    pub(super) fn watch(&self, client: Client, is_busy: IsBusy, platform: Router) -> Router {
        let asked = Arc::new(Mutex::new(Instant::now()));
        let watched = Watched { idle: self.clone(), client, is_busy, asked };
        tokio::spawn(watched.clone().look());
        platform
            .route("/orchestra/v1/end", post(end).with_state(watched.clone()))
            .layer(from_fn_with_state(watched, note))
    }
}

impl Watched {
    async fn look(self) {
        loop {
            sleep(LOOK).await;
            let asked = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if asked.elapsed() >= UNASKED && self.runs_nothing().await {
                self.idle.end.notify_one();
            }
        }
    }

    /// Whether nothing runs, and nothing is on its way out.
    async fn runs_nothing(&self) -> bool {
        let workloads: Api<Workload> = Api::all(self.client.clone());
        let is_stopped = |workload: &Workload| {
            workload.metadata.deletion_timestamp.is_none() && annotation::suspends(workload.annotations())
        };
        let listed = workloads.list(&ListParams::default()).await;
        listed.is_ok_and(|all| all.iter().all(is_stopped)) && !(self.is_busy)()
    }
}

/// Every question counts.
async fn note(State(watched): State<Watched>, request: Request, next: Next) -> Response {
    *watched.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    next.run(request).await
}

/// Ends the platform if it runs nothing.
async fn end(State(watched): State<Watched>, request: Request) -> StatusCode {
    // Whom the API knows is its user.
    if request.extensions().get::<orchestra_apiserver::Caller>().is_none() {
        return StatusCode::UNAUTHORIZED;
    }
    if watched.runs_nothing().await {
        watched.idle.end.notify_one();
        StatusCode::ACCEPTED
    } else {
        StatusCode::CONFLICT
    }
}

/// Leaves the terminal of whoever started the platform: its signals are not meant for it.
pub(super) fn leave_terminal() {
    #[cfg(unix)]
    if let Err(error) = rustix::process::setsid() {
        tracing::warn!("the terminal cannot be left: {error}");
    }
}
