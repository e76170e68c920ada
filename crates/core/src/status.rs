//! Step six: the status. It is made of what was decided and of what the API then took, never of intentions.
//!
//! ```text
//! Ready ── InputsValid    the document is valid, the policy allows it
//!       ├─ ClaimsReady    every wanted claim is bound, with its outputs
//!       └─ RuntimeReady   the plan of this generation is in force, and its runtime says that it runs
//! ```

use std::collections::{BTreeMap, BTreeSet};

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
    decision::{Applied, Denied},
    endpoint,
    sentence::sentence,
};

/// What the status is made of, apart from what the API will answer.
#[derive(Clone, Debug)]
pub struct Basis {
    /// The generation that was looked at.
    pub generation: i64,
    /// What was said before.
    pub previous: WorkloadStatus,
    /// The time of day.
    pub now: Timestamp,
    /// The verdict on the document and the policy.
    pub inputs: Finding,
    /// One line for each dependency, in the order of their keys.
    pub claims: Vec<Line>,
    /// What is said of the dependencies as a whole, where their lines do not tell.
    pub claims_overall: Option<Finding>,
    /// What is said of the runtime.
    pub runtime: Runtime,
    /// What a Workload that is being deleted waits for: whatever else is amiss, this is why it is still there.
    pub awaited: Option<Finding>,
    /// The names of claims that are kept although they were deleted, since what runs uses them.
    pub kept: BTreeSet<String>,
    /// The claims that there were, by name.
    pub live_claims: BTreeMap<String, ResourceClaim>,
    /// The exposure that there was.
    pub live_exposure: Option<WorkloadExposure>,
}

/// Where the line of a dependency comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its key.
    pub key: String,
    /// The name of its claim.
    pub claim: String,
    /// Why the claim cannot be written yet; what it says itself counts if it is there.
    pub blocked: Option<String>,
    /// Whether the workload still wants it.
    pub wanted: bool,
}

/// What is said of the runtime.
#[derive(Clone, Debug)]
pub enum Runtime {
    /// Something stands in the way.
    Blocked(Finding),
    /// This revision must be in force. The plan is the one that there was.
    Planned(String, Option<Box<WorkloadPlan>>),
    /// Nothing new can be planned; what was planned before runs on.
    LastGood(Option<Box<WorkloadPlan>>),
}

