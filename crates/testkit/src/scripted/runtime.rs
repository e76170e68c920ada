//! Scripted runtime.

use std::{collections::BTreeMap, io};

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt as _},
};
use orchestra_api::{
    condition::Reason,
    exposure::{Exposure, Scope},
    plan::{ExposureTarget, FileContent, InventoryItem, Phase, Segment, WorkloadPlanSpec},
};
use orchestra_drivers::{DriverError, LogLine, LogQuery, Observation, Removed, Runtime, Secrets, Target};

use super::{NamespacedName, Outside};

/// Inventory kind of a whole Workload.
const INVENTORY_KIND: &str = "Thing";

/// Behaviour of the runtime for one Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunScript {
    /// Is ready at once.
    #[default]
    Run,
    /// Stays in progress.
    Start,
    /// Stays in progress with its addresses published, like a rollout with one ready replica.
    StartReachable,
    /// Is degraded.
    Degrade(Reason, String),
    /// Rejects the plan.
    Refuse(Reason, String),
    /// Fails with a transient error.
    Fail(Reason, String),
    /// Lacks a capability that the plan needs.
    Lack(String),
    /// Is ready, and never finishes stopping.
    StopForever,
    /// Is ready, and needs so many calls to remove parts of an older revision.
    Linger(usize),
}

/// Running Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// UID of the Workload.
    pub uid: String,
    /// Revision.
    pub revision: String,
    /// Backend.
    pub backend: String,
    /// Variables of all containers, as `container/name`, with resolved secrets.
    pub variables: BTreeMap<String, String>,
    /// Contents of all files, as `container:path`, with resolved secrets.
    pub files: BTreeMap<String, String>,
    /// Sources of all volumes, as `container:path`, with resolved secrets.
    pub volumes: BTreeMap<String, String>,
    /// Number of new revisions.
    pub rollouts: usize,
}

/// Scripted runtime. Clones share the state.
#[derive(Clone, Debug)]
pub struct ScriptedRuntime {
    class: String,
    outside: Outside<State>,
}

#[derive(Debug, Default)]
struct State {
    scripts: BTreeMap<NamespacedName, RunScript>,
    /// Running Workloads by key and backend: one that runs on two backends has two entries.
    running: BTreeMap<(NamespacedName, String), Running>,
    /// Number of rollouts of each Workload, including stopped ones.
    rollouts: BTreeMap<NamespacedName, usize>,
    /// Log lines.
    lines: BTreeMap<NamespacedName, Vec<LogLine>>,
}

impl ScriptedRuntime {
    /// Runtime of a class.
    pub fn new(class: &str) -> Self {
        Self { class: class.to_owned(), outside: Outside::default() }
    }

    /// Sets the behaviour for a Workload.
    pub fn script(&self, namespace: &str, name: &str, script: RunScript) {
        let key = (namespace.to_owned(), name.to_owned());
        self.outside.lock().scripts.insert(key.clone(), script);
        self.outside.notify(key);
    }

    /// Running state of a Workload.
    pub fn running(&self, namespace: &str, name: &str) -> Option<Running> {
        self.all().remove(&(namespace.to_owned(), name.to_owned()))
    }

    /// All running Workloads.
    pub fn all(&self) -> BTreeMap<NamespacedName, Running> {
        self.everywhere().into_iter().map(|((key, _), running)| (key, running)).collect()
    }

    /// All running Workloads, by key and backend.
    pub fn everywhere(&self) -> BTreeMap<(NamespacedName, String), Running> {
        self.outside.lock().running.clone()
    }

    /// Number of rollouts of each Workload, including stopped ones.
    pub fn rollouts(&self) -> BTreeMap<NamespacedName, usize> {
        self.outside.lock().rollouts.clone()
    }

    /// Appends a log line of a Workload.
    pub fn write(&self, namespace: &str, name: &str, line: LogLine) {
        let key = (namespace.to_owned(), name.to_owned());
        self.outside.lock().lines.entry(key).or_default().push(line);
    }

    fn script_of(&self, target: &Target) -> RunScript {
        let key = (target.namespace.clone(), target.name.clone());
        self.outside.lock().scripts.get(&key).cloned().unwrap_or_default()
    }

    fn remove_parts(&self, target: &Target) -> Removed {
        let key = (target.namespace.clone(), target.name.clone());
        match self.outside.lock().scripts.get_mut(&key) {
            Some(RunScript::Linger(calls)) if *calls > 0 => {
                *calls -= 1;
                Removed::Stopping("It is still stopping.".to_owned())
            }
            _ => Removed::Gone,
        }
    }

    async fn compose(text: &[Segment], secrets: &dyn Secrets) -> Result<String, DriverError> {
        let mut value = String::new();
        for segment in text {
            match segment {
                Segment::Literal(text) => value.push_str(text),
                Segment::ClaimOutput(output) => {
                    let Some(read) = secrets.read(&output.secret_key_ref).await? else {
                        let message = format!("The secret of `{}` is not there.", output.claim);
                        return Err(DriverError::transient(Reason::ProjectionError, message));
                    };
                    value.push_str(&String::from_utf8_lossy(read.value.expose()));
                }
            }
        }
        Ok(value)
    }

