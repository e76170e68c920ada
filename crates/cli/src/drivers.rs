//! Drivers of this build, by cargo feature. `serve` runs with them, and `config check` warns about others.

#[cfg(feature = "embedded")]
use std::{collections::BTreeSet, io, path::Path};
use std::{ffi::OsString, process::ExitCode, sync::Arc};

use kube::Client;
use orchestra_core::config::{
    Capabilities,
    builtin::{KUBERNETES, TEMPLATE},
};
#[cfg(feature = "kubernetes")]
use orchestra_drivers::kubernetes::Kubernetes;
#[cfg(feature = "template")]
use orchestra_drivers::template::Template;
#[cfg(feature = "embedded")]
use orchestra_drivers::{ProgramAccess, WorkloadOrigins};
use orchestra_drivers::{Provisioner, Runtime, static_engine::Static};

#[cfg(all(feature = "embedded", not(all(feature = "process", target_os = "linux"))))]
use std::future::{Ready, ready};

#[cfg(all(feature = "process", target_os = "linux"))]
use orchestra_core::config::builtin::PROCESS;
#[cfg(all(feature = "process", target_os = "linux"))]
use orchestra_drivers::process::{self, Engine, Launcher, OriginStore, Process, runtime::CLASS};

/// Runtimes and provisioners of a platform.
pub(crate) struct Drivers {
    pub(crate) runtimes: Vec<Arc<dyn Runtime>>,
    pub(crate) provisioners: Vec<Arc<dyn Provisioner>>,
    /// Store of workload origins, if a runtime runs on this machine.
    #[cfg(feature = "embedded")]
    pub(crate) origins: Option<Arc<dyn WorkloadOrigins>>,
    /// True while any program runs on this machine, even one that no Workload declares.
    #[cfg(feature = "embedded")]
    pub(crate) is_busy: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Drivers {
    /// Drivers of a platform with a data folder. Those of this machine are included if it may run programs, for the namespaces in
    /// which that is allowed.
    #[cfg(feature = "embedded")]
    pub(crate) async fn open(data: &Path, access: Option<Arc<dyn ProgramAccess>>) -> io::Result<Self> {
        let (runtimes, provisioners) = (Vec::new(), vec![Arc::new(Static) as Arc<dyn Provisioner>]);
        let drivers = Self { runtimes, provisioners, origins: None, is_busy: Arc::new(|| false) };
        match access {
            Some(access) => drivers.with_machine(data, access).await,
            None => Ok(drivers),
        }
    }

    /// Drivers of a platform on a cluster.
    pub(crate) fn in_cluster(client: &Client) -> Self {
        Self {
            runtimes: cluster_runtimes(client),
            provisioners: cluster_provisioners(client),
            #[cfg(feature = "embedded")]
            origins: None,
            #[cfg(feature = "embedded")]
            is_busy: Arc::new(|| false),
        }
    }

    #[cfg(all(feature = "process", target_os = "linux"))]
    async fn with_machine(mut self, data: &Path, access: Arc<dyn ProgramAccess>) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let origins = OriginStore::open(data);
        let process = Process::open(data.to_owned(), program.clone(), origins.clone(), access).await;
        let process = Arc::new(process);
        let engine = Engine::open(data.to_owned(), Launcher { program }, origins.clone()).await?;
        self.origins = Some(Arc::new(origins));
        self.runtimes.push(Arc::clone(&process) as Arc<dyn Runtime>);
        self.is_busy = Arc::new(move || process.runs_anything());
        self.provisioners.push(Arc::new(engine));
        Ok(self)
    }

    #[cfg(all(feature = "embedded", not(all(feature = "process", target_os = "linux"))))]
    fn with_machine(self, _: &Path, _: Arc<dyn ProgramAccess>) -> Ready<io::Result<Self>> {
        ready(Ok(self))
    }
}

/// Runtimes of a cluster.
fn cluster_runtimes(client: &Client) -> Vec<Arc<dyn Runtime>> {
    #[cfg(feature = "kubernetes")]
    return vec![Arc::new(Kubernetes::open(client.clone()))];
    #[cfg(not(feature = "kubernetes"))]
    {
        let _ = client;
        Vec::new()
    }
}

/// Provisioners of a cluster.
fn cluster_provisioners(client: &Client) -> Vec<Arc<dyn Provisioner>> {
    #[cfg(feature = "template")]
    return vec![Arc::new(Static), Arc::new(Template::open(client.clone()))];
    #[cfg(not(feature = "template"))]
    {
        let _ = client;
        vec![Arc::new(Static)]
    }
}

/// Runtime class and engine of this machine, if they are part of this build.
#[cfg(all(feature = "process", target_os = "linux"))]
const MACHINE: Option<(&str, &str)> = Some((CLASS, PROCESS));
#[cfg(not(all(feature = "process", target_os = "linux")))]
const MACHINE: Option<(&str, &str)> = None;

/// Runtime classes and engines of this build.
pub(crate) fn capabilities() -> Capabilities {
    let (runtime, engine) = MACHINE.unzip();
    let runtimes = runtime.into_iter().chain(cfg!(feature = "kubernetes").then_some(KUBERNETES));
    let engines =
        [Static.name()].into_iter().chain(engine).chain(cfg!(feature = "template").then_some(TEMPLATE));
    Capabilities {
        runtime_classes: runtimes.map(ToOwned::to_owned).collect(),
        engines: engines.map(ToOwned::to_owned).collect(),
    }
}

/// Removes recorded origins of Workloads that do not exist: deleted, or never created.
#[cfg(all(feature = "process", target_os = "linux"))]
pub(crate) fn prune_origins(data: &Path, existing: &BTreeSet<(String, String)>) -> io::Result<()> {
    OriginStore::open(data).retain(existing)
}

/// Without the runtime of this machine, there are no origins.
#[cfg(all(feature = "embedded", not(all(feature = "process", target_os = "linux"))))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail with the runtime of this machine")]
pub(crate) fn prune_origins(_: &Path, _: &BTreeSet<(String, String)>) -> io::Result<()> {
    Ok(())
}

/// Stops the database servers of a platform that has shut down.
#[cfg(all(feature = "process", target_os = "linux"))]
pub(crate) async fn stop_servers(data: &Path) -> io::Result<()> {
    let program = std::env::current_exe()?;
    process::servers::shutdown(data, &Launcher { program }).await
}

/// Without the engine of this machine, there are no servers.
#[cfg(all(feature = "embedded", not(all(feature = "process", target_os = "linux"))))]
pub(crate) fn stop_servers(_: &Path) -> Ready<io::Result<()>> {
    ready(Ok(()))
}

/// Internal commands, by which a driver starts this program.
pub(crate) fn internal_command(arguments: &[OsString]) -> Option<ExitCode> {
    #[cfg(all(feature = "process", target_os = "linux"))]
    return process::hidden(arguments.iter().cloned());
    #[cfg(not(all(feature = "process", target_os = "linux")))]
    {
        let _ = arguments;
        None
    }
}
