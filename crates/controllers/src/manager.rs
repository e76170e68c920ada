//! Manager of all controllers: starts them when the caches are synced, and stops them together.

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

impl Controllers {
    /// Starts all controllers. They reconcile once all caches are synced.
    pub async fn start(client: Client, options: Options) -> kube::Result<Self> {
        let Options { runtimes, provisioners, concurrency, identity, clock, metrics } = options;
        let (trigger, shutdown) = shutdown::channel();
        let classes: BTreeSet<_> = runtimes.iter().map(|runtime| runtime.class().to_owned()).collect();
        let config = SharedConfig::builtin(PlatformKind::of(classes.iter().map(String::as_str)));
        let context = Context { config, runtimes: Arc::new(classes), ..Context::new(clock) };
        let (stop_recording, recording_shutdown) = shutdown::channel();
        let (recorder, recording) =
            Recorder::start(client.clone(), "orchestrator", &identity, recording_shutdown);
        let config_watcher =
            ConfigWatcher::load(context.config.clone(), client.clone(), recorder.clone(), metrics.clone())
                .await?;
        let watches = Watches::new(context.clone(), metrics.clone());
        let mut tasks: Vec<_> = watches.start(&client, &metrics, &shutdown).into();
        {
            let watches = watches.clone();
            let watching = config_watcher.watch(shutdown.clone(), move || watches.config_changed());
            tasks.push(tokio::spawn(watching));
        }
        watches.synced().await;

        let work = worker::Options { concurrency, metrics, ..worker::Options::default() };
        let secrets = NamespaceSecrets::new(client.clone());
        let writer = |controller| Writer::new(client.clone(), controller);
        let runtime_changes: Vec<_> = runtimes.iter().map(|runtime| runtime.changes()).collect();
        let provisioner_changes: Vec<_> =
            provisioners.iter().map(|provisioner| provisioner.changes()).collect();
        let workload = WorkloadController::new(context.clone(), writer("workload"), recorder);
        // An eighth of the workers start new Workloads, the others complete those in progress: of a thousand, the first are ready soon.
        let starting = NonZeroUsize::new(concurrency.get() / 8);
        let (workloads, task) =
            Worker::start(Arc::new(workload), worker::Options { starting, ..work.clone() }, shutdown.clone());
        tasks.push(task);
        let claim = ClaimController::new(context.clone(), writer("claim"), secrets.clone(), provisioners);
        let (claims, task) = Worker::start(Arc::new(claim), work.clone(), shutdown.clone());
        tasks.push(task);
        let plan = PlanController::new(context.clone(), writer("plan"), secrets, runtimes);
        let (plans, task) = Worker::start(Arc::new(plan), work.clone(), shutdown.clone());
        tasks.push(task);
        let policy = PolicyController::new(context.clone(), Writer::new(client, "policy"));
        let (policies, task) = Worker::start(Arc::new(policy), work, shutdown.clone());
        tasks.push(task);
        let handles = Handles { workloads, claims, plans, policies };
        tasks.extend(runtime_changes.into_iter().map(|all| relay(all, handles.plans.clone(), &shutdown)));
        tasks
            .extend(provisioner_changes.into_iter().map(|all| relay(all, handles.claims.clone(), &shutdown)));
        watches.enable(handles.clone());
        Ok(Self { context, handles, shutdown: trigger, tasks, recording: (stop_recording, recording) })
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

/// Enqueues what a driver reports as changed.
fn relay(
    mut changes: BoxStream<'static, (String, String)>,
    handle: Handle<Key>,
    shutdown: &Shutdown,
) -> JoinHandle<()> {
    let shutdown = shutdown.clone();
    tokio::spawn(async move {
        let relaying = async {
            while let Some((namespace, name)) = changes.next().await {
                handle.enqueue(Key { namespace, name });
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = shutdown.requested() => {}
            () = relaying => {}
        }
    })
}
