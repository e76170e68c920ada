//! Step six: the status, derived from the decision and the answers of the API to its writes.
//!
//! ```text
//! Ready ── InputsValid    the document is valid, the policy allows it
//!       ├─ ClaimsReady    every desired claim is bound, with its outputs
//!       └─ RuntimeReady   the plan of this generation is in force, and its runtime reports that it is ready
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use orchestra_api::{
    ConditionStatus, ConditionType, ResourceClaim, WorkloadExposure, WorkloadPlan,
    claim::Phase as ClaimPhase,
    condition::{Finding, Reason},
    plan::{Kind, Phase},
    workload::{ClaimSummary, WorkloadStatus},
};
use serde::Serialize;

use crate::{
    claims,
    decision::{Applied, Decision, Deferral, Denied, Fault, Finalizer, Requeue},
    endpoint,
    inputs::{Inputs, QueueState},
    sentence::sentence,
};

/// Inputs of the status, apart from the answers of the API.
#[derive(Clone, Debug)]
pub struct StatusInputs {
    /// Observed generation.
    pub generation: i64,
    /// Previous status.
    pub previous: WorkloadStatus,
    /// Current time.
    pub now: Timestamp,
    /// Finding about the document and policies.
    pub inputs: Finding,
    /// One row for each dependency, sorted by key.
    pub claims: Vec<ClaimRow>,
    /// Finding about all dependencies, if it does not follow from the rows.
    pub claims_overall: Option<Finding>,
    /// State of the runtime.
    pub runtime: Runtime,
    /// Object that a deletion waits for. It takes precedence over other findings.
    pub awaited: Option<Finding>,
    /// Names of deleted claims that are kept because the running version uses them.
    pub kept: BTreeSet<String>,
    /// Claims before the writes, by name.
    pub live_claims: BTreeMap<String, ResourceClaim>,
    /// Exposure before the writes.
    pub live_exposure: Option<WorkloadExposure>,
    /// Inputs of the decision to defer this status.
    pub deferral: DeferralInputs,
}

/// Inputs of the decision to defer a status.
#[derive(Clone, Debug, Default)]
pub struct DeferralInputs {
    /// The status in the API.
    pub stored: Option<WorkloadStatus>,
    /// State of the queue.
    pub queue: QueueState,
    /// Classes of the built-in runtimes, which report within a moment. External ones may take longer.
    pub runtimes: BTreeSet<String>,
    /// Class and phase of the plan in the API.
    pub plan: Option<(String, Phase)>,
}

impl DeferralInputs {
    pub(crate) fn of(inputs: &Inputs) -> Self {
        let plan = inputs.plan.as_ref().map(|plan| {
            let phase = plan.status.as_ref().map(|status| status.phase).unwrap_or_default();
            (plan.spec.runtime_class.clone(), phase)
        });
        Self {
            stored: inputs.workload.status.clone(),
            queue: inputs.queue,
            runtimes: inputs.runtimes.clone(),
            plan,
        }
    }
}

/// Maximum deferral of the first status. Most Workloads are ready sooner; for others, users see progress before it seems
/// stuck.
pub const FIRST_STATUS_DEBOUNCE: Duration = Duration::from_millis(500);

/// The same while [`BUSY_BACKLOG`] Workloads wait: a further write for each of them would only delay them all.
pub const BUSY_FIRST_STATUS_DEBOUNCE: Duration = Duration::from_secs(5);

/// Queue length from which Workloads usually take longer than [`FIRST_STATUS_DEBOUNCE`]: the API is busy with the others.
pub const BUSY_BACKLOG: usize = 100;

/// Longest time for which an address alone is deferred. Most runtimes publish it just before they report that the plan is ready; a
/// rollout with one replica ready may take minutes.
pub const ADDRESS_DEBOUNCE: Duration = Duration::from_secs(2);

/// Writes after a decision was executed.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Report {
    /// The status, if it changes.
    pub status: Option<WorkloadStatus>,
    /// Events about the change.
    pub events: Vec<Event>,
    /// Reason why the status is not written yet.
    pub deferred: Option<Deferral>,
    /// When the Workload is reconciled again.
    pub requeue: Requeue,
}

