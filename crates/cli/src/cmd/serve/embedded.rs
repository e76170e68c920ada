//! `serve` without a cluster: the embedded API, the server and the controllers in one process.
//!
//! They share a listener: paths below `/orchestra` belong to the server, all others to the API. The controllers are clients of
//! that API, without a socket between.

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, middleware::from_fn_with_state};
use k8s_openapi::{
    api::core::v1::Namespace,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition, jiff::Timestamp,
};
use kube::{
    Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use orchestra_api::{SYSTEM_NAMESPACE, Workload, crd};
use orchestra_apiserver::{
    Api, AuditLog, Caller, Options, TokenKey,
    store::{Folder, KeyFile, Redb},
};
use orchestra_controllers::{Controllers, metrics::Metrics};
use orchestra_drivers::ProgramAccess;
use orchestra_limits::Limits;
use orchestra_serve::{Peer, Server};
use orchestra_server::Server as Answers;
use serde_json::json;
use tokio::sync::watch;

use super::{
    FIELD_MANAGER, ServeError,
    access::{self, EmbeddedAccess},
    audit,
    program_access::EmbeddedProgramAccess,
    roles, shutdown_signal, write_config,
};
use crate::{
    args::Serve,
    cmd::idle::IdleShutdown,
    drivers::{self, Drivers},
};

/// Delay before the first retry of a failed start of the controllers.
const FIRST_START_BACKOFF: Duration = Duration::from_secs(1);
/// Maximum of that delay, which doubles with each failure.
const MAX_START_BACKOFF: Duration = Duration::from_secs(30);

/// Serves until shutdown is requested.
pub(super) async fn serve(args: &Serve, config: Option<String>) -> Result<(), ServeError> {
    let data = args.data_dir()?;
    let folder = Folder::hold(&data)?;
    let keys = args.encryption_key.as_ref().map_or_else(|| KeyFile::of_folder(&folder), KeyFile::at);
    let store = Redb::open_with(folder, &keys)?;
    let audit = audit::open(args, &data)?;
    let address = args.address();
    let mut bound = Server::bind(address, &data);
    if bound.is_err() && args.background {
        bound = Server::bind((address.ip(), 0).into(), &data);
    }
    let server = bound?;
    let key = TokenKey::from_pkcs8(&orchestra_serve::token_key(&data)?)?;
    // The API and the server share them.
    let limits = Limits::default();
    let options = Options {
        token_key: Some(key),
        limits: limits.clone(),
        connections: Some(server.connections()),
        audit: audit.clone(),
        ..Options::default()
    };
    let api = Api::open(store, options).await?;
    let mut router = api.router();
    let mut platform = None;
    let idle = IdleShutdown::default();
    if !args.api_only {
        let client = Client::new(api.router_for(orchestrator()), "default");
        prepare(&client, config).await?;
        let existing = existing(&client).await.map_err(ServeError::api("list workloads"))?;
        drivers::prune_origins(&data, &existing).map_err(ServeError::io("read the origins of workloads"))?;
        let runs_programs = args.trust_users || address.ip().is_loopback();
        let access = runs_programs.then(|| {
            let access = EmbeddedProgramAccess { api: api.clone(), trusts_users: args.trust_users };
            Arc::new(access) as Arc<dyn ProgramAccess>
        });
        let drivers = Drivers::open(&data, access).await.map_err(ServeError::io("start the drivers"))?;
        let is_busy = Arc::clone(&drivers.is_busy);
        let started = Platform::start(api.clone(), client.clone(), limits, audit.clone(), drivers);
        router = started.router(&api);
        if args.background {
            router = idle.monitor(api.clone(), client, is_busy, router);
        }
        platform = Some(started);
    }
    // A signal may arrive as soon as the greeting is printed.
    let shutdown_signal = shutdown_signal();
    greet(&server, args.api_only);
    let stopping = api.clone();
    let is_idle = Arc::new(AtomicBool::new(false));
    let set_idle = Arc::clone(&is_idle);
    let served = server
        .run(router, caller, async move {
            tokio::select! {
                () = shutdown_signal => {}
                () = idle.requested() => set_idle.store(true, Ordering::Relaxed),
            }
            if let Some(platform) = platform {
                platform.stop().await;
            }
            stopping.stop();
        })
        .await;
    audit.flush().await;
    if is_idle.load(Ordering::Relaxed) {
        drivers::stop_servers(&data).await.map_err(ServeError::io("stop the database servers"))?;
    }
    Ok(served?)
}

fn greet(server: &Server, api_only: bool) {
    let mut out = io::stdout().lock();
    let (what, first) = if api_only {
        ("the API", "kubectl get namespaces")
    } else {
        ("the platform", "kubectl get workloads.score.dev")
    };
    // The output may be closed.
    let _ = writeln!(out, "Serving {what} on https://{}; stop with Ctrl-C.\n", server.address());
    let _ = writeln!(out, "    export KUBECONFIG={}\n    {first}", server.kubeconfig().display());
}

/// Workloads, by namespace and name.
async fn existing(client: &Client) -> kube::Result<BTreeSet<(String, String)>> {
    let listed = kube::Api::<Workload>::all(client.clone()).list(&ListParams::default()).await?;
    Ok(listed
        .iter()
        .map(|workload| (workload.namespace().unwrap_or_default(), workload.name_any()))
        .collect())
}

/// Applies the CRDs, the system namespace, the roles of users and the orchestrator config.
async fn prepare(client: &Client, config: Option<String>) -> Result<(), ServeError> {
    let failed = || ServeError::api("prepare the platform");
    let apply = PatchParams::apply(FIELD_MANAGER).force();
    let definitions: kube::Api<CustomResourceDefinition> = kube::Api::all(client.clone());
    for definition in crd::all() {
        let name = definition.metadata.name.clone().unwrap_or_default();
        definitions.patch(&name, &apply, &Patch::Apply(definition)).await.map_err(failed())?;
    }
    let namespaces: kube::Api<Namespace> = kube::Api::all(client.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}});
    namespaces.patch(SYSTEM_NAMESPACE, &apply, &Patch::Apply(namespace)).await.map_err(failed())?;
    roles::apply(client, &apply).await?;
    if let Some(config) = config {
        write_config(client, &config).await.map_err(failed())?;
    }
    Ok(())
}

