//! `serve`: a whole platform in one process, until it is told to stop.
//!
//! One listener answers everything: what is below `/orchestra` is the server's, the rest the API's. The controllers
//! are clients of that API like any other, only without a socket between.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Router, extract::Request, middleware::Next};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    jiff::Timestamp,
};
use kube::{
    Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use orchestra_api::{
    SYSTEM_NAMESPACE, Workload,
    config::{CONFIG_KEY, CONFIG_MAP},
    crd,
};
use orchestra_apiserver::{
    Api, Caller, Options,
    serve::Server,
    store::{Folder, Redb},
};
use orchestra_controllers::{Controllers, metrics::Metrics};
use orchestra_core::config;
use orchestra_server::{AdminOnly, Server as Answers};
use serde_json::json;
use tokio::sync::watch;

use super::{
    cluster,
    idle::{self, Idle},
    input, logging,
};
use crate::{
    args::Serve,
    drivers::{self, Drivers},
    exit::Exit,
    ui,
};

/// Under this name the platform's own objects are kept.
const MANAGER: &str = "orchestra-serve";

/// Runs the command.
pub(crate) fn run(args: &Serve) -> Exit {
    let document = match args.config.as_deref().map(read_document).transpose() {
        Ok(document) => document,
        Err(exit) => return exit,
    };
    logging::start(args.log, args.log_format);
    if args.background {
        idle::leave_terminal();
    }
    let mut runtime = if args.cluster {
        // One thread is far ahead of any API server, and several would only wake each other.
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = runtime.enable_all().build();
    let served = match runtime {
        Ok(runtime) if args.cluster => runtime.block_on(cluster::serve(args, document)),
        Ok(runtime) => runtime.block_on(serve(args, document)),
        Err(error) => Err(format!("failed to start: {error}")),
    };
    match served {
        Ok(()) => Exit::Yes,
        Err(why) => {
            ui::complain(&why);
            Exit::No
        }
    }
}

/// The platform's document from a file; one with faults is not taken.
pub(super) fn read_document(path: &Path) -> Result<String, Exit> {
    let source = input::read(path).map_err(|finding| {
        ui::complain(&format!("{}; {}", finding.message, finding.hint));
        Exit::No
    })?;
    config::check(&source.text).map_err(|faults| {
        let name = input::name(path);
        for fault in &faults {
            ui::complain(&format!("{name}: {fault}"));
        }
        Exit::No
    })?;
    for missing in drivers::contained().missing(&source.text) {
        ui::say(&format!("warning: {}: {missing}", input::name(path)));
    }
    Ok(source.text)
}

async fn serve(args: &Serve, document: Option<String>) -> Result<(), String> {
    let data = args.data_dir()?;
    let folder = Folder::hold(&data).map_err(|error| error.to_string())?;
    let store = Redb::open(folder).map_err(|error| error.to_string())?;
    let address = args.address();
    let mut bound = Server::bind(address, &data).await;
    if bound.is_err() && args.background {
        bound = Server::bind((address.ip(), 0).into(), &data).await;
    }
    let server = bound.map_err(|error| error.to_string())?;
    let api = Api::open(store, Options::default()).await.map_err(|error| error.to_string())?;
    let mut router = api.router();
    let mut platform = None;
    let idle = Idle::default();
    if !args.api_only {
        let client = Client::new(api.router_for(Caller::admin()), "default");
        prepare(&client, document)
            .await
            .map_err(|error| format!("failed to prepare the platform: {error}"))?;
        let is_trusted = args.trust_users || address.ip().is_loopback();
        let existing =
            existing(&client).await.map_err(|error| format!("failed to list workloads: {error}"))?;
        drivers::forget_others(&data, &existing)?;
        let drivers = Drivers::open(&data, is_trusted).await?;
        let is_busy = Arc::clone(&drivers.is_busy);
        let begun = Platform::begin(client.clone(), drivers);
        router = begun.router(router);
        if args.background {
            router = idle.watch(client, is_busy, router);
        }
        platform = Some(begun);
    }
    // Who reads that it serves may want it to stop at once.
    let asked_to_stop = asked_to_stop();
    greet(&server, args.api_only);
    let stopping = api.clone();
    let is_resting = Arc::new(AtomicBool::new(false));
    let resting = Arc::clone(&is_resting);
    let served = server
        .run(router, async move {
            tokio::select! {
                () = asked_to_stop => {}
                () = idle.ended() => resting.store(true, Ordering::Relaxed),
            }
            if let Some(platform) = platform {
                platform.end().await;
            }
            stopping.stop();
        })
        .await;
    if is_resting.load(Ordering::Relaxed) {
        drivers::rest(&data).await.map_err(|error| format!("failed to stop what nobody needs: {error}"))?;
    }
    served.map_err(|error| error.to_string())
}

fn greet(server: &Server, api_only: bool) {
    let mut out = io::stdout().lock();
    let (what, first) = if api_only {
        ("the API", "kubectl get namespaces")
    } else {
        ("the platform", "kubectl get workloads.score.dev")
    };
    // A reader that went away does not stop the server.
    let _ = writeln!(out, "Serving {what} on https://{}; stop with Ctrl-C.\n", server.address());
    let _ = writeln!(out, "    export KUBECONFIG={}\n    {first}", server.kubeconfig().display());
}

/// The Workloads that there are, by namespace and name.
async fn existing(client: &Client) -> kube::Result<BTreeSet<(String, String)>> {
    let listed = kube::Api::<Workload>::all(client.clone()).list(&ListParams::default()).await?;
    Ok(listed
        .iter()
        .map(|workload| (workload.namespace().unwrap_or_default(), workload.name_any()))
        .collect())
}

/// Puts in place what every platform has: the kinds, a namespace of its own, and its document.
async fn prepare(client: &Client, document: Option<String>) -> kube::Result<()> {
    let apply = PatchParams::apply(MANAGER).force();
    let definitions: kube::Api<CustomResourceDefinition> = kube::Api::all(client.clone());
    for definition in crd::all() {
        let name = definition.metadata.name.clone().unwrap_or_default();
        definitions.patch(&name, &apply, &Patch::Apply(definition)).await?;
    }
    let namespaces: kube::Api<Namespace> = kube::Api::all(client.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}});
    namespaces.patch(SYSTEM_NAMESPACE, &apply, &Patch::Apply(namespace)).await?;
    if let Some(document) = document {
        let maps: kube::Api<ConfigMap> = kube::Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP}, "data": {CONFIG_KEY: document},
        });
        maps.patch(CONFIG_MAP, &apply, &Patch::Apply(map)).await?;
    }
    Ok(())
}

