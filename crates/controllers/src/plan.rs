//! The plan controller: runs plans with the runtimes that there are, and says what came of it.
//!
//! It alone writes the status of plans and exposures whose class has a runtime of ours; other classes are left to
//! others. Everything that will be made is written down before it is made, and everything that is taken down is taken
//! down from what was written. Of a new plan nothing more needs to be written down: it tells itself what its runtime makes,
//! and the workload controller leaves it as it is until something was said of it (ADR 0015).

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use kube::ResourceExt;
use orchestra_api::{
    Placement, WorkloadExposure, WorkloadPlan,
    condition::Reason,
    exposure::{Exposure, WorkloadExposureStatus},
    finalizer,
    plan::{InventoryItem, Phase, WorkloadPlanStatus},
};
use orchestra_drivers::{DriverError, Observation, Removed, Runtime, Target};
use serde_json::json;

use crate::{
    deadline::in_time,
    key::Key,
    patience::Patience,
    secrets::NamespaceSecrets,
    work::{Failure, Next, Reconcile},
    world::World,
    write::Writer,
};

/// How soon something that is stopping is looked at again, should its runtime not tell.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The plan controller.
pub struct PlanController {
    world: World,
    writer: Writer,
    secrets: NamespaceSecrets,
    runtimes: BTreeMap<String, Arc<dyn Runtime>>,
    patience: Patience,
}

impl fmt::Debug for PlanController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanController").field("runtimes", &self.runtimes.keys()).finish_non_exhaustive()
    }
}

impl PlanController {
    /// A controller of this world with these runtimes.
    pub fn new(
        world: World,
        writer: Writer,
        secrets: NamespaceSecrets,
        runtimes: impl IntoIterator<Item = Arc<dyn Runtime>>,
    ) -> Self {
        let runtimes = runtimes.into_iter().map(|runtime| (runtime.class().to_owned(), runtime)).collect();
        Self { world, writer, secrets, runtimes, patience: Patience::default() }
    }

    /// What was made for a plan, and where; or may have been made, where nothing was said of it yet. What that is, only its
    /// runtime knows: where that is not at hand, the list is empty.
    fn made(&self, plan: &WorkloadPlan) -> Option<(Placement, Vec<InventoryItem>)> {
        made(plan, || {
            let runtime = self.runtimes.get(&plan.spec.runtime_class);
            runtime.map(|runtime| runtime.inventory(&target(plan))).unwrap_or_default()
        })
    }

    /// Takes down what was written down; `None` if nothing is left.
    async fn take_down(&self, plan: &WorkloadPlan) -> Result<Option<(String, Option<Failure>)>, Failure> {
        let Some((place, inventory)) = self.made(plan) else { return Ok(None) };
        let Some(runtime) = self.runtimes.get(&place.runtime_class) else {
            // Another's work: its own controller takes it down.
            let message = format!("Waiting for the runtime `{}` to stop what it runs.", place.runtime_class);
            return Ok(Some((message, None)));
        };
        let mut target = target(plan);
        target.plan.runtime_class.clone_from(&place.runtime_class);
        target.plan.backend_id.clone_from(&place.backend_id);
        self.withdraw(plan).await?;
        Ok(match in_time(runtime.remove(&target, &inventory)).await {
            Ok(Removed::Gone) => None,
            Ok(Removed::Stopping(message)) => Some((message, None)),
            Err(DriverError::Transient { message, .. } | DriverError::Refused { message, .. }) => {
                Some((message.clone(), Some(Failure::Transient(message))))
            }
        })
    }

