//! A runtime that runs nothing, as told.

use std::collections::BTreeMap;

use futures_util::{future::BoxFuture, stream::BoxStream};
use orchestra_api::{
    condition::Reason,
    exposure::{Exposure, Scope},
    plan::{ExposureTarget, InventoryItem, Phase, Segment, WorkloadPlanSpec},
};
use orchestra_drivers::{DriverError, Observation, Removed, Runtime, Secrets, Target};

use super::{Outside, Place};

/// What a runtime does with the plans of one Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunScript {
    /// It runs at once.
    #[default]
    Run,
    /// It goes on starting.
    Start,
    /// It runs badly.
    Degrade(Reason, String),
    /// It is refused.
    Refuse(Reason, String),
    /// It cannot be done now.
    Fail(Reason, String),
    /// The runtime lacks something for it.
    Lack(String),
    /// It runs, and does not stop.
    Cling,
}

/// What runs of a Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The uid of the Workload.
    pub uid: String,
    /// The revision.
    pub revision: String,
    /// The backend.
    pub backend: String,
    /// The variables of all containers, as `container/name`, put together with their secrets.
    pub variables: BTreeMap<String, String>,
    /// How often it was applied with a new revision.
    pub rollouts: usize,
}

/// A runtime that runs nothing, as told. Clones are the same runtime.
#[derive(Clone, Debug)]
pub struct ScriptedRuntime {
    class: String,
    outside: Outside<State>,
}

#[derive(Debug, Default)]
struct State {
    scripts: BTreeMap<Place, RunScript>,
    running: BTreeMap<Place, Running>,
}

impl ScriptedRuntime {
    /// A runtime of a class.
    pub fn new(class: &str) -> Self {
        Self { class: class.to_owned(), outside: Outside::default() }
    }

    /// Tells what is done with a Workload from now on.
    pub fn script(&self, namespace: &str, name: &str, script: RunScript) {
        let place = (namespace.to_owned(), name.to_owned());
        self.outside.lock().scripts.insert(place.clone(), script);
        self.outside.tell(place);
    }

    /// What runs of a Workload.
    pub fn running(&self, namespace: &str, name: &str) -> Option<Running> {
        self.outside.lock().running.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// Everything that runs.
    pub fn all(&self) -> BTreeMap<Place, Running> {
        self.outside.lock().running.clone()
    }

    fn script_of(&self, target: &Target) -> RunScript {
        let place = (target.namespace.clone(), target.name.clone());
        self.outside.lock().scripts.get(&place).cloned().unwrap_or_default()
    }

    async fn compose(
        target: &Target,
        secrets: &dyn Secrets,
    ) -> Result<BTreeMap<String, String>, DriverError> {
        let mut variables = BTreeMap::new();
        for (container, given) in &target.plan.containers {
            for (name, text) in &given.variables {
                let mut value = String::new();
                for segment in text {
                    match segment {
                        Segment::Literal(text) => value.push_str(text),
                        Segment::ClaimOutput(output) => {
                            let Some(read) = secrets.read(&output.secret_key_ref).await? else {
                                let message = format!("The secret of `{}` is not there.", output.claim);
                                return Err(DriverError::Transient {
                                    reason: Reason::ProjectionError,
                                    message,
                                });
                            };
                            value.push_str(&String::from_utf8_lossy(read.value.expose()));
                        }
                    }
                }
                variables.insert(format!("{container}/{name}"), value);
            }
        }
        Ok(variables)
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
        vec![InventoryItem { kind: "Thing".to_owned(), name: target.name.clone(), id: None }]
    }

    fn apply<'a>(
        &'a self,
        target: &'a Target,
        secrets: &'a dyn Secrets,
    ) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(async move {
            match self.script_of(target) {
                RunScript::Refuse(reason, message) => return Err(DriverError::Refused { reason, message }),
                RunScript::Fail(reason, message) => return Err(DriverError::Transient { reason, message }),
                _ => {}
            }
            let variables = Self::compose(target, secrets).await?;
            let place = (target.namespace.clone(), target.name.clone());
            let mut state = self.outside.lock();
            let before = state.running.get(&place);
            let unchanged = before.is_some_and(|before| before.revision == target.plan.revision);
            let rollouts = before.map_or(0, |before| before.rollouts) + usize::from(!unchanged);
            let running = Running {
                uid: target.plan.workload_ref.uid.clone(),
                revision: target.plan.revision.clone(),
                backend: target.plan.backend_id.clone(),
                variables,
                rollouts,
            };
            state.running.insert(place, running);
            Ok(())
        })
    }

    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>> {
        let place = (target.namespace.clone(), target.name.clone());
        let running = self.outside.lock().running.get(&place).cloned();
        let (phase, reason, message) = match (&running, self.script_of(target)) {
            (None, _) => (Phase::Pending, None, None),
            (_, RunScript::Start) => (Phase::Provisioning, None, None),
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
        let exposures = if phase == Phase::Ready { exposures.collect() } else { Vec::new() };
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
        _: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>> {
        let clings = self.script_of(target) == RunScript::Cling;
        let place = (target.namespace.clone(), target.name.clone());
        let mut state = self.outside.lock();
        let is_ours =
            state.running.get(&place).is_some_and(|running| running.uid == target.plan.workload_ref.uid);
        let removed = if is_ours && clings {
            Removed::Stopping("It is still stopping.".to_owned())
        } else {
            if is_ours {
                state.running.remove(&place);
            }
            Removed::Gone
        };
        Box::pin(async move { Ok(removed) })
    }

    fn changes(&self) -> BoxStream<'static, Place> {
        self.outside.changes()
    }
}
