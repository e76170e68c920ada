//! Shutdown of an idle background platform: it runs nothing, and there were no requests for a while or its user requests the
//! shutdown.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::post,
};
use kube::{Api, Client, api::ListParams};
use orchestra_api::Workload;
use orchestra_apiserver::{AccessRequest, Api as Embedded};
use orchestra_core::workload_state;
use tokio::{sync::Notify, time::sleep};

/// Time without requests after which an idle platform shuts down: longer than a break between two commands.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);
/// Interval of idle checks; each one lists the Workloads.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Path of requests for a shutdown, also the one that roles name.
const SHUTDOWN_PATH: &str = "/orchestra/v1/shutdown";

/// Shutdown signal of an idle platform.
#[derive(Clone, Debug, Default)]
pub(super) struct IdleShutdown {
    notify: Arc<Notify>,
}

/// True while any program runs, even one that no Workload declares.
pub(super) type IsBusy = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Clone)]
struct IdleMonitor {
    /// Authenticates and authorizes requests for a shutdown.
    access: Embedded,
    shutdown: IdleShutdown,
    client: Client,
    is_busy: IsBusy,
    last_request: Arc<Mutex<Instant>>,
}

impl IdleShutdown {
    /// Resolves when the platform is to shut down.
    pub(super) async fn requested(&self) {
        self.notify.notified().await;
    }

    /// Monitors a platform: its requests, and what it runs.
    pub(super) fn monitor(
        &self,
        access: Embedded,
        client: Client,
        is_busy: IsBusy,
        platform: Router,
    ) -> Router {
        let last_request = Arc::new(Mutex::new(Instant::now()));
        let monitor = IdleMonitor { access, shutdown: self.clone(), client, is_busy, last_request };
        tokio::spawn(monitor.clone().run());
        platform
            .route(SHUTDOWN_PATH, post(shut_down).with_state(monitor.clone()))
            .layer(from_fn_with_state(monitor, record_request))
    }
}

impl IdleMonitor {
    async fn run(self) {
        loop {
            sleep(IDLE_CHECK_INTERVAL).await;
            let last_request = *self.last_request.lock().unwrap_or_else(PoisonError::into_inner);
            if last_request.elapsed() >= IDLE_TIMEOUT && self.is_idle().await {
                self.shutdown.notify.notify_one();
            }
        }
    }

    async fn shut_down_if_idle(&self) -> StatusCode {
        if self.is_idle().await {
            self.shutdown.notify.notify_one();
            StatusCode::ACCEPTED
        } else {
            StatusCode::CONFLICT
        }
    }

    /// True if all Workloads are suspended, none is being deleted, and no program runs.
    async fn is_idle(&self) -> bool {
        let workloads: Api<Workload> = Api::all(self.client.clone());
        let listed = workloads.list(&ListParams::default()).await;
        listed.is_ok_and(|all| workload_state::nothing_to_run(&all)) && !(self.is_busy)()
    }
}

async fn record_request(State(monitor): State<IdleMonitor>, request: Request, next: Next) -> Response {
    *monitor.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    next.run(request).await
}

/// Shuts the platform down if it is idle.
async fn shut_down(State(monitor): State<IdleMonitor>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let mut recording = monitor.access.record(&parts);
    let wanted = AccessRequest::Path { verb: "post", path: SHUTDOWN_PATH };
    recording.wants(wanted, true);
    let status = match monitor.access.authenticate(&parts) {
        Ok(Some((caller, _))) => {
            recording.caller(caller.clone());
            if monitor.access.allows(&caller, wanted) {
                monitor.shut_down_if_idle().await
            } else {
                StatusCode::FORBIDDEN
            }
        }
        _ => StatusCode::UNAUTHORIZED,
    };
    recording.finish(status.into_response()).await
}

/// Detaches from the terminal, whose signals are for the foreground command.
pub(super) fn detach_from_terminal() {
    #[cfg(unix)]
    if let Err(error) = rustix::process::setsid() {
        tracing::warn!("failed to detach from the terminal: {error}");
    }
}