    async fn delete(&self, plan: &WorkloadPlan) -> Result<Next, Failure> {
        // What a runtime that is not at hand may have made, it has to say itself.
        let is_unknown = plan.status.is_none() && !self.runtimes.contains_key(&plan.spec.runtime_class);
        if is_unknown || !is_held(plan) {
            return Ok(Next::AwaitChange);
        }
        let Some((message, failure)) = self.take_down(plan).await? else {
            self.writer.take_off(&self.world.plans, plan, finalizer::RUNTIME).await?;
            return Ok(Next::AwaitChange);
        };
        let before = noted(plan, self.made(plan));
        self.say(plan, WorkloadPlanStatus { message: Some(message), ..before }).await?;
        failure.map_or(Ok(Next::After(LOOK_AGAIN)), Err)
    }

    async fn run(&self, plan: &WorkloadPlan, runtime: &dyn Runtime) -> Result<Next, Failure> {
        let revision = plan.spec.revision.clone();
        let target = target(plan);
        let wanted = runtime.inventory(&target);
        let here = plan.spec.placement();
        let made = made(plan, || wanted.clone());
        let is_elsewhere = made.as_ref().is_some_and(|(place, _)| *place != here);
        let before = noted(plan, made);
        let said = |phase, reason, message: Option<String>, inventory| WorkloadPlanStatus {
            phase,
            reason: Some(reason),
            message,
            observed_revision: Some(revision.clone()),
            placement: Some(here.clone()),
            inventory,
            ..WorkloadPlanStatus::default()
        };
        // To stop, nothing is needed.
        let lacks = if plan.spec.lifecycle.suspend { Vec::new() } else { runtime.lacks(&plan.spec) };
        if !lacks.is_empty() {
            // What runs is left alone: it is the last revision that this runtime could run.
            let message =
                format!("The place `{}` cannot run this: {}", plan.spec.backend_id, lacks.join(" "));
            let status =
                said(Phase::Failed, Reason::RuntimeSelecting, Some(message), before.inventory.clone());
            self.say(plan, WorkloadPlanStatus { placement: before.placement, ..status }).await?;
            return Ok(Next::AwaitChange);
        }
        if !is_held(plan) {
            self.writer.hold(&self.world.plans, plan, finalizer::RUNTIME, &json!({})).await?;
        }
        if is_elsewhere {
            if let Some((message, failure)) = self.take_down(plan).await? {
                let status = WorkloadPlanStatus {
                    phase: Phase::Provisioning,
                    reason: Some(Reason::RuntimeProvisioning),
                    message: Some(message),
                    observed_revision: Some(revision),
                    ..before
                };
                self.say(plan, status).await?;
                return failure.map_or(Ok(Next::After(LOOK_AGAIN)), Err);
            }
            let message = Some("It is moving to another place.".to_owned());
            self.say(plan, said(Phase::Provisioning, Reason::RuntimeProvisioning, message, Vec::new()))
                .await?;
            return Err(Failure::Conflict("moved; now it is started at the new place".to_owned()));
        }
        let mut written = plan.status.clone();
        let noted = union(&before.inventory, &wanted);
        let is_noted = noted == before.inventory && before.placement.as_ref() == Some(&here);
        if !is_noted {
            let status = said(Phase::Provisioning, Reason::RuntimeProvisioning, None, noted.clone());
            // Nothing is made that is not written down: the plan may be gone, although it was held.
            if !self.writer.status(&self.world.plans, plan, &status).await? {
                return Err(Failure::Conflict("what will be made could not be written down".to_owned()));
            }
            written = Some(status);
        }
        let secrets = self.secrets.of(&target.namespace);
        let observed = match in_time(runtime.apply(&target, &secrets)).await {
            Ok(()) => in_time(runtime.observe(&target)).await,
            Err(error) => Err(error),
        };
        let mut next = Next::AwaitChange;
        let (status, exposures, failure) = match observed {
            Ok(observation) => {
                let exposures = observation.exposures.clone();
                // What only an older revision needed goes once this one is ready; until it is gone it stays noted.
                let settled = observation.phase == Phase::Ready
                    && observation.revision.as_ref() == Some(&plan.spec.revision);
                let stale: Vec<_> = noted.iter().filter(|item| !wanted.contains(item)).cloned().collect();
                let is_clean = stale.is_empty()
                    || settled && matches!(in_time(runtime.remove(&target, &stale)).await, Ok(Removed::Gone));
                next = if settled && !is_clean { Next::After(LOOK_AGAIN) } else { Next::AwaitChange };
                let inventory = if settled && is_clean { wanted } else { noted };
                (found(observation, here, inventory), Some(exposures), None)
            }
            Err(DriverError::Refused { reason, message }) => {
                (said(Phase::Failed, reason, Some(message), noted), None, None)
            }
            Err(DriverError::Transient { reason, message }) => {
                let failure = Failure::Transient(message.clone());
                (said(Phase::Provisioning, reason, Some(message), noted), None, Some(failure))
            }
        };
        // Who sees that it is ready, also sees where.
        if let Some(exposures) = exposures {
            self.publish(plan, exposures, status.phase).await?;
        }
        let is_only_begun = written.is_none() && failure.is_none() && is_under_way(Some(&status));
        if let Some(rest) = self.patience.rest(&Key::of(plan), is_only_begun) {
            return Ok(Next::After(rest));
        }
        if written.as_ref() != Some(&status) {
            self.writer.status(&self.world.plans, plan, &status).await?;
        }
        failure.map_or(Ok(next), Err)
    }