impl Decision {
    /// Report after the decision was executed.
    pub fn report(&self, applied: &Applied) -> Report {
        if self.finalizer == Finalizer::Remove && applied.fault.is_none() {
            // The Workload is gone.
            return Report::default();
        }
        if self.deferred.contains(&Deferral::NamespaceUnknown) {
            return Report { deferred: Some(Deferral::NamespaceUnknown), ..Report::default() };
        }
        // All are retried: [`crate::denial::WriteOf::OwnObject`].
        let denied = || applied.denials().next().map(|denied| Fault::Denied(denied.clone()));
        let fault = applied.fault.clone().or_else(denied);
        let requeue = fault.clone().map_or(Requeue::OnChange, |fault| Requeue::Backoff(fault.into()));
        let status = self.status_inputs.report(applied);
        let DeferralInputs { stored, queue: QueueState { deferred_for, backlog }, .. } =
            &self.status_inputs.deferral;
        if stored.as_ref() == Some(&status) {
            return Report { requeue, ..Report::default() };
        }
        let is_busy = *backlog >= BUSY_BACKLOG;
        let debounce = if is_busy { BUSY_FIRST_STATUS_DEBOUNCE } else { FIRST_STATUS_DEBOUNCE };
        let rest = debounce.saturating_sub(*deferred_for);
        if applied.fault.is_none() && self.only_started(&status) && !rest.is_zero() {
            let deferred = Some(Deferral::FirstStatus);
            return Report { deferred, requeue: Requeue::After(rest), ..Report::default() };
        }
        let rest = ADDRESS_DEBOUNCE.saturating_sub(*deferred_for);
        if fault.is_none() && self.only_address(&status) && !rest.is_zero() {
            let deferred = Some(Deferral::Address);
            return Report { deferred, requeue: Requeue::After(rest), ..Report::default() };
        }
        let events = events(&self.status_inputs.previous, &status);
        Report { status: Some(status), events, deferred: None, requeue }
    }

    /// True if the only change is that provisioning started, on a built-in runtime.
    fn only_started(&self, status: &WorkloadStatus) -> bool {
        let DeferralInputs { stored, runtimes, plan, .. } = &self.status_inputs.deferral;
        let planned = self.plan.as_ref().map(|plan| &plan.spec.runtime_class);
        let class = planned.or(plan.as_ref().map(|(class, _)| class));
        let ready = status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready);
        stored.is_none()
            && class.is_some_and(|class| runtimes.contains(class))
            && ready.is_some_and(|ready| ready.reason == Reason::RuntimeProvisioning)
    }

    /// True if the only change is an address of a plan that a built-in runtime is starting.
    fn only_address(&self, status: &WorkloadStatus) -> bool {
        let DeferralInputs { stored, runtimes, plan, .. } = &self.status_inputs.deferral;
        let is_starting = plan
            .as_ref()
            .is_some_and(|(class, phase)| runtimes.contains(class) && *phase == Phase::Provisioning);
        let stored = stored.as_ref().filter(|stored| stored.endpoint.is_none());
        is_starting
            && stored.is_some_and(|stored| *stored == WorkloadStatus { endpoint: None, ..status.clone() })
    }
}

/// Source of the row of a dependency in the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRow {
    /// Key of the dependency.
    pub key: String,
    /// Name of its claim.
    pub claim: String,
    /// Reason why the claim cannot be written yet.
    pub blocked: Option<String>,
    /// True if the current document has it.
    pub wanted: bool,
}

/// State of the runtime.
#[derive(Clone, Debug)]
pub enum Runtime {
    /// Blocked by this finding.
    Blocked(Finding),
    /// This revision has to run. The plan is the one before the writes.
    Planned(String, Option<Box<WorkloadPlan>>),
    /// Nothing new can be planned; the last plan keeps running.
    LastGood(Option<Box<WorkloadPlan>>),
}

