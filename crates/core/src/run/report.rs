//! Reports: what is written after a runtime has worked.

use std::time::Duration;

use orchestra_api::{
    condition::Reason,
    exposure::WorkloadExposureStatus,
    plan::{InventoryItem, Phase, WorkloadPlanStatus},
};

use super::{
    Decision, Inputs, Report, STOPPING_CHECK_INTERVAL, addresses, changed, exposure, is_in_progress,
    is_moving, is_ready_at, record::current_status, status, union,
};
use crate::{
    decision::{Deferral, Requeue},
    driver::{DriverError, DriverErrorKind, Observation, Removed, UNWATCHED_CHECK_INTERVAL},
    endpoint,
    status::FIRST_STATUS_DEBOUNCE,
};

/// Result of an apply, and what was observed after it.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Result of the apply.
    pub applied: Result<(), DriverError>,
    /// Observation; the error of the apply if it is not [observed](is_observed_after).
    pub observed: Result<Observation, DriverError>,
}

/// True if what runs is observed after this error of an apply: after a transient one it may be anything between all and nothing.
pub fn is_observed_after(error: &DriverError) -> bool {
    error.kind == DriverErrorKind::Transient
}

/// Recorded items that the revision which is ready now does not need: the runtime removes them before the report.
pub fn prunable(inputs: &Inputs, outcome: &RunOutcome) -> Vec<InventoryItem> {
    let wanted = wanted(inputs);
    let is_settled = outcome.applied.is_ok()
        && outcome.observed.as_ref().is_ok_and(|observation| is_settled(inputs, observation));
    let recorded = if is_settled { current_status(&inputs.plan).inventory } else { Vec::new() };
    recorded.into_iter().filter(|item| !wanted.contains(item)).collect()
}

/// Report after the plan was applied and observed, and what is [`prunable`] was removed.
pub fn report_applied(
    inputs: &Inputs,
    decision: &Decision,
    outcome: RunOutcome,
    pruned: Result<Removed, DriverError>,
) -> Report {
    let plan = &inputs.plan;
    let RunOutcome { applied, observed } = outcome;
    let recorded = union(&current_status(plan).inventory, wanted(inputs));
    let stored = decision.status.as_ref().or(plan.status.as_ref());
    let was_ready = stored
        .filter(|status| is_ready_at(status.phase, status.observed_revision.as_deref(), &plan.spec.revision));
    let mut report = Report::default();
    let status = match (applied, observed) {
        (Ok(()), Ok(observation)) => {
            report.exposure = published(inputs, &observation);
            let is_settled = is_settled(inputs, &observation);
            let Observation { revision, phase, reason, mut message, exposures: _, placed_on } = observation;
            let inventory = match pruned {
                Ok(Removed::Gone) if is_settled => union(&[], wanted(inputs)),
                Ok(Removed::Stopping(_)) if is_settled => {
                    report.requeue = Requeue::After(STOPPING_CHECK_INTERVAL);
                    recorded
                }
                Err(fault) => {
                    message = Some(format!("The previous version could not be removed; retrying: {fault}"));
                    report.requeue = Requeue::Backoff(fault.into());
                    recorded
                }
                Ok(_) => recorded,
            };
            WorkloadPlanStatus {
                phase,
                reason,
                message,
                observed_revision: revision,
                placement: Some(plan.spec.placement()),
                conditions: Vec::new(),
                inventory,
                placed_on,
            }
        }
        (Err(error), Ok(observation)) => {
            report.exposure = published(inputs, &observation);
            let (is_settled, message) = (is_settled(inputs, &observation), Some(error.message.clone()));
            let incomplete = status(plan, Phase::Provisioning, error.reason, message, recorded);
            report.requeue = Requeue::Backoff(error.into());
            if is_settled {
                let Observation { phase, reason, placed_on, .. } = observation;
                WorkloadPlanStatus { phase, reason, placed_on, ..incomplete }
            } else {
                incomplete
            }
        }
        (applied, Err(observing)) => {
            let is_unknown = observing.kind == DriverErrorKind::Transient;
            let error = applied.err().unwrap_or(observing);
            let (kind, reason, message) = (error.kind, error.reason, error.message.clone());
            let phase = match kind {
                DriverErrorKind::Refused | DriverErrorKind::Unwatched => Phase::Failed,
                DriverErrorKind::Transient => Phase::Provisioning,
            };
            report.requeue = match kind {
                DriverErrorKind::Refused => Requeue::OnChange,
                DriverErrorKind::Unwatched => Requeue::After(UNWATCHED_CHECK_INTERVAL),
                DriverErrorKind::Transient => Requeue::Backoff(error.into()),
            };
            match was_ready {
                // Its runtime cannot be asked now: the last observation stays.
                Some(ready) if is_unknown => {
                    WorkloadPlanStatus { message: Some(message), inventory: recorded, ..ready.clone() }
                }
                _ => status(plan, phase, reason, Some(message), recorded),
            }
        }
    };
    let is_failing = matches!(report.requeue, Requeue::Backoff(_));
    let rest = FIRST_STATUS_DEBOUNCE.saturating_sub(inputs.deferred_for);
    if stored.is_none() && !is_failing && is_in_progress(Some(&status)) && !rest.is_zero() {
        return Report { requeue: Requeue::After(rest), deferred: Some(Deferral::FirstStatus), ..report };
    }
    report.status = (stored != Some(&status)).then_some(status);
    report
}