    /// Running state of a plan, with resolved secrets.
    async fn start(target: &Target, secrets: &dyn Secrets) -> Result<Running, DriverError> {
        let plan = &target.plan;
        let mut running = Running {
            uid: plan.workload_ref.uid.clone(),
            revision: plan.revision.clone(),
            backend: plan.backend_id.clone(),
            variables: BTreeMap::new(),
            files: BTreeMap::new(),
            volumes: BTreeMap::new(),
            rollouts: 1,
        };
        for (container, given) in &plan.containers {
            for (name, text) in &given.variables {
                let value = Self::compose(text, secrets).await?;
                running.variables.insert(format!("{container}/{name}"), value);
            }
            for (path, file) in &given.files {
                let content = match &file.content {
                    FileContent::Text(text) => Self::compose(text, secrets).await?,
                    FileContent::Binary(bytes) => bytes.clone(),
                };
                running.files.insert(format!("{container}:{path}"), content);
            }
            for (path, volume) in &given.volumes {
                let source = Self::compose(&volume.source, secrets).await?;
                running.volumes.insert(format!("{container}:{path}"), source);
            }
        }
        Ok(running)
    }
}

impl Runtime for ScriptedRuntime {
    fn class(&self) -> &str {
        &self.class
    }

    fn lacks(&self, plan: &WorkloadPlanSpec) -> Vec<String> {
        let scripts = &self.outside.lock().scripts;
        let script = scripts.iter().find(|((_, name), _)| *name == plan.workload_ref.name);
        match script {
            Some((_, RunScript::Lack(what))) => vec![what.clone()],
            _ => Vec::new(),
        }
    }

    fn inventory(&self, target: &Target) -> Vec<InventoryItem> {
        let item =
            |kind: &str, name: &str| InventoryItem { kind: kind.to_owned(), name: name.to_owned(), id: None };
        let parts = target.plan.containers.keys().map(|container| item("Part", container));
        parts.chain([item(INVENTORY_KIND, &target.name)]).collect()
    }

    fn apply<'a>(
        &'a self,
        target: &'a Target,
        secrets: &'a dyn Secrets,
    ) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(async move {
            match self.script_of(target) {
                RunScript::Refuse(reason, message) => return Err(DriverError::refused(reason, message)),
                RunScript::Fail(reason, message) => return Err(DriverError::transient(reason, message)),
                _ => {}
            }
            let mut running = Self::start(target, secrets).await?;
            let key = (target.namespace.clone(), target.name.clone());
            let placed = (key.clone(), running.backend.clone());
            let mut state = self.outside.lock();
            let before = state.running.get(&placed).map(|before| (before.revision.clone(), before.rollouts));
            let (revision, rollouts) = before.unwrap_or_default();
            let is_new = revision != running.revision;
            running.rollouts = rollouts + usize::from(is_new);
            state.running.insert(placed, running);
            *state.rollouts.entry(key).or_default() += usize::from(is_new);
            Ok(())
        })
    }

    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>> {
        let placed = ((target.namespace.clone(), target.name.clone()), target.plan.backend_id.clone());
        let running = self.outside.lock().running.get(&placed).cloned();
        let (phase, reason, message) = match (&running, self.script_of(target)) {
            (None, _) => (Phase::Pending, None, None),
            (_, RunScript::Start | RunScript::StartReachable) => (Phase::Provisioning, None, None),
            (_, RunScript::Degrade(reason, message)) => (Phase::Degraded, Some(reason), Some(message)),
            _ => (Phase::Ready, None, None),
        };
        let exposures = target.plan.exposures.iter().map(|exposure| {
            let host = match &exposure.target {
                ExposureTarget::Port(_) => target.name.clone(),
                ExposureTarget::ClaimKey(key) => format!("{key}.{}", target.name),
            };
            Exposure {
                url: format!("http://{host}.{}.example.test", target.namespace),
                priority: exposure.priority,
                scope: Some(Scope::Public),
                scheme_hint: None,
                reachable: None,
            }
        });
        let is_reachable = phase == Phase::Ready || self.script_of(target) == RunScript::StartReachable;
        let exposures = if is_reachable { exposures.collect() } else { Vec::new() };
        let observation = Observation {
            revision: running.map(|running| running.revision),
            phase,
            reason,
            message,
            exposures,
            placed_on: None,
        };
        Box::pin(async move { Ok(observation) })
    }

    fn remove<'a>(
        &'a self,
        target: &'a Target,
        inventory: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>> {
        if inventory.iter().all(|item| item.kind != INVENTORY_KIND) {
            let removed = self.remove_parts(target);
            return Box::pin(async move { Ok(removed) });
        }
        let stops_forever = self.script_of(target) == RunScript::StopForever;
        let placed = ((target.namespace.clone(), target.name.clone()), target.plan.backend_id.clone());
        let mut state = self.outside.lock();
        let is_ours =
            state.running.get(&placed).is_some_and(|running| running.uid == target.plan.workload_ref.uid);
        let removed = if is_ours && stops_forever {
            Removed::Stopping("It is still stopping.".to_owned())
        } else {
            if is_ours {
                state.running.remove(&placed);
            }
            Removed::Gone
        };
        Box::pin(async move { Ok(removed) })
    }

    fn logs(&self, namespace: &str, name: &str, query: LogQuery) -> BoxStream<'static, io::Result<LogLine>> {
        let key = (namespace.to_owned(), name.to_owned());
        let mut lines = self.outside.lock().lines.get(&key).cloned().unwrap_or_default();
        lines.retain(|line| {
            query.container.as_ref().is_none_or(|container| line.container == *container)
                && query.since.is_none_or(|since| line.time >= since)
        });
        let skipped = query.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        stream::iter(lines.split_off(skipped).into_iter().map(Ok)).boxed()
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        self.outside.changes()
    }
}
