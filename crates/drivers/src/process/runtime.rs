//! The runtime `process`: Workloads as programs of this machine, where there is no container engine.
//!
//! Unsupported fields are refused before anything starts, and so is everything of a namespace that others can write
//! (`program_guard`): programs run as the user of the platform.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt as _},
};
use orchestra_api::{
    WorkloadPlan,
    condition::Reason,
    plan::{InventoryItem, Phase, WorkloadPlanSpec},
};
pub use orchestra_core::render::process::CLASS;
use orchestra_core::{observe::process::rollback::is_fallback, render::process as render};
use tokio::sync::mpsc;

use super::{
    Launcher, OriginStore,
    kept_forwards::KeptForwards,
    limits::Limits,
    output,
    ports::Ports,
    prepare::{Preparation, PreparedPrograms, UNKNOWN_FOLDER},
    program_guard::ProgramGuard,
    runs::{self, Runs},
    state,
    supervisor::{Desired, Fallback, Supervisor, Version, WorkloadSite},
};
use crate::{
    DriverError, LogLine, LogQuery, NamespacedName, Observation, ProgramAccess, Removed, Runtime, Secrets,
    Target, notify::Notifier,
};

/// Longest wait for the first status of a Workload: adopted programs are published after two seconds.
const FIRST_STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// The runtime `process`.
#[derive(Debug)]
pub struct Process {
    data: PathBuf,
    origins: OriginStore,
    launcher: Launcher,
    ports: Ports,
    supervisors: Mutex<BTreeMap<NamespacedName, Supervisor>>,
    notifier: Notifier,
    /// True if this machine allows mount namespaces, for files and volumes.
    can_place: bool,
    limits: Limits,
    guard: ProgramGuard,
    kept_forwards: KeptForwards,
}

impl Process {
    /// The runtime of this machine, with its data in a folder that exists. `program` is the binary with the command of the shim.
    pub async fn open(
        data: PathBuf,
        program: PathBuf,
        origins: OriginStore,
        access: Arc<dyn ProgramAccess>,
    ) -> Self {
        let ports = Ports::default();
        for (id, folder) in workload_folders(&data) {
            // No two Workloads hold the same port.
            let _ = ports.take(&id, &state::ports(&folder));
        }
        let launcher = Launcher { program };
        let can_place = launcher.can_place_files(&data).await;
        Self {
            data,
            guard: ProgramGuard::new(access, origins.clone()),
            origins,
            launcher,
            ports,
            supervisors: Mutex::default(),
            notifier: Notifier::default(),
            can_place,
            limits: Limits::find(),
            kept_forwards: KeptForwards::default(),
        }
    }

    /// True if any program runs, also of a Workload that is not supervised now.
    pub fn runs_anything(&self) -> bool {
        workload_folders(&self.data).iter().any(|(_, folder)| runs::is_any_up(folder))
    }

    fn folder(&self, id: &NamespacedName) -> PathBuf {
        root(&self.data).join(&id.0).join(&id.1)
    }

    fn supervisors(&self) -> std::sync::MutexGuard<'_, BTreeMap<NamespacedName, Supervisor>> {
        self.supervisors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the desired version of a Workload; starts its supervisor if there is none.
    fn set_desired(&self, id: &NamespacedName, desired: Option<Desired>) {
        let mut supervisors = self.supervisors();
        if let Some(supervisor) = supervisors.get(id).filter(|supervisor| !supervisor.is_removed()) {
            supervisor.set_desired(desired);
            return;
        }
        let (events, receiver) = mpsc::unbounded_channel();
        let folder = self.folder(id);
        let runs = Runs::new(folder.clone(), self.launcher.clone(), self.limits.clone(), events);
        let site = WorkloadSite {
            data: self.data.clone(),
            id: id.clone(),
            folder,
            has_limits: self.limits.are_enforced(),
        };
        let (notifier, workload) = (self.notifier.clone(), id.clone());
        let supervisor = Supervisor::start(site, runs, receiver, desired, move || notifier.notify(&workload));
        supervisors.insert(id.clone(), supervisor);
    }

    /// True if a Workload is stopped, as this revision desires.
    fn is_stopped(&self, id: &NamespacedName, revision: &str) -> bool {
        let status = self.supervisors().get(id).and_then(|supervisor| supervisor.status().borrow().clone());
        status.is_some_and(|status| {
            status.phase == Phase::Pending && status.revision.as_deref() == Some(revision)
        })
    }