/// The controllers and the server beside the API.
struct Platform {
    answers: Answers,
    stop: watch::Sender<bool>,
    controllers: tokio::task::JoinHandle<()>,
}

impl Platform {
    /// Starts the controllers; the API is served meanwhile.
    fn begin(client: Client, drivers: Drivers) -> Self {
        let metrics = Metrics::default();
        let (ready, is_ready) = watch::channel(false);
        let (stop, mut stopped) = watch::channel(false);
        let Drivers { runtimes, provisioners, homes, is_busy: _ } = drivers;
        let keepers =
            runtimes.iter().map(|runtime| (runtime.class().to_owned(), Arc::clone(runtime))).collect();
        let engines =
            provisioners.iter().map(|engine| (engine.engine().to_owned(), engine.traits())).collect();
        let options = orchestra_controllers::Options {
            runtimes,
            provisioners,
            metrics: metrics.clone(),
            ..orchestra_controllers::Options::default()
        };
        let own = client.clone();
        let controllers = tokio::spawn(async move {
            match Controllers::start(own, options).await {
                Ok(controllers) => {
                    ready.send_replace(true);
                    // An error means that nobody is left to wait for.
                    let _ = stopped.wait_for(|stop| *stop).await;
                    controllers.stop().await;
                }
                Err(error) => ui::complain(&format!("the controllers did not start: {error}")),
            }
        });
        let awaited = move || {
            if *is_ready.borrow() { Vec::new() } else { vec!["the controllers".to_owned()] }
        };
        let answers = Answers {
            client,
            access: Arc::new(AdminOnly),
            metrics: Arc::new(move || metrics.encode()),
            awaited: Arc::new(awaited),
            engines: Some(engines),
            runtimes: keepers,
            homes,
            clock: Timestamp::now,
        };
        Self { answers, stop, controllers }
    }

    /// The API with the server in front of it. Both know the same callers.
    fn router(&self, api: Router) -> Router {
        let server = orchestra_server::router(self.answers.clone());
        server.layer(axum::middleware::from_fn(introduce)).fallback_service(api)
    }

    async fn end(self) {
        self.stop.send_replace(true);
        // One that panicked has ended as well.
        let _ = self.controllers.await;
    }
}

/// Tells the server who asks, as the API knows it.
async fn introduce(mut request: Request, next: Next) -> axum::response::Response {
    if let Some(caller) = request.extensions().get::<Caller>().cloned() {
        let caller = orchestra_server::Caller {
            user: caller.name,
            groups: caller.groups,
            ..orchestra_server::Caller::default()
        };
        request.extensions_mut().insert(caller);
    }
    next.run(request).await
}

/// Hears from this call on whether the user or the system wants the program to end, and resolves when they do. A signal
/// that comes before it is waited for counts as well.
pub(super) fn asked_to_stop() -> impl Future<Output = ()> + Send + 'static {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        kinds.map(|kind| signal(kind).ok())
    };
    async move {
        #[cfg(unix)]
        if let [Some(mut interrupt), Some(mut terminate), Some(mut hangup)] = signals {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            return;
        }
        let _ = tokio::signal::ctrl_c().await;
    }
}