impl Basis {
    /// The status, after the decision was carried out.
    pub fn report(&self, applied: &Applied) -> WorkloadStatus {
        let mut rows = Vec::new();
        let mut wanted = Vec::new();
        for line in &self.claims {
            let row = self.row(line, applied);
            if line.wanted {
                wanted.push(row.clone());
            }
            rows.push(row);
        }
        let claims = self.claims_overall.clone().unwrap_or_else(|| overall(&wanted));
        let mut runtime = self.runtime(applied);
        if let Some(Err(denied)) = &applied.exposure
            && runtime.holds()
        {
            runtime = denied.into();
        }
        let mut awaited = self.awaited.clone();
        if let Some(trouble) = applied.trouble.as_ref().filter(|_| !runtime.holds()) {
            for finding in awaited.iter_mut().chain([&mut runtime]) {
                let message = format!(
                    "{} The platform could not carry it out, and tries again: {trouble}",
                    finding.message
                );
                finding.message = sentence(&message, 0);
            }
        }
        let findings = [self.inputs.clone(), claims, runtime];
        let failing = awaited.as_ref().or_else(|| findings.iter().find(|finding| !finding.holds()));
        let ready = failing.cloned().unwrap_or_else(|| Finding::good("Everything is ready."));
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
            claims: rows,
            observed_generation: Some(self.generation),
        }
    }

    fn row(&self, line: &Line, applied: &Applied) -> ClaimSummary {
        let pending = |reason, message: &str| ClaimSummary {
            key: line.key.clone(),
            phase: if reason == Reason::BindingPending { ClaimPhase::Pending } else { ClaimPhase::Failed },
            reason,
            message: message.to_owned(),
            outputs_available: false,
        };
        let is_kept = self.kept.contains(&line.claim);
        match (applied.claims.get(&line.claim), self.live_claims.get(&line.claim)) {
            (Some(Err(Denied { reason, message })), _) => pending(*reason, message),
            (Some(Ok(claim)), _) => claims::summary(claim, is_kept, line.wanted),
            (None, Some(claim)) if line.blocked.is_none() => claims::summary(claim, is_kept, line.wanted),
            (None, _) => {
                pending(Reason::BindingPending, line.blocked.as_deref().unwrap_or("Being asked for."))
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
                Finding::bad(Reason::RuntimeSelecting, "Nothing is started until the inputs are valid.")
            }
            Runtime::LastGood(Some(plan)) => {
                let finding = fold(plan, &plan.spec.revision);
                let generation = plan.spec.observed_workload_generation;
                let message = format!(
                    "The last good version (generation {generation}) stays in force. {}",
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
    Finding::bad(Reason::RuntimeProvisioning, "It is about to be started.")
}

/// What the lines of all dependencies come to.
fn overall(rows: &[ClaimSummary]) -> Finding {
    let named = |row: &ClaimSummary| format!("Resource `{}`: {}", row.key, row.message);
    if let Some(failed) = rows.iter().find(|row| row.phase == ClaimPhase::Failed) {
        let reason = Some(failed.reason).filter(|reason| claims::is_obstacle(*reason));
        return Finding::bad(reason.unwrap_or(Reason::BindingFailed), named(failed));
    }
    let pending = || rows.iter().filter(|row| !row.outputs_available);
    // What is in the way of one says more than that another takes its time.
    if let Some(hindered) = pending().find(|row| claims::is_obstacle(row.reason)) {
        return Finding::bad(hindered.reason, named(hindered));
    }
    if let Some(pending) = pending().next() {
        return Finding::bad(Reason::BindingPending, named(pending));
    }
    Finding::good(match rows.len() {
        0 => "It depends on nothing.".to_owned(),
        1 => "Its dependency is ready.".to_owned(),
        n => format!("All {n} dependencies are ready."),
    })
}

/// What a runtime says of a revision. What it says of another one is old news.
fn fold(plan: &WorkloadPlan, revision: &str) -> Finding {
    let status = plan.status.as_ref().filter(|_| plan.spec.revision == revision);
    let Some(status) = status.filter(|status| status.observed_revision.as_deref() == Some(revision)) else {
        return Finding::bad(Reason::RuntimeProvisioning, starting(plan));
    };
    let said = status.message.clone().filter(|message| !message.is_empty());
    let said_or = |otherwise: &str| said.unwrap_or_else(|| otherwise.to_owned());
    // What is said of inputs and claims is said elsewhere: a runtime that gives such a reason would contradict it.
    let is_others = |reason: &Reason| {
        matches!(
            reason,
            Reason::Succeeded | Reason::SpecInvalid | Reason::BindingPending | Reason::BindingFailed
        )
    };
    let reason_or = |otherwise| status.reason.filter(|reason| !is_others(reason)).unwrap_or(otherwise);
    match status.phase {
        Phase::Ready => Finding::good(said_or(match plan.spec.kind {
            Kind::Service => "It runs.",
            Kind::Job => "It has run to its end.",
        })),
        Phase::Pending | Phase::Provisioning => {
            Finding::bad(reason_or(Reason::RuntimeProvisioning), said_or(&starting(plan)))
        }
        Phase::Degraded => Finding::bad(reason_or(Reason::RuntimeDegraded), said_or("It does not run well.")),
        Phase::Failed => {
            Finding::bad(reason_or(Reason::RuntimeDegraded), said_or("It could not be started."))
        }
    }
}

/// What is said until a runtime says more: the same before and after it took the plan up, which is one write less.
fn starting(plan: &WorkloadPlan) -> String {
    format!(
        "This version is being started; if nothing happens, ask the platform team whether the runtime `{}` is at work.",
        plan.spec.runtime_class
    )
}

/// Something that happened to a Workload, told once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Whether somebody should look.
    pub warning: bool,
    /// In a word.
    pub reason: Reason,
    /// In a sentence.
    pub note: String,
}

/// Whether a status only says that something was begun of which nothing was said before. All is well so far, and most often
/// there is more to say in a moment.
pub fn is_only_begun(previous: Option<&WorkloadStatus>, status: &WorkloadStatus) -> bool {
    let ready = status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready);
    previous.is_none() && ready.is_some_and(|ready| ready.reason == Reason::RuntimeProvisioning)
}

/// What is worth telling about a change of status: that the Workload became ready, and everything that needs
/// somebody's attention. Progress is not told; it is in the status.
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
