//! Manager of all controllers: keeps their caches current, starts them when these are synced, and stops them together.

use std::{collections::BTreeSet, fmt, num::NonZeroUsize, sync::Arc};

use futures_util::{StreamExt, stream::BoxStream};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use orchestra_core::config::PlatformKind;
use orchestra_drivers::{Provisioner, Runtime};
use tokio::task::JoinHandle;

use crate::{
    claim::ClaimController,
    config_watcher::{ConfigWatcher, SharedConfig},
    context::Context,
    engine::{
        key::Key,
        shutdown::{self, Shutdown, ShutdownTrigger},
        worker::{self, Handle, Worker},
    },
    events::Recorder,
    metrics::Metrics,
    plan::PlanController,
    policy::PolicyController,
    secrets::NamespaceSecrets,
    watches::{Handles, Watches},
    workload::WorkloadController,
    writer::Writer,
};

/// Options of the controllers.
pub struct Options {
    /// Runtimes, which run plans.
    pub runtimes: Vec<Arc<dyn Runtime>>,
    /// Provisioners, which provide what claims request.
    pub provisioners: Vec<Arc<dyn Provisioner>>,
    /// Concurrent reconciles of each controller.
    pub concurrency: NonZeroUsize,
    /// Identity of this process, for events and leader election.
    pub identity: String,
    /// Current time.
    pub clock: fn() -> Timestamp,
    /// Metrics.
    pub metrics: Metrics,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            runtimes: Vec::new(),
            provisioners: Vec::new(),
            concurrency: NonZeroUsize::MIN.saturating_add(15),
            identity: "orchestra".to_owned(),
            clock: Timestamp::now,
            metrics: Metrics::default(),
        }
    }
}

/// Controllers that do not reconcile yet: their caches follow the API, so that they can start at once.
///
/// They stop when this is dropped.
pub struct Standby {
    client: Client,
    options: Options,
    context: Context,
    watches: Watches,
    trigger: ShutdownTrigger,
    shutdown: Shutdown,
    tasks: Vec<JoinHandle<()>>,
}

/// Running controllers.
#[derive(Debug)]
pub struct Controllers {
    context: Context,
    handles: Handles,
    shutdown: ShutdownTrigger,
    tasks: Vec<JoinHandle<()>>,
    /// Task that writes events. It ends last, since the others record events until they end.
    recording: (ShutdownTrigger, JoinHandle<()>),
}

impl fmt::Debug for Standby {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standby").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Standby {
    /// Starts to watch everything that the controllers and their drivers cache.
    pub fn start(client: Client, options: Options) -> Self {
        let (trigger, shutdown) = shutdown::channel();
        let classes: BTreeSet<_> =
            options.runtimes.iter().map(|runtime| runtime.class().to_owned()).collect();
        let config = SharedConfig::builtin(PlatformKind::of(classes.iter().map(String::as_str)));
        let context = Context { config, runtimes: Arc::new(classes), ..Context::new(options.clock) };
        let watches = Watches::new(context.clone(), options.metrics.clone());
        let mut tasks: Vec<_> = watches.start(&client, &options.metrics, &shutdown).into();
        for runtime in &options.runtimes {
            tasks.push(relay(runtime.changes(), |handles| &handles.plans, &watches, &shutdown));
        }
        for provisioner in &options.provisioners {
            tasks.push(relay(provisioner.changes(), |handles| &handles.claims, &watches, &shutdown));
        }
        Self { client, options, context, watches, trigger, shutdown, tasks }
    }

    /// Starts the controllers. They reconcile once all caches are synced.
    pub async fn lead(self) -> kube::Result<Controllers> {
        let Self { client, options, context, watches, trigger, shutdown, mut tasks } = self;
        let Options { runtimes, provisioners, concurrency, identity, clock: _, metrics } = options;
        let (stop_recording, recording_shutdown) = shutdown::channel();
        let (recorder, recording) =
            Recorder::start(client.clone(), "orchestrator", &identity, recording_shutdown);
        let config_watcher =
            ConfigWatcher::load(context.config.clone(), client.clone(), recorder.clone(), metrics.clone())
                .await?;
        {
            let watches = watches.clone();
            let watching = config_watcher.watch(shutdown.clone(), move || watches.config_changed());
            tasks.push(tokio::spawn(watching));
        }
        watches.synced().await;

        let work = worker::Options { concurrency, metrics, ..worker::Options::default() };
        let secrets = NamespaceSecrets::new(client.clone());
        let writer = |controller| Writer::new(client.clone(), controller);
        let workload = WorkloadController::new(context.clone(), writer("workload"), recorder);
        // An eighth of the workers start new Workloads, the others complete those in progress: of a thousand, the first are ready soon.
        let starting = NonZeroUsize::new(concurrency.get() / 8);
        let backlog = Arc::clone(&context.backlog);
        let options = worker::Options { starting, backlog, ..work.clone() };
        let (workloads, task) = Worker::start(Arc::new(workload), options, shutdown.clone());
        tasks.push(task);
        let claim = ClaimController::new(context.clone(), writer("claim"), secrets.clone(), provisioners);
        let (claims, task) = Worker::start(Arc::new(claim), work.clone(), shutdown.clone());
        tasks.push(task);
        let plan = PlanController::new(context.clone(), writer("plan"), secrets, runtimes);
        let (plans, task) = Worker::start(Arc::new(plan), work.clone(), shutdown.clone());
        tasks.push(task);
        let policy = PolicyController::new(context.clone(), Writer::new(client, "policy"));
        let (policies, task) = Worker::start(Arc::new(policy), work, shutdown);
        tasks.push(task);
        let handles = Handles { workloads, claims, plans, policies };
        watches.enable(handles.clone());
        Ok(Controllers { context, handles, shutdown: trigger, tasks, recording: (stop_recording, recording) })
    }
}

impl Controllers {
    /// Starts all controllers. They reconcile once all caches are synced.
    pub async fn start(client: Client, options: Options) -> kube::Result<Self> {
        Standby::start(client, options).lead().await
    }

    /// Context of the controllers.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Waits until no controller has anything to reconcile.
    pub async fn idle(&self) {
        let Handles { workloads, claims, plans, policies: _ } = &self.handles;
        tokio::join!(workloads.idle(), claims.idle(), plans.idle());
    }

    /// Aborts all controllers, whatever they are doing.
    pub fn abort(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.recording.1.abort();
    }

    /// Stops all controllers gracefully: reconciles in progress complete, and no new ones start.
    pub async fn stop(self) {
        self.shutdown.trigger();
        for task in self.tasks {
            // A task that panicked has ended as well.
            let _ = task.await;
        }
        let (stop_recording, recording) = self.recording;
        stop_recording.trigger();
        let _ = recording.await;
    }
}

/// Enqueues what a driver reports as changed. Before this process leads, reports have no effect.
fn relay(
    mut changes: BoxStream<'static, (String, String)>,
    queue: fn(&Handles) -> &Handle<Key>,
    watches: &Watches,
    shutdown: &Shutdown,
) -> JoinHandle<()> {
    let (watches, shutdown) = (watches.clone(), shutdown.clone());
    tokio::spawn(async move {
        let relaying = async {
            while let Some((namespace, name)) = changes.next().await {
                watches.driver_changed(queue, Key { namespace, name });
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = shutdown.requested() => {}
            () = relaying => {}
        }
    })
}
