//! Decision about one plan: what its runtime does next, what is recorded before and what is reported after.
//!
//! ```text
//! decide ── record ── Work::Apply ─── report_applied ─┐
//!       ├─ withdraw ─ Work::Remove ── report_removed ─┼─ exposure, status, finalizer, requeue
//!       └─ Work::Nothing ─────────────────────────────┘
//! ```
//!
//! Everything that a runtime creates is recorded before it is created, and removed from that record. The first record is an annotation
//! written together with the finalizer; from the first status on, it is the inventory of the status (ADR 0017).

mod record;
mod report;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, time::Duration};

use orchestra_api::{
    WorkloadExposure, WorkloadPlan,
    condition::Reason,
    exposure::{Exposure, WorkloadExposureStatus},
    finalizer,
    plan::{InventoryItem, Phase, WorkloadPlanSpec, WorkloadPlanStatus},
};

pub use self::{
    record::Record,
    report::{RunOutcome, is_observed_after, prunable, report_applied, report_removed},
};
use crate::{
    decision::{Deferral, Requeue},
    driver::Target,
    job,
};

/// Interval of checks on something that is stopping, in case its runtime reports no change.
pub(crate) const STOPPING_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Everything a decision about a plan depends on.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The plan.
    pub plan: WorkloadPlan,
    /// Exposure with the plan's name, if any.
    pub exposure: Option<WorkloadExposure>,
    /// Classes of the built-in runtimes.
    pub runtimes: BTreeSet<String>,
    /// Answer of the plan's own runtime about its spec; absent if that class is not built in.
    pub capabilities: Option<Capabilities>,
    /// Time for which the first status of this plan has been deferred.
    pub deferred_for: Duration,
}

/// Answer of a runtime about a plan, without any I/O.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Unsupported parts of the plan, each naming the field.
    pub lacks: Vec<String>,
    /// Reason why nothing new of the plan's namespace may run, in a sentence.
    pub refusal: Option<String>,
    /// Everything the runtime makes for the plan.
    pub inventory: Vec<InventoryItem>,
}

/// Decision about one plan. The controller executes its fields in this order.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Decision {
    /// Finalizer to add before anything is created, with what will be created.
    pub add_finalizer: Option<AddFinalizer>,
    /// Status of the exposure to write first: addresses of a placement that is being left are withdrawn.
    pub exposure: Option<WorkloadExposureStatus>,
    /// Status of the plan to write before the work.
    pub status: Option<WorkloadPlanStatus>,
    /// Work of the runtime.
    pub work: Work,
}

/// Finalizer to add to a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddFinalizer {
    /// Record of what will be created. Absent if the status already has an inventory.
    pub record: Option<Record>,
}

/// Work of a runtime.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Run the plan and observe it, then [`report_applied`].
    Apply(Target),
    /// Remove what is listed, then [`report_removed`].
    Remove(Target, Vec<InventoryItem>),
    /// Nothing.
    Nothing(Report),
}

/// Writes after the work.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Report {
    /// Status of the exposure, if it changes. It comes first: a plan that is ready has its addresses.
    pub exposure: Option<WorkloadExposureStatus>,
    /// Status of the plan, if it changes.
    pub status: Option<WorkloadPlanStatus>,
    /// True if the finalizer is removed.
    pub remove_finalizer: bool,
    /// When the plan is reconciled again.
    pub requeue: Requeue,
    /// Reason why the status is not written until then: most plans are ready within a moment, which saves a write.
    pub deferred: Option<Deferral>,
}

/// Decides about one plan.
pub fn decide(inputs: &Inputs) -> Decision {
    if inputs.plan.metadata.deletion_timestamp.is_some() {
        return delete(inputs);
    }
    match &inputs.capabilities {
        Some(capabilities) => run(inputs, capabilities),
        None => leave_to_external_runtime(inputs),
    }
}

/// When a plan is reconciled again after its report was written. An exposure that was created during the reconcile has no
/// addresses yet.
pub fn requeue(inputs: &Inputs, requeue: Requeue, has_exposure: bool) -> Requeue {
    match requeue {
        Requeue::OnChange | Requeue::After(_) if has_exposure && inputs.exposure.is_none() => {
            Requeue::After(Duration::ZERO)
        }
        requeue => requeue,
    }
}