    /// Says how it fares, unless just that was said before.
    async fn say(&self, plan: &WorkloadPlan, status: WorkloadPlanStatus) -> Result<(), Failure> {
        if plan.status.as_ref() != Some(&status) {
            self.writer.status(&self.world.plans, plan, &status).await?;
        }
        Ok(())
    }

    /// Publishes addresses on the exposure of the same Workload. What is only just being started has none, and none to
    /// withdraw.
    async fn publish(
        &self,
        plan: &WorkloadPlan,
        exposures: Vec<Exposure>,
        phase: Phase,
    ) -> Result<(), Failure> {
        let is_beginning = exposures.is_empty() && matches!(phase, Phase::Pending | Phase::Provisioning);
        let exposure =
            self.exposure(plan).filter(|known| known.spec.runtime_class == plan.spec.runtime_class);
        match exposure.filter(|known| known.status.is_some() || !is_beginning) {
            Some(exposure) => self.write_addresses(&exposure, exposures).await,
            None => Ok(()),
        }
    }

    /// Withdraws what was published of a place that is being left.
    async fn withdraw(&self, plan: &WorkloadPlan) -> Result<(), Failure> {
        match self.exposure(plan).filter(|known| known.status.is_some()) {
            Some(exposure) => self.write_addresses(&exposure, Vec::new()).await,
            None => Ok(()),
        }
    }

    /// The exposure of the same Workload.
    fn exposure(&self, plan: &WorkloadPlan) -> Option<WorkloadExposure> {
        let known = self.world.exposures.get(&plan.namespace().unwrap_or_default(), &plan.name_any());
        known.filter(|known| known.spec.workload_ref == plan.spec.workload_ref)
    }

    async fn write_addresses(
        &self,
        exposure: &WorkloadExposure,
        exposures: Vec<Exposure>,
    ) -> Result<(), Failure> {
        let status = WorkloadExposureStatus { exposures, conditions: Vec::new() };
        if exposure.status.as_ref() == Some(&status) {
            return Ok(());
        }
        self.writer.status(&self.world.exposures, exposure, &status).await?;
        Ok(())
    }
}

impl Reconcile for PlanController {
    type Key = Key;

    const NAME: &'static str = "plan";

    fn namespace(key: &Key) -> &str {
        &key.namespace
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(plan) = self.world.plans.get(&key.namespace, &key.name) else {
            self.patience.rest(key, false);
            return Ok(Next::AwaitChange);
        };
        if plan.metadata.deletion_timestamp.is_some() {
            return self.delete(&plan).await;
        }
        match self.runtimes.get(&plan.spec.runtime_class) {
            Some(runtime) => {
                let runtime = Arc::clone(runtime);
                self.run(&plan, &*runtime).await
            }
            None => self.hand_over(&plan).await,
        }
    }
}