    /// Reserves the ports of a version; those of the last good one stay reserved until the new one is ready.
    fn take_ports(
        &self,
        id: &NamespacedName,
        plan: &WorkloadPlanSpec,
        good: Option<&WorkloadPlanSpec>,
    ) -> Result<(), DriverError> {
        let versions = [Some(plan), good].into_iter().flatten().filter(|plan| !plan.lifecycle.suspend);
        let ports = versions.flat_map(|plan| plan.ports.values());
        let ports: BTreeSet<u16> = ports.flat_map(|port| [port.port, port.target_port]).collect();
        let taken = self.ports.take(id, &ports);
        let waiting = taken.map_err(|(port, (namespace, name))| DriverError::refused(Reason::NetworkUnavailable, format!(
                "Port {port} is already in use by the workload `{name}` in the namespace `{namespace}`: choose another port, or stop that workload."
            )))?;
        for other in waiting {
            self.notifier.notify(&other);
        }
        let folder = self.folder(id);
        state::save_ports(&folder, &ports).map_err(|error| unwritable(&folder, error))
    }
}

impl Runtime for Process {
    fn class(&self) -> &str {
        CLASS
    }

    fn lacks(&self, plan: &WorkloadPlanSpec) -> Vec<String> {
        render::lacks(plan, self.can_place)
    }

    fn refusal(&self, plan: &WorkloadPlan) -> Option<String> {
        let refusal = self.guard.refusal_of(plan);
        let (namespace, name) = (plan.metadata.namespace.clone(), plan.metadata.name.clone());
        // Not of previews, whose plan does not exist.
        if refusal.is_some()
            && plan.metadata.uid.is_some()
            && let Some(id) = namespace.zip(name)
            && !self.supervisors().contains_key(&id)
        {
            let folder = self.folder(&id);
            self.kept_forwards.keep(id, folder, plan.spec.workload_ref.uid.clone());
        }
        refusal
    }

    fn inventory(&self, target: &Target) -> Vec<InventoryItem> {
        render::inventory(&target.namespace, &target.name, &target.plan)
    }

    fn apply<'a>(
        &'a self,
        target: &'a Target,
        secrets: &'a dyn Secrets,
    ) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(async move {
            let id = (target.namespace.clone(), target.name.clone());
            let plan = &target.plan;
            if plan.lifecycle.suspend {
                // A stop needs no secrets or origins. The ports are released once it is stopped.
                if self.is_stopped(&id, &plan.revision) {
                    self.take_ports(&id, plan, None)?;
                }
                let version = Arc::new(Version { plan: plan.clone(), programs: PreparedPrograms::new() });
                self.kept_forwards.close(&id).await;
                self.set_desired(&id, Some(Desired { version, fallback: Fallback::None }));
                return Ok(());
            }
            let state = state::read(&self.folder(&id), &plan.workload_ref.uid);
            let good = state.good.filter(|good| is_fallback(plan, good));
            self.take_ports(&id, plan, good.as_ref())?;
            let preparation = Preparation { data: &self.data, origins: &self.origins, target, secrets };
            let programs = preparation.prepare(plan).await?;
            let version = Arc::new(Version { plan: plan.clone(), programs });
            let fallback = match good {
                Some(good) => prepare_fallback(&preparation, good).await,
                None => Fallback::None,
            };
            // Secrets were read meanwhile, perhaps after the access of others began.
            if let Some(refusal) = self.guard.refusal(&id.0) {
                return Err(DriverError::refused(Reason::PermissionDenied, refusal));
            }
            if !self.guard.is_applied(&id).map_err(|error| unwritable(&self.data, error))? {
                return Err(DriverError::refused(Reason::PermissionDenied, UNKNOWN_FOLDER));
            }
            self.kept_forwards.close(&id).await;
            self.set_desired(&id, Some(Desired { version, fallback }));
            Ok(())
        })
    }

    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>> {
        let id = (target.namespace.clone(), target.name.clone());
        let status = self.supervisors().get(&id).map(Supervisor::status);
        Box::pin(async move {
            let Some(mut status) = status else { return Ok(Observation::default()) };
            // A new supervisor has no status yet; the last one holds until then.
            let first = tokio::time::timeout(FIRST_STATUS_TIMEOUT, status.wait_for(Option::is_some)).await;
            first.ok().and_then(|status| status.ok()?.clone()).ok_or_else(|| {
                DriverError::transient(
                    Reason::RuntimeProvisioning,
                    "Waiting for the first status from the runtime.",
                )
            })
        })
    }

    fn remove<'a>(
        &'a self,
        target: &'a Target,
        inventory: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>> {
        Box::pin(async move {
            let id = (target.namespace.clone(), target.name.clone());
            if !render::is_whole(inventory) {
                return Ok(Removed::Gone);
            }
            let is_removed = self.supervisors().get(&id).is_some_and(Supervisor::is_removed);
            if is_removed || (!self.folder(&id).exists() && !self.supervisors().contains_key(&id)) {
                self.supervisors().remove(&id);
                self.guard.forget(&id);
                for other in self.ports.release(&id) {
                    self.notifier.notify(&other);
                }
                self.origins.forget(&id.0, &id.1).map_err(|error| unwritable(&self.data, error))?;
                return Ok(Removed::Gone);
            }
            self.kept_forwards.close(&id).await;
            self.set_desired(&id, None);
            Ok(Removed::Stopping("Stopping its programs.".to_owned()))
        })
    }

    fn logs(&self, namespace: &str, name: &str, query: LogQuery) -> BoxStream<'static, io::Result<LogLine>> {
        output::read(self.folder(&(namespace.to_owned(), name.to_owned())), query)
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        let changes = [self.notifier.subscribe(), self.origins.changes(), self.guard.changes()];
        stream::select_all(changes).boxed()
    }
}