/// True from before a built-in runtime makes anything until everything is gone.
pub fn has_finalizer(plan: &WorkloadPlan) -> bool {
    finalizer::is_on(&plan.metadata, finalizer::RUNTIME)
}

/// True if this revision is the observed one, and ready.
pub(crate) fn is_ready_at(phase: Phase, observed: Option<&str>, revision: &str) -> bool {
    phase == Phase::Ready && observed == Some(revision)
}

/// True if the current revision of a plan is ready.
pub(crate) fn is_ready(plan: &WorkloadPlan) -> bool {
    let is_ready = |status: &WorkloadPlanStatus| {
        is_ready_at(status.phase, status.observed_revision.as_deref(), &plan.spec.revision)
    };
    plan.status.as_ref().is_some_and(is_ready)
}

/// True if a plan is being rolled out without an obstacle.
pub fn is_in_progress(status: Option<&WorkloadPlanStatus>) -> bool {
    status.is_none_or(|status| {
        matches!(status.phase, Phase::Pending | Phase::Provisioning)
            && status.reason.is_none_or(|reason| reason == Reason::RuntimeProvisioning)
    })
}

fn delete(inputs: &Inputs) -> Decision {
    if !has_finalizer(&inputs.plan) {
        return nothing(Report::default());
    }
    match applied(inputs) {
        Applied::Recorded(record) => remove(inputs, record),
        Applied::Nothing => nothing(Report { remove_finalizer: true, ..Report::default() }),
        Applied::Unknown => nothing(Report::default()),
    }
}

/// Objects that a built-in runtime created for a plan, or may have created.
enum Applied {
    Nothing,
    Recorded(Record),
    /// Only a runtime that this binary lacks knows.
    Unknown,
}

/// Objects that were created for a plan. Without a readable record, a plan with the finalizer and without a status may have been
/// started: everything that its runtime creates counts.
fn applied(inputs: &Inputs) -> Applied {
    let plan = &inputs.plan;
    match (Record::of(plan), &inputs.capabilities) {
        (Some(record), _) => Applied::Recorded(record),
        (None, _) if plan.status.is_some() || !has_finalizer(plan) => Applied::Nothing,
        (None, Some(capabilities)) => Applied::Recorded(Record {
            placement: plan.spec.placement(),
            inventory: capabilities.inventory.clone(),
        }),
        (None, None) => Applied::Unknown,
    }
}

/// Finalizer to add if it is missing, with the record that the status does not have yet.
fn add_finalizer(plan: &WorkloadPlan, record: Record) -> Option<AddFinalizer> {
    (!has_finalizer(plan)).then(|| AddFinalizer { record: plan.status.is_none().then_some(record) })
}

/// The plan belongs to a runtime that is not built in: what ours created is removed, then the finalizer.
fn leave_to_external_runtime(inputs: &Inputs) -> Decision {
    match applied(inputs) {
        Applied::Recorded(record) if inputs.runtimes.contains(&record.placement.runtime_class) => {
            Decision { add_finalizer: add_finalizer(&inputs.plan, record.clone()), ..remove(inputs, record) }
        }
        // A built-in runtime that this binary lacks created it: the plan is held until that runtime is back.
        Applied::Recorded(_) | Applied::Unknown => nothing(Report::default()),
        Applied::Nothing => {
            nothing(Report { remove_finalizer: has_finalizer(&inputs.plan), ..Report::default() })
        }
    }
}

