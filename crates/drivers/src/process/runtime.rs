//! The runtime `process`: programs of this machine, for whoever has no container engine.
//!
//! What cannot be honoured is refused before anything starts. It runs commands for anyone who may create Workloads, so
//! the binary offers it only where that is the user of the machine.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{future::BoxFuture, stream::BoxStream};
use orchestra_api::{
    condition::Reason,
    plan::{InventoryItem, Kind, Phase, WorkloadPlanSpec},
};
use orchestra_score::model::Protocol;
use tokio::sync::mpsc;

use super::{
    Launcher,
    folders::{self, Home},
    keeper::{Keeper, Site, Version, Wanted},
    limits::Limits,
    memory::{self, Memory},
    output,
    ports::{Holder, Ports},
    prepare::{Blueprint, Preparation},
    runs::{self, Runs},
};
use crate::{DriverError, LogLine, LogWish, Observation, Removed, Runtime, Secrets, Target, news::News};

/// The class of plans that are run as processes.
pub const CLASS: &str = "process";
/// The kind of inventory that stands for a Workload as a whole.
const WORKLOAD: &str = "Workload";
/// How long a first look may take.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// The kind of inventory that stands for a program.
const PROCESS: &str = "Process";

/// The runtime `process`.
#[derive(Debug)]
pub struct Process {
    data: PathBuf,
    launcher: Launcher,
    ports: Ports,
    keepers: Mutex<BTreeMap<Holder, Keeper>>,
    news: News,
    /// Whether files and folders can be put where a program expects them.
    can_place: bool,
    limits: Limits,
}

impl Process {
    /// The runtime of this machine, with its data in a folder that exists. `program` is the binary that plays the shim.
    pub async fn open(data: PathBuf, program: PathBuf) -> Self {
        let ports = Ports::default();
        for (holder, folder) in known(&data) {
            // Of two that claim a port, the first read keeps it; there cannot be two.
            let _ = ports.take(&holder, &memory::ports(&folder));
        }
        let launcher = Launcher { program };
        let can_place = launcher.permitted(&data).await;
        Self {
            data,
            launcher,
            ports,
            keepers: Mutex::default(),
            news: News::default(),
            can_place,
            limits: Limits::find(),
        }
    }

    /// Whether any program runs, of whichever Workload, also of one that nobody looks after now.
    pub fn runs_anything(&self) -> bool {
        known(&self.data).iter().any(|(_, folder)| runs::is_any_up(folder))
    }

    /// Notes where a Workload comes from.
    pub fn note(&self, namespace: &str, name: &str, home: Home) -> io::Result<()> {
        if folders::note(&self.data, namespace, name, home)? {
            self.news.tell(&(namespace.to_owned(), name.to_owned()));
        }
        Ok(())
    }

    fn folder(&self, holder: &Holder) -> PathBuf {
        root(&self.data).join(&holder.0).join(&holder.1)
    }

    fn keepers(&self) -> std::sync::MutexGuard<'_, BTreeMap<Holder, Keeper>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a keeper what is wanted; makes one if there is none.
    fn order(&self, holder: &Holder, wanted: Option<Wanted>) {
        let mut keepers = self.keepers();
        if let Some(keeper) = keepers.get(holder).filter(|keeper| !keeper.is_gone()) {
            keeper.order(wanted);
            return;
        }
        let (causes, causing) = mpsc::unbounded_channel();
        let folder = self.folder(holder);
        let runs = Runs::new(folder.clone(), self.launcher.clone(), self.limits.clone(), causes);
        let site =
            Site { data: self.data.clone(), holder: holder.clone(), folder, is_limited: self.limits.hold() };
        let (news, told) = (self.news.clone(), holder.clone());
        let keeper = Keeper::begin(site, runs, causing, wanted, move || news.tell(&told));
        keepers.insert(holder.clone(), keeper);
    }

    /// Whether a Workload has stopped, as this revision wants it.
    fn is_stopped(&self, holder: &Holder, revision: &str) -> bool {
        let said = self.keepers().get(holder).and_then(|keeper| keeper.listen().borrow().clone());
        said.is_some_and(|said| said.phase == Phase::Pending && said.revision.as_deref() == Some(revision))
    }

    /// Takes the ports of a version; those of the last good one are held until the new one has taken its place.
    fn take_ports(
        &self,
        holder: &Holder,
        plan: &WorkloadPlanSpec,
        good: Option<&WorkloadPlanSpec>,
    ) -> Result<(), DriverError> {
        let versions = [Some(plan), good].into_iter().flatten().filter(|plan| !plan.lifecycle.suspend);
        let ports = versions.flat_map(|plan| plan.ports.values());
        let ports: BTreeSet<u16> = ports.flat_map(|port| [port.port, port.target_port]).collect();
        let taken = self.ports.take(holder, &ports);
        let waiting = taken.map_err(|(port, (namespace, name))| DriverError::Refused {
            reason: Reason::NetworkUnavailable,
            message: format!(
                "The port {port} of this machine is held by the workload `{name}` of the namespace `{namespace}`: choose another port, or stop that workload."
            ),
        })?;
        for other in waiting {
            self.news.tell(&other);
        }
        let folder = self.folder(holder);
        memory::hold_ports(&folder, &ports).map_err(|error| unwritable(&folder, &error))
    }
}

impl Runtime for Process {
    fn class(&self) -> &str {
        CLASS
    }

