//! What this program contains: the drivers that its features brought in. `serve` runs with them, and `config check`
//! warns about everything else.

use std::{collections::BTreeSet, ffi::OsString, path::Path, process::ExitCode, sync::Arc};

use kube::Client;
use orchestra_core::config::{
    Contained,
    builtin::{KUBERNETES, TEMPLATE},
};
#[cfg(feature = "kubernetes")]
use orchestra_drivers::kubernetes::Kubernetes;
#[cfg(feature = "template")]
use orchestra_drivers::template::Template;
use orchestra_drivers::{Provisioner, Runtime, static_engine::Static};
use orchestra_server::Homes;

#[cfg(not(all(feature = "process", target_os = "linux")))]
use std::future::{Ready, ready};

#[cfg(all(feature = "process", target_os = "linux"))]
use orchestra_core::config::builtin::PROCESS;
#[cfg(all(feature = "process", target_os = "linux"))]
use orchestra_drivers::process::{self, Engine, Launcher, Process, runtime::CLASS};

/// The drivers at work.
pub(crate) struct Drivers {
    /// What runs plans.
    pub(crate) runtimes: Vec<Arc<dyn Runtime>>,
    /// What provides what claims ask for.
    pub(crate) provisioners: Vec<Arc<dyn Provisioner>>,
    /// Who has to know where Workloads come from on this machine.
    pub(crate) homes: Option<Arc<dyn Homes>>,
    /// Whether anything runs on this machine, whatever is said of it.
    pub(crate) is_busy: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Drivers {
    /// The drivers of a platform whose data is in a folder. What runs programs of this machine for whoever may create
    /// Workloads is among them only if those are trusted.
    pub(crate) async fn open(data: &Path, is_trusted: bool) -> Result<Self, String> {
        let (runtimes, provisioners) = (Vec::new(), vec![Arc::new(Static) as Arc<dyn Provisioner>]);
        let drivers = Self { runtimes, provisioners, homes: None, is_busy: Arc::new(|| false) };
        if is_trusted { drivers.with_machine(data).await } else { Ok(drivers) }
    }

    /// The drivers of a platform whose API is that of a cluster.
    pub(crate) fn in_cluster(client: &Client) -> Self {
        Self {
            runtimes: cluster_runtimes(client),
            provisioners: cluster_provisioners(client),
            homes: None,
            is_busy: Arc::new(|| false),
        }
    }

    #[cfg(all(feature = "process", target_os = "linux"))]
    async fn with_machine(mut self, data: &Path) -> Result<Self, String> {
        let program =
            std::env::current_exe().map_err(|error| format!("failed to find this program: {error}"))?;
        let process = Arc::new(Process::open(data.to_owned(), program.clone()).await);
        let engine = Engine::open(data.to_owned(), Launcher { program }).await;
        let engine = Arc::new(engine.map_err(|error| format!("failed to prepare this machine: {error}"))?);
        self.homes = Some(Arc::new(Machine { process: Arc::clone(&process), engine: Arc::clone(&engine) }));
        self.runtimes.push(Arc::clone(&process) as Arc<dyn Runtime>);
        self.is_busy = Arc::new(move || process.runs_anything());
        self.provisioners.push(engine);
        Ok(self)
    }

    #[cfg(not(all(feature = "process", target_os = "linux")))]
    fn with_machine(self, _: &Path) -> Ready<Result<Self, String>> {
        ready(Ok(self))
    }
}

/// What runs plans on a cluster.
fn cluster_runtimes(client: &Client) -> Vec<Arc<dyn Runtime>> {
    #[cfg(feature = "kubernetes")]
    return vec![Arc::new(Kubernetes::open(client.clone()))];
    #[cfg(not(feature = "kubernetes"))]
    {
        let _ = client;
        Vec::new()
    }
}

/// What provides what claims ask for on a cluster.
fn cluster_provisioners(client: &Client) -> Vec<Arc<dyn Provisioner>> {
    #[cfg(feature = "template")]
    return vec![Arc::new(Static), Arc::new(Template::open(client.clone()))];
    #[cfg(not(feature = "template"))]
    {
        let _ = client;
        vec![Arc::new(Static)]
    }
}

#[cfg(all(feature = "process", target_os = "linux"))]
struct Machine {
    process: Arc<Process>,
    engine: Arc<Engine>,
}

#[cfg(all(feature = "process", target_os = "linux"))]
impl Homes for Machine {
    fn note(&self, namespace: &str, name: &str, home: orchestra_server::Home) -> std::io::Result<()> {
        let orchestra_server::Home { folder, path, environment } = home;
        self.process.note(namespace, name, process::Home { folder, path, environment })?;
        self.engine.noted(namespace, name);
        Ok(())
    }
}

/// The runtime and the engine of this machine, by name, where this program contains them.
#[cfg(all(feature = "process", target_os = "linux"))]
const MACHINE: Option<(&str, &str)> = Some((CLASS, PROCESS));
#[cfg(not(all(feature = "process", target_os = "linux")))]
const MACHINE: Option<(&str, &str)> = None;

/// All that this program contains, by name.
pub(crate) fn contained() -> Contained {
    let (runtime, engine) = MACHINE.unzip();
    let runtimes = runtime.into_iter().chain(cfg!(feature = "kubernetes").then_some(KUBERNETES));
    let engines =
        [Static.engine()].into_iter().chain(engine).chain(cfg!(feature = "template").then_some(TEMPLATE));
    Contained {
        runtime_classes: runtimes.map(ToOwned::to_owned).collect(),
        engines: engines.map(ToOwned::to_owned).collect(),
    }
}

/// Forgets what was noted of Workloads that do not exist: of those that were deleted, or never came to be.
#[cfg(all(feature = "process", target_os = "linux"))]
pub(crate) fn forget_others(data: &Path, existing: &BTreeSet<(String, String)>) -> Result<(), String> {
    process::folders::forget_others(data, existing).map_err(|error| error.to_string())
}

/// Nothing is noted where no programs of this machine run.
#[cfg(not(all(feature = "process", target_os = "linux")))]
#[expect(clippy::unnecessary_wraps, reason = "with programs of this machine it can fail")]
pub(crate) fn forget_others(_: &Path, _: &BTreeSet<(String, String)>) -> Result<(), String> {
    Ok(())
}

/// Puts to rest what only Workloads need that run no longer, after the platform has ended.
#[cfg(all(feature = "process", target_os = "linux"))]
pub(crate) async fn rest(data: &Path) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    process::servers::halt(data, &Launcher { program }).await.map_err(|error| error.to_string())
}

/// Nothing is needed where no programs of this machine run.
#[cfg(not(all(feature = "process", target_os = "linux")))]
pub(crate) fn rest(_: &Path) -> Ready<Result<(), String>> {
    ready(Ok(()))
}

/// The hidden commands by which a driver calls this program.
pub(crate) fn hidden(arguments: &[OsString]) -> Option<ExitCode> {
    #[cfg(all(feature = "process", target_os = "linux"))]
    return process::hidden(arguments.iter().cloned());
    #[cfg(not(all(feature = "process", target_os = "linux")))]
    {
        let _ = arguments;
        None
    }
}