impl StatusInputs {
    /// Status after the decision was executed.
    pub fn report(&self, applied: &Applied) -> WorkloadStatus {
        let mut summaries = Vec::new();
        let mut wanted = Vec::new();
        for row in &self.claims {
            let summary = self.summary(row, applied);
            if row.wanted {
                wanted.push(summary.clone());
            }
            summaries.push(summary);
        }
        let claims = self.claims_overall.clone().unwrap_or_else(|| overall(&wanted));
        let mut runtime = self.runtime(applied);
        if let Some(Err(denied)) = &applied.exposure
            && runtime.holds()
        {
            runtime = denied.into();
        }
        let mut awaited = self.awaited.clone();
        if let Some(fault) = applied.fault.as_ref().filter(|_| !runtime.holds()) {
            for finding in awaited.iter_mut().chain([&mut runtime]) {
                let message = format!("{} The last attempt failed and is retried: {fault}", finding.message);
                finding.message = sentence(&message, 0);
            }
        }
        let findings = [self.inputs.clone(), claims, runtime];
        let failing = awaited.as_ref().or_else(|| findings.iter().find(|finding| !finding.holds()));
        let ready = failing.cloned().unwrap_or_else(|| Finding::good("Ready."));
        let [inputs, claims, runtime] = findings;
        let now = Time(self.now);
        let conditions = [
            (ConditionType::InputsValid, inputs),
            (ConditionType::ClaimsReady, claims),
            (ConditionType::RuntimeReady, runtime),
            (ConditionType::Ready, ready),
        ]
        .map(|(type_, finding)| finding.since(type_, &self.previous.conditions, self.generation, &now));
        WorkloadStatus {
            endpoint: self.endpoint(applied),
            conditions: conditions.into(),
            claims: summaries,
            observed_generation: Some(self.generation),
        }
    }

    fn summary(&self, row: &ClaimRow, applied: &Applied) -> ClaimSummary {
        let pending = |reason, message: &str| ClaimSummary {
            key: row.key.clone(),
            phase: if reason == Reason::BindingPending { ClaimPhase::Pending } else { ClaimPhase::Failed },
            reason,
            message: message.to_owned(),
            outputs_available: false,
        };
        let is_kept = self.kept.contains(&row.claim);
        match (applied.claims.get(&row.claim), self.live_claims.get(&row.claim)) {
            (Some(Err(Denied { reason, message, .. })), _) => pending(*reason, message),
            (Some(Ok(claim)), _) => claims::summary(claim, is_kept, row.wanted),
            (None, Some(claim)) if row.blocked.is_none() => claims::summary(claim, is_kept, row.wanted),
            (None, _) => {
                pending(Reason::BindingPending, row.blocked.as_deref().unwrap_or("Being requested."))
            }
        }
    }

    fn runtime(&self, applied: &Applied) -> Finding {
        match &self.runtime {
            Runtime::Blocked(finding) => finding.clone(),
            Runtime::Planned(revision, live) => match &applied.plan {
                Some(Err(denied)) => denied.into(),
                Some(Ok(plan)) => fold(plan, revision),
                None => live.as_ref().map_or_else(unplanned, |plan| fold(plan, revision)),
            },
            Runtime::LastGood(None) => {
                Finding::bad(Reason::RuntimeSelecting, "Not started: the inputs are not valid.")
            }
            Runtime::LastGood(Some(plan)) => {
                let finding = fold(plan, &plan.spec.revision);
                let generation = plan.spec.observed_workload_generation;
                let message = format!(
                    "The last valid version (generation {generation}) keeps running. {}",
                    finding.message
                );
                Finding { message, ..finding }
            }
        }
    }

    fn endpoint(&self, applied: &Applied) -> Option<String> {
        let exposure = match &applied.exposure {
            Some(Ok(exposure)) => Some(exposure),
            _ => self.live_exposure.as_ref(),
        };
        let published = exposure.and_then(|exposure| exposure.status.as_ref());
        endpoint::mirror(
            published.map(|status| status.exposures.as_slice()),
            self.previous.endpoint.as_deref(),
        )
    }
}