    fn lacks(&self, plan: &WorkloadPlanSpec) -> Vec<String> {
        let mut lacks = Vec::new();
        for (name, container) in &plan.containers {
            if container.image != "." {
                lacks.push(format!(
                    "`containers.{name}.image` must be `.`, the folder of the Score file, where there is no container engine."
                ));
            }
            if container.command.as_ref().is_none_or(Vec::is_empty) {
                lacks.push(format!(
                    "`containers.{name}.command` is needed, since a folder does not say what to run."
                ));
            }
            let placed = container.files.keys().chain(container.volumes.keys()).next();
            if let Some(target) = placed.filter(|_| !self.can_place) {
                lacks.push(format!(
                    "`containers.{name}` wants something at `{target}`, and this machine does not let programs have a view of their own on its files."
                ));
            }
        }
        for (name, port) in &plan.ports {
            if port.protocol == Protocol::Udp && port.port != port.target_port {
                lacks.push(format!(
                    "`service.ports.{name}` must have equal `port` and `targetPort`: datagrams are not forwarded here."
                ));
            }
        }
        lacks
    }

    fn inventory(&self, target: &Target) -> Vec<InventoryItem> {
        let item = |kind: &str, name: String| InventoryItem { kind: kind.to_owned(), name, id: None };
        let whole = item(WORKLOAD, format!("{}/{}", target.namespace, target.name));
        let parts = target.plan.containers.keys().map(|name| item(PROCESS, name.clone()));
        let mut all: Vec<_> = [whole].into_iter().chain(parts).collect();
        all.sort();
        all
    }

    fn apply<'a>(
        &'a self,
        target: &'a Target,
        secrets: &'a dyn Secrets,
    ) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(async move {
            let holder = (target.namespace.clone(), target.name.clone());
            let plan = &target.plan;
            if plan.lifecycle.suspend {
                // Nothing is needed to stop: not even what could be had no longer. The ports are let go when it has.
                if self.is_stopped(&holder, &plan.revision) {
                    self.take_ports(&holder, plan, None)?;
                }
                let version = Arc::new(Version { plan: plan.clone(), blueprint: Blueprint::new() });
                self.order(&holder, Some(Wanted { version, good: None }));
                return Ok(());
            }
            let memory = Memory::read(&self.folder(&holder), &plan.workload_ref.uid);
            // What runs to its end has done its work: there is nothing to go back to.
            let is_service =
                |good: &WorkloadPlanSpec| plan.kind == Kind::Service && good.kind == Kind::Service;
            let good = memory.good.filter(|good| good.revision != plan.revision && is_service(good));
            self.take_ports(&holder, plan, good.as_ref())?;
            let preparation = Preparation { data: &self.data, target, secrets };
            let blueprint = preparation.prepare(plan).await?;
            let version = Arc::new(Version { plan: plan.clone(), blueprint });
            let good = match good {
                // A version whose secrets are gone cannot be gone back to.
                Some(plan) => {
                    preparation.prepare(&plan).await.ok().map(|blueprint| Version { plan, blueprint })
                }
                None => None,
            };
            self.order(&holder, Some(Wanted { version, good: good.map(Arc::new) }));
            Ok(())
        })
    }

    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>> {
        let holder = (target.namespace.clone(), target.name.clone());
        let said = self.keepers().get(&holder).map(Keeper::listen);
        Box::pin(async move {
            let Some(mut said) = said else { return Ok(Observation::default()) };
            // One that has just begun to look says nothing yet; what was said before holds until then.
            let first = tokio::time::timeout(FIRST_LOOK, said.wait_for(Option::is_some)).await;
            first.ok().and_then(|said| said.ok()?.clone()).ok_or_else(|| DriverError::Transient {
                reason: Reason::RuntimeProvisioning,
                message: "The platform is still finding out how it fares.".to_owned(),
            })
        })
    }

    fn remove<'a>(
        &'a self,
        target: &'a Target,
        inventory: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>> {
        Box::pin(async move {
            let holder = (target.namespace.clone(), target.name.clone());
            if !inventory.iter().any(|item| item.kind == WORKLOAD) {
                // Programs that this version does without were stopped before it was started.
                return Ok(Removed::Gone);
            }
            let is_gone = self.keepers().get(&holder).is_some_and(Keeper::is_gone);
            if is_gone || (!self.folder(&holder).exists() && !self.keepers().contains_key(&holder)) {
                self.keepers().remove(&holder);
                for other in self.ports.release(&holder) {
                    self.news.tell(&other);
                }
                folders::forget(&self.data, &holder.0, &holder.1)
                    .map_err(|error| unwritable(&self.data, &error))?;
                return Ok(Removed::Gone);
            }
            self.order(&holder, None);
            Ok(Removed::Stopping("Its programs are being stopped.".to_owned()))
        })
    }

    fn logs(&self, namespace: &str, name: &str, wish: LogWish) -> BoxStream<'static, io::Result<LogLine>> {
        output::read(self.folder(&(namespace.to_owned(), name.to_owned())), wish)
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        self.news.listen()
    }
}

fn root(data: &Path) -> PathBuf {
    data.join("processes")
}

/// The Workloads of which something is on disk, with their folders.
fn known(data: &Path) -> Vec<(Holder, PathBuf)> {
    let folders = |folder: &Path| -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect()
    };
    let mut known = Vec::new();
    for (namespace, folder) in folders(&root(data)) {
        known.extend(folders(&folder).into_iter().map(|(name, path)| ((namespace.clone(), name), path)));
    }
    known.sort();
    known
}

fn unwritable(folder: &Path, error: &io::Error) -> DriverError {
    DriverError::Transient {
        reason: Reason::PermissionDenied,
        message: format!(
            "The platform cannot write to its folder `{}`: {error}. Make room there, or give its owner the right to write.",
            folder.display()
        ),
    }
}