/// Prepares the last good version. A failure, for example a deleted secret, disables only the rollback.
async fn prepare_fallback(preparation: &Preparation<'_>, good: WorkloadPlanSpec) -> Fallback {
    match preparation.prepare(&good).await {
        Ok(programs) => Fallback::Prepared(Arc::new(Version { plan: good, programs })),
        Err(error) => {
            let Target { namespace, name, .. } = preparation.target;
            tracing::warn!(
                namespace,
                workload = name,
                revision = good.revision,
                error = &error as &dyn Error,
                "the last good version cannot be prepared, so rollback is disabled"
            );
            Fallback::Unavailable(error.to_string())
        }
    }
}

fn root(data: &Path) -> PathBuf {
    data.join("processes")
}

/// Workloads with a folder on disk.
fn workload_folders(data: &Path) -> Vec<(NamespacedName, PathBuf)> {
    let folders = |folder: &Path| -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect()
    };
    let mut found = Vec::new();
    for (namespace, folder) in folders(&root(data)) {
        found.extend(folders(&folder).into_iter().map(|(name, path)| ((namespace.clone(), name), path)));
    }
    found.sort();
    found
}

fn unwritable(folder: &Path, error: io::Error) -> DriverError {
    DriverError::transient(
        Reason::PermissionDenied,
        format!(
            "The data folder `{}` cannot be written: {error}. Free disk space, or correct its permissions.",
            folder.display()
        ),
    )
    .with_source(error)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use orchestra_api::{
        plan::{ClaimOutput, Container, Segment},
        reference::SecretKeyRef,
    };

    use super::*;
    use crate::{WorkloadOrigin, WorkloadOrigins as _, secret::Read};

    /// Namespace without Secrets.
    struct NoSecrets;

    impl Secrets for NoSecrets {
        fn read<'a>(&'a self, _: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
            Box::pin(async { Ok(None) })
        }
    }

    #[test]
    fn a_last_good_version_whose_secret_is_gone_is_unavailable_with_that_reason() {
        let data = tempfile::tempdir().unwrap();
        let origins = OriginStore::open(data.path());
        let origin = WorkloadOrigin { folder: "/app".into(), ..WorkloadOrigin::default() };
        origins.record("default", "hello", origin).unwrap();
        let target = Target {
            namespace: "default".to_owned(),
            name: "hello".to_owned(),
            plan: WorkloadPlanSpec::default(),
        };
        let preparation =
            Preparation { data: data.path(), origins: &origins, target: &target, secrets: &NoSecrets };
        let output = ClaimOutput {
            claim: "db".to_owned(),
            output: "password".to_owned(),
            secret_key_ref: SecretKeyRef { name: "db-outputs".to_owned(), key: "password".to_owned() },
        };
        let variables = BTreeMap::from([("PASSWORD".to_owned(), vec![Segment::ClaimOutput(output)])]);
        let container = Container { variables, ..Container::default() };
        let good = WorkloadPlanSpec {
            containers: BTreeMap::from([("app".to_owned(), container)]),
            ..WorkloadPlanSpec::default()
        };
        let fallback = prepare_fallback(&preparation, good).now_or_never().unwrap();
        let Fallback::Unavailable(why) = fallback else { panic!("it is prepared without its secret") };
        assert_eq!(why, "The secret `db-outputs` has no key `password` yet.");
    }
}