fn unplanned() -> Finding {
    Finding::bad(Reason::RuntimeProvisioning, "About to be started.")
}

/// Finding about all dependencies.
fn overall(rows: &[ClaimSummary]) -> Finding {
    let named = |row: &ClaimSummary| format!("Resource `{}`: {}", row.key, row.message);
    if let Some(failed) = rows.iter().find(|row| row.phase == ClaimPhase::Failed) {
        let reason = Some(failed.reason).filter(|reason| claims::is_obstacle(*reason));
        return Finding::bad(reason.unwrap_or(Reason::BindingFailed), named(failed));
    }
    let pending = || rows.iter().filter(|row| !row.outputs_available);
    // An obstacle is more specific than a pending dependency.
    if let Some(blocked) = pending().find(|row| claims::is_obstacle(row.reason)) {
        return Finding::bad(blocked.reason, named(blocked));
    }
    if let Some(pending) = pending().next() {
        return Finding::bad(Reason::BindingPending, named(pending));
    }
    Finding::good(match rows.len() {
        0 => "No dependencies.".to_owned(),
        1 => "The dependency is ready.".to_owned(),
        n => format!("All {n} dependencies are ready."),
    })
}

/// Finding about a revision, by the status of the plan. A status of another revision does not count.
fn fold(plan: &WorkloadPlan, revision: &str) -> Finding {
    let status = plan.status.as_ref().filter(|_| plan.spec.revision == revision);
    let Some(status) = status.filter(|status| status.observed_revision.as_deref() == Some(revision)) else {
        return Finding::bad(Reason::RuntimeProvisioning, starting(plan));
    };
    let message = status.message.clone().filter(|message| !message.is_empty());
    let message_or = |otherwise: &str| message.unwrap_or_else(|| otherwise.to_owned());
    // Reasons about inputs and claims belong to other conditions: a runtime must not contradict them.
    let is_foreign = |reason: &Reason| {
        matches!(
            reason,
            Reason::Succeeded | Reason::SpecInvalid | Reason::BindingPending | Reason::BindingFailed
        )
    };
    let reason_or = |otherwise| status.reason.filter(|reason| !is_foreign(reason)).unwrap_or(otherwise);
    match status.phase {
        Phase::Ready => Finding::good(message_or(match plan.spec.kind {
            Kind::Service => "Running.",
            Kind::Job => "Completed.",
        })),
        Phase::Pending | Phase::Provisioning => {
            Finding::bad(reason_or(Reason::RuntimeProvisioning), message_or(&starting(plan)))
        }
        Phase::Degraded => Finding::bad(reason_or(Reason::RuntimeDegraded), message_or("Degraded.")),
        Phase::Failed => Finding::bad(reason_or(Reason::RuntimeDegraded), message_or("Failed to start.")),
    }
}

/// Message until the first status of a runtime. It is the same before and after the runtime picks up the plan, which saves a
/// write.
fn starting(plan: &WorkloadPlan) -> String {
    format!("Waiting for the first status from the runtime `{}`.", plan.spec.runtime_class)
}

/// Event about a Workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// True if it is a warning.
    pub warning: bool,
    /// Reason.
    pub reason: Reason,
    /// Message.
    pub note: String,
}

/// Events about a change of status: the Workload became ready, or it needs attention. Progress is only in the status.
pub fn events(previous: &WorkloadStatus, status: &WorkloadStatus) -> Vec<Event> {
    let ready = |status: &WorkloadStatus| {
        status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready).cloned()
    };
    let Some(now) = ready(status) else { return Vec::new() };
    let before = ready(previous);
    if before.is_some_and(|before| before.status == now.status && before.reason == now.reason) {
        return Vec::new();
    }
    let is_ready = now.status == ConditionStatus::True;
    let is_progress = matches!(
        now.reason,
        Reason::BindingPending
            | Reason::RuntimeProvisioning
            | Reason::RuntimeSelecting
            | Reason::ProjectionError
    );
    if !is_ready && is_progress {
        return Vec::new();
    }
    vec![Event { warning: !is_ready, reason: now.reason, note: now.message }]
}