fn run(inputs: &Inputs, capabilities: &Capabilities) -> Decision {
    let plan = &inputs.plan;
    let placement = plan.spec.placement();
    let current = record::current_status(plan);
    // A suspended plan only stops, which every runtime can.
    if let Some((reason, message)) =
        refusal(&plan.spec, capabilities).filter(|_| !plan.spec.lifecycle.suspend)
    {
        // The last revision that the runtime could run stays.
        let refused = status(plan, Phase::Failed, reason, Some(message), current.inventory);
        let refused = WorkloadPlanStatus { placement: current.placement, ..refused };
        let report = Report { status: changed(plan, refused), ..Report::default() };
        return Decision {
            add_finalizer: Record::of(plan).and_then(|record| add_finalizer(plan, record)),
            ..nothing(report)
        };
    }
    if let Some(record) = Record::of(plan).filter(|record| record.placement != placement) {
        return Decision { add_finalizer: add_finalizer(plan, record.clone()), ..remove(inputs, record) };
    }
    let is_new = !has_finalizer(plan) && plan.status.is_none();
    let recorded = union(&current.inventory, &capabilities.inventory);
    let add_finalizer =
        add_finalizer(plan, Record { placement: placement.clone(), inventory: recorded.clone() });
    let is_recorded = recorded == current.inventory && current.placement.as_ref() == Some(&placement);
    let is_pruned = current.inventory == union(&[], &capabilities.inventory);
    if has_finalizer(plan) && is_recorded && is_pruned && job::has_succeeded(plan) {
        return nothing(Report::default());
    }
    let record = (!is_new && !is_recorded)
        .then(|| status(plan, Phase::Provisioning, Reason::RuntimeProvisioning, None, recorded));
    Decision { add_finalizer, exposure: None, status: record, work: Work::Apply(Target::of(plan)) }
}

/// Reason why a runtime does not run a plan.
fn refusal(plan: &WorkloadPlanSpec, capabilities: &Capabilities) -> Option<(Reason, String)> {
    let Capabilities { lacks, refusal, inventory: _ } = capabilities;
    if let Some(refusal) = refusal {
        return Some((Reason::PermissionDenied, refusal.clone()));
    }
    let cannot = || format!("The backend `{}` cannot run this: {}", plan.backend_id, lacks.join(" "));
    (!lacks.is_empty()).then(|| (Reason::RuntimeSelecting, cannot()))
}

fn remove(inputs: &Inputs, record: Record) -> Decision {
    let Record { placement, inventory } = record;
    if !inputs.runtimes.contains(&placement.runtime_class) {
        let message = format!("Waiting for the runtime `{}` to stop it.", placement.runtime_class);
        let status = changed(&inputs.plan, report::stopping(inputs, message));
        let requeue = Requeue::After(STOPPING_CHECK_INTERVAL);
        return nothing(Report { status, requeue, ..Report::default() });
    }
    let published = exposure(inputs).filter(|exposure| exposure.status.is_some());
    Decision {
        add_finalizer: None,
        exposure: published.and_then(|exposure| addresses(exposure, Vec::new())),
        status: None,
        work: Work::Remove(Target::of(&inputs.plan).at(&placement), inventory),
    }
}

fn nothing(report: Report) -> Decision {
    Decision { add_finalizer: None, exposure: None, status: None, work: Work::Nothing(report) }
}

/// Exposure of the plan's Workload.
fn exposure(inputs: &Inputs) -> Option<&WorkloadExposure> {
    inputs.exposure.as_ref().filter(|exposure| exposure.spec.workload_ref == inputs.plan.spec.workload_ref)
}

/// Status of an exposure with these addresses, if it changes.
fn addresses(exposure: &WorkloadExposure, exposures: Vec<Exposure>) -> Option<WorkloadExposureStatus> {
    let status = WorkloadExposureStatus { exposures, conditions: Vec::new() };
    (exposure.status.as_ref() != Some(&status)).then_some(status)
}

/// A status, if it differs from the one in the API.
fn changed(plan: &WorkloadPlan, status: WorkloadPlanStatus) -> Option<WorkloadPlanStatus> {
    (plan.status.as_ref() != Some(&status)).then_some(status)
}

/// Status of the plan's revision at its placement.
fn status(
    plan: &WorkloadPlan,
    phase: Phase,
    reason: Reason,
    message: Option<String>,
    inventory: Vec<InventoryItem>,
) -> WorkloadPlanStatus {
    WorkloadPlanStatus {
        phase,
        reason: Some(reason),
        message,
        observed_revision: Some(plan.spec.revision.clone()),
        placement: Some(plan.spec.placement()),
        inventory,
        ..WorkloadPlanStatus::default()
    }
}

fn union(recorded: &[InventoryItem], wanted: &[InventoryItem]) -> Vec<InventoryItem> {
    let all: BTreeSet<_> = recorded.iter().chain(wanted).cloned().collect();
    all.into_iter().collect()
}

/// True if the runtime that owns the plan has to stop what runs elsewhere first.
fn is_moving(inputs: &Inputs) -> bool {
    inputs.plan.metadata.deletion_timestamp.is_none() && inputs.capabilities.is_some()
}