/// Report after what was recorded was removed.
pub fn report_removed(inputs: &Inputs, removed: Result<Removed, DriverError>) -> Report {
    let plan = &inputs.plan;
    let (message, requeue) = match removed {
        Ok(Removed::Gone) => return gone(inputs),
        Ok(Removed::Stopping(message)) => (message, Requeue::After(STOPPING_CHECK_INTERVAL)),
        Err(error) => (error.to_string(), Requeue::Backoff(error.into())),
    };
    Report { status: changed(plan, stopping(inputs, message)), requeue, ..Report::default() }
}

fn gone(inputs: &Inputs) -> Report {
    let plan = &inputs.plan;
    if plan.metadata.deletion_timestamp.is_some() {
        return Report { remove_finalizer: true, ..Report::default() };
    }
    if is_moving(inputs) {
        let message = Some("Moving to another backend.".to_owned());
        let moving = status(plan, Phase::Provisioning, Reason::RuntimeProvisioning, message, Vec::new());
        let requeue = Requeue::After(Duration::ZERO);
        return Report { status: changed(plan, moving), requeue, ..Report::default() };
    }
    let handed_over = WorkloadPlanStatus { inventory: Vec::new(), placement: None, ..current_status(plan) };
    Report { status: changed(plan, handed_over), remove_finalizer: true, ..Report::default() }
}

/// Status while something is stopping. A plan that moves is being rolled out; any other keeps its phase.
pub(super) fn stopping(inputs: &Inputs, message: String) -> WorkloadPlanStatus {
    let current = WorkloadPlanStatus { message: Some(message), ..current_status(&inputs.plan) };
    if !is_moving(inputs) {
        return current;
    }
    WorkloadPlanStatus {
        phase: Phase::Provisioning,
        reason: Some(Reason::RuntimeProvisioning),
        observed_revision: Some(inputs.plan.spec.revision.clone()),
        ..current
    }
}

/// Status of the exposure with the observed addresses, if it changes. They are published once one of them is reachable, and
/// stay while none is: what the API has counts, since a restarted runtime has forgotten it. A plan that is being started has
/// none, and none to withdraw.
fn published(inputs: &Inputs, observation: &Observation) -> Option<WorkloadExposureStatus> {
    let plan = &inputs.plan.spec;
    let exposure = exposure(inputs).filter(|exposure| exposure.spec.runtime_class == plan.runtime_class)?;
    let was_published = exposure.status.as_ref().is_some_and(|status| !status.exposures.is_empty());
    let is_reachable = observation.exposures.iter().any(|address| address.reachable != Some(false));
    let is_published = !plan.lifecycle.suspend && (is_reachable || was_published);
    let mut published = if is_published { observation.exposures.clone() } else { Vec::new() };
    endpoint::sort(&mut published);
    let is_starting = matches!(observation.phase, Phase::Pending | Phase::Provisioning);
    if exposure.status.is_none() && published.is_empty() && is_starting {
        return None;
    }
    addresses(exposure, published)
}

/// True if the revision of the plan is ready, so that what only earlier revisions needed can go.
fn is_settled(inputs: &Inputs, observation: &Observation) -> bool {
    is_ready_at(observation.phase, observation.revision.as_deref(), &inputs.plan.spec.revision)
}

fn wanted(inputs: &Inputs) -> &[InventoryItem] {
    inputs.capabilities.as_ref().map(|capabilities| capabilities.inventory.as_slice()).unwrap_or_default()
}