impl PlanController {
    /// The plan is another runtime's now: what we made for it goes, and then it is theirs.
    async fn hand_over(&self, plan: &WorkloadPlan) -> Result<Next, Failure> {
        let made = self.made(plan);
        let made_here =
            made.as_ref().is_some_and(|(place, _)| self.runtimes.contains_key(&place.runtime_class));
        // What a runtime of ours has made that is not at hand now, is held until the runtime is back.
        let made_by_absent = !made_here && made.is_some();
        if made_by_absent || (!made_here && !is_held(plan)) {
            return Ok(Next::AwaitChange);
        }
        if made_here {
            let before = noted(plan, made);
            if let Some((message, failure)) = self.take_down(plan).await? {
                self.say(plan, WorkloadPlanStatus { message: Some(message), ..before }).await?;
                return failure.map_or(Ok(Next::After(LOOK_AGAIN)), Err);
            }
            let empty = WorkloadPlanStatus { inventory: Vec::new(), placement: None, ..before };
            self.say(plan, empty).await?;
        }
        self.writer.take_off(&self.world.plans, plan, finalizer::RUNTIME).await?;
        Ok(Next::AwaitChange)
    }
}

/// Whether a runtime of ours holds a plan, as it does from before it makes anything until everything is gone.
pub(crate) fn is_held(plan: &WorkloadPlan) -> bool {
    plan.finalizers().iter().any(|holder| holder == finalizer::RUNTIME)
}

/// Whether a plan is being carried out, and nothing is in its way.
pub(crate) fn is_under_way(status: Option<&WorkloadPlanStatus>) -> bool {
    status.is_none_or(|status| {
        matches!(status.phase, Phase::Pending | Phase::Provisioning)
            && status.reason.is_none_or(|reason| reason == Reason::RuntimeProvisioning)
    })
}

/// What was made for a plan, and where; or may have been made, where nothing was said of it yet.
fn made(
    plan: &WorkloadPlan,
    may_be: impl FnOnce() -> Vec<InventoryItem>,
) -> Option<(Placement, Vec<InventoryItem>)> {
    let Some(status) = &plan.status else {
        return is_held(plan).then(|| (plan.spec.placement(), may_be()));
    };
    let place = status.placement.clone().filter(|_| !status.inventory.is_empty())?;
    Some((place, status.inventory.clone()))
}

/// The status of a plan. One of which nothing was said yet has what may have been made, so that it is noted with whatever is
/// said first.
fn noted(plan: &WorkloadPlan, made: Option<(Placement, Vec<InventoryItem>)>) -> WorkloadPlanStatus {
    plan.status.clone().unwrap_or_else(|| {
        let (placement, inventory) = made.unzip();
        WorkloadPlanStatus {
            placement,
            inventory: inventory.unwrap_or_default(),
            ..WorkloadPlanStatus::default()
        }
    })
}

fn target(plan: &WorkloadPlan) -> Target {
    Target { namespace: plan.namespace().unwrap_or_default(), name: plan.name_any(), plan: plan.spec.clone() }
}

fn union(noted: &[InventoryItem], wanted: &[InventoryItem]) -> Vec<InventoryItem> {
    let mut all: Vec<_> = noted.iter().chain(wanted).cloned().collect();
    all.sort();
    all.dedup();
    all
}

fn found(observation: Observation, here: Placement, inventory: Vec<InventoryItem>) -> WorkloadPlanStatus {
    let Observation { revision, phase, reason, message, exposures: _, placed_on } = observation;
    let mut inventory = inventory;
    inventory.sort();
    WorkloadPlanStatus {
        phase,
        reason,
        message,
        observed_revision: revision,
        placement: Some(here),
        conditions: Vec::new(),
        inventory,
        placed_on,
    }
}