/// Controllers and server.
struct Platform {
    answers: Answers,
    stop: watch::Sender<bool>,
    controllers: tokio::task::JoinHandle<()>,
}

impl Platform {
    /// Starts the controllers in a task of their own, so that the API is served meanwhile.
    fn start(api: Api, client: Client, limits: Limits, audit: AuditLog, drivers: Drivers) -> Self {
        let metrics = Metrics::default();
        let (ready, is_ready) = watch::channel(false);
        let (stop, mut stopped) = watch::channel(false);
        let Drivers { runtimes, provisioners, origins, is_busy: _ } = drivers;
        let by_class =
            runtimes.iter().map(|runtime| (runtime.class().to_owned(), Arc::clone(runtime))).collect();
        let engines =
            provisioners.iter().map(|engine| (engine.name().to_owned(), engine.capabilities())).collect();
        let (own, own_metrics) = (client.clone(), metrics.clone());
        let controllers = tokio::spawn(async move {
            let start = || {
                let options = orchestra_controllers::Options {
                    runtimes: runtimes.clone(),
                    provisioners: provisioners.clone(),
                    metrics: own_metrics.clone(),
                    ..orchestra_controllers::Options::default()
                };
                Controllers::start(own.clone(), options)
            };
            let controllers = tokio::select! {
                controllers = start_with_backoff(start) => controllers,
                // An error means that the sender is gone.
                _ = stopped.wait_for(|stop| *stop) => return,
            };
            ready.send_replace(true);
            let _ = stopped.wait_for(|stop| *stop).await;
            controllers.stop().await;
        });
        let awaited = move || {
            if *is_ready.borrow() { Vec::new() } else { vec!["the controllers".to_owned()] }
        };
        let answers = Answers {
            client,
            access: Arc::new(EmbeddedAccess(api)),
            limits,
            metrics: Arc::new(move || audit::add_metrics(&metrics.encode(), &audit)),
            awaited: Arc::new(awaited),
            engines: Some(engines),
            runtimes: by_class,
            origins,
            clock: Timestamp::now,
        };
        Self { answers, stop, controllers }
    }

    /// Router of server and API, with the same callers.
    fn router(&self, api: &Api) -> Router {
        let server = orchestra_server::router(self.answers.clone());
        server.layer(from_fn_with_state(api.clone(), access::authenticate)).fallback_service(api.router())
    }

    async fn stop(self) {
        self.stop.send_replace(true);
        // A panic ends the task, too.
        let _ = self.controllers.await;
    }
}

/// Starts the controllers. A failed start is retried, and `readyz` reports meanwhile that they are missing.
async fn start_with_backoff<T, E: fmt::Display, F: Future<Output = Result<T, E>>>(
    mut start: impl FnMut() -> F,
) -> T {
    let mut backoff = FIRST_START_BACKOFF;
    loop {
        match start().await {
            Ok(started) => return started,
            Err(error) => {
                tracing::error!(
                    %error,
                    retry_seconds = backoff.as_secs(),
                    "the controllers did not start"
                );
            }
        }
        tokio::time::sleep(backoff).await;
        backoff = (backoff * 2).min(MAX_START_BACKOFF);
    }
}

/// User of the controllers, the server and the drivers in this process.
fn orchestrator() -> Caller {
    Caller::new("system:orchestrator", ["system:masters"])
}

/// Caller of a client certificate.
fn caller(peer: Peer) -> Caller {
    Caller::new(peer.name, peer.groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn controllers_that_do_not_start_are_started_again() {
        let mut failures_left = 3;
        let start = || {
            let started = if failures_left == 0 { Ok("started") } else { Err("the API does not answer") };
            failures_left -= 1;
            std::future::ready(started)
        };
        assert_eq!(start_with_backoff(start).await, "started");
    }
}
