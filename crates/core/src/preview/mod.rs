//! Preview of an apply or a deletion, as value and text.
//!
//! [`plan`](fn@crate::plan) decides about the inputs as they would be, and the result is compared with the live objects, so
//! a preview shows what the controller would do. Secrets are references in plans, and so they are in all texts here.

mod change;
mod claim_forecast;
mod deletion;
mod explained;
mod explained_text;
mod known_after_apply;
mod next_step;
mod proposed;
mod run_forecast;
#[cfg(test)]
mod tests;
mod text;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use orchestra_api::{
    ConditionStatus, ConditionType, Reason, ResourceClaim, WorkloadExposure, WorkloadPlan,
    workload::WorkloadStatus,
};
use serde::Serialize;

pub use self::{
    change::{Action, FieldChange, ObjectKind, PreviewChange},
    claim_forecast::{PreviewContext, kept_by, shared_instances},
    deletion::of_deletion,
    explained::{Cause, Dependency, Explained, Provider, Running, explain},
    known_after_apply::KNOWN_AFTER_BINDING,
    proposed::{propose, resumes},
    run_forecast::CapabilitiesOf,
};

use self::{
    claim_forecast::{Settled, settle},
    known_after_apply::KnownAfterApply,
};
use crate::{
    Applied, Decision, Gap, Inputs,
    claim_state::is_deleting,
    decision::{Deferral, DeletionKind},
    explain::Explanation,
    inputs::Owned,
    place::Conclusion,
};

/// Placeholder of the uid of a new Workload.
const KNOWN_AFTER_APPLY: &str = "(known after apply)";

/// Preview of an apply or a deletion.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// Namespace of the Workload.
    pub namespace: String,
    /// Name of the Workload.
    pub name: String,
    /// Changes of objects, in order.
    pub changes: Vec<PreviewChange>,
    /// Status of the Workload right after.
    pub status: WorkloadStatus,
    /// Missing values. The plan has [`KNOWN_AFTER_BINDING`] in place of those that are awaited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Gap>,
    /// Writes that the controller defers, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<Deferral>,
    /// Explanation of the decision.
    pub explanation: Explanation,
}

/// Preview of an apply. A Workload that is being deleted is deleted, whatever is applied.
pub fn preview(inputs: &Inputs, context: &PreviewContext) -> Preview {
    if inputs.workload.metadata.deletion_timestamp.is_some() {
        return of_deletion(inputs);
    }
    let is_new = inputs.workload_ref().uid.is_empty();
    let inputs = as_existing(inputs);
    let settled = settle(&inputs, context);
    let later = known_after_apply::derive(&settled.inputs, &settled.decision, &settled.forecasts);
    let mut applied = as_applied(&settled.decision, &settled.inputs.owned());
    let refusal = |plan: &WorkloadPlan| run_forecast::refusal(&inputs, &context.capabilities, plan);
    if let Some(Ok(plan)) = &mut applied.plan
        && let Some(refused) = refusal(plan)
    {
        plan.status = Some(refused);
    }
    let refused_later = later.plan.as_ref().and_then(refusal).and_then(|refused| refused.message);
    let status = settled.decision.status_inputs.report(&applied);
    let mut deferred = settled.decision.deferred.clone();
    deferred.extend(settled.decision.report(&applied).deferred);
    let mut pending = settled.decision.explanation.gaps.clone();
    let more = later.gaps.iter().filter(|gap| !pending.contains(gap)).cloned().collect::<Vec<_>>();
    let mut changes = Changes { live: inputs.owned(), settled: &settled, later, refused_later }.listed();
    if is_new {
        // The revision of a plan depends on the uid.
        for change in &mut changes {
            change.forget(&["/workloadRef/uid", "/revision"]);
        }
        changes.insert(0, PreviewChange::of_creation(&inputs.workload));
    } else if let Some(live) = &context.live {
        changes.splice(0..0, PreviewChange::of_document(live, &inputs.workload));
    }
    pending.extend(more);
    let mut explanation = settled.decision.explanation;
    explanation.notes.extend(context.notes());
    let (namespace, name) = (inputs.namespace_name().to_owned(), inputs.workload_ref().name);
    Preview { namespace, name, changes, status, pending, deferred, explanation }
}

impl Preview {
    /// Reason to refuse the apply: a mistake in the document, or a violated policy. Any other condition may still become true
    /// without a change of the document.
    pub fn refusal(&self) -> Option<Reason> {
        let inputs = self.status.conditions.iter().find(|found| found.type_ == ConditionType::InputsValid)?;
        (inputs.status == ConditionStatus::False).then_some(inputs.reason)
    }
}

/// Inputs with a placeholder uid for a new Workload: a plan refers to it, and no object of the API can have it.
fn as_existing(inputs: &Inputs) -> Cow<'_, Inputs> {
    let mut inputs = Cow::Borrowed(inputs);
    if inputs.workload_ref().uid.is_empty() {
        inputs.to_mut().workload.metadata.uid = Some(KNOWN_AFTER_APPLY.to_owned());
    }
    inputs
}

/// Decision compared with the live objects.
struct Changes<'a> {
    live: Owned<'a>,
    settled: &'a Settled,
    later: KnownAfterApply,
    /// Sentence about the future plan, if its runtime will refuse it.
    refused_later: Option<String>,
}

impl Changes<'_> {
    fn listed(&self) -> Vec<PreviewChange> {
        let mut changes = self.claims();
        changes.extend(self.plan());
        changes.extend(self.exposure());
        changes.extend(self.released());
        changes
    }

    /// Desired claims, by key.
    fn claims(&self) -> Vec<PreviewChange> {
        let later: BTreeMap<&str, &ResourceClaim> = by_name(&self.later.claims);
        let of_row = |row: &crate::status::ClaimRow| {
            let live = self.live.claims.get(row.claim.as_str()).copied();
            let name = row.claim.as_str();
            let change = if let Some(desired) = self.settled.claims.get(name) {
                PreviewChange::of_claim(live, desired)
            } else if let Some(desired) = later.get(name) {
                PreviewChange::of_claim(live, desired).with_note("once the values it refers to are known")
            } else {
                live.map(|live| PreviewChange::of_claim(Some(live), live))?
            };
            let forecast = self.settled.forecasts.get(name);
            Some(
                forecast
                    .map(claim_forecast::Forecast::note)
                    .iter()
                    .fold(change, |change, note| change.with_note(note)),
            )
        };
        let rows = self.settled.decision.status_inputs.claims.iter();
        rows.filter(|row| row.wanted).filter_map(of_row).collect()
    }

    fn plan(&self) -> Option<PreviewChange> {
        let live = self.live.plan.ours();
        if let Some(desired) = &self.settled.decision.plan {
            let mut change = PreviewChange::of_plan(live, desired);
            if self.settled.binds_new_claims() {
                change.forget(&["/revision", "/claims"]);
            }
            return Some(change);
        }
        if let Some(desired) = &self.later.plan {
            let mut change =
                PreviewChange::of_plan(live, desired).with_note("once its dependencies are ready");
            change.forget(&["/revision"]);
            return Some(self.refused_later.iter().fold(change, |change, refused| {
                change.with_note(&format!("it will be refused: {refused}"))
            }));
        }
        live.map(|live| PreviewChange::of_plan(Some(live), live))
    }

    fn exposure(&self) -> Option<PreviewChange> {
        let live = self.live.exposure.ours();
        if let Some(desired) = &self.settled.decision.exposure {
            return Some(PreviewChange::of_exposure(live, desired));
        }
        if let Some(desired) = &self.later.exposure {
            return Some(
                PreviewChange::of_exposure(live, desired).with_note("once its dependencies are ready"),
            );
        }
        live.map(|live| PreviewChange::of_exposure(Some(live), live))
    }

    /// Claims that are no longer desired: they are deleted once the running version cannot use them.
    fn released(&self) -> Vec<PreviewChange> {
        let placement = self.settled.decision.explanation.placement.as_ref();
        let is_decided =
            placement.is_some_and(|placement| !matches!(placement.conclusion, Conclusion::Refused(_)));
        if !is_decided {
            return Vec::new();
        }
        let rows = self.settled.decision.status_inputs.claims.iter().filter(|row| row.wanted);
        let wanted: BTreeSet<&str> = rows.map(|row| row.claim.as_str()).collect();
        let deletion = self
            .settled
            .decision
            .delete
            .iter()
            .filter(|deletion| deletion.kind == DeletionKind::ResourceClaim);
        let now: BTreeSet<&str> = deletion.map(|deletion| deletion.name.as_str()).collect();
        let released = self.live.claims.iter().filter(|(name, _)| !wanted.contains(*name));
        let change = |(name, claim): (&&str, &&ResourceClaim)| {
            let change = PreviewChange::of_release(claim);
            if is_deleting(claim) || now.contains(name) {
                change
            } else {
                change.with_note("once the running version no longer uses it")
            }
        };
        released.map(change).collect()
    }
}

fn by_name(claims: &[ResourceClaim]) -> BTreeMap<&str, &ResourceClaim> {
    claims.iter().filter_map(|claim| Some((claim.metadata.name.as_deref()?, claim))).collect()
}

/// Answers of the API if it accepted the whole decision.
fn as_applied(decision: &Decision, live: &Owned<'_>) -> Applied {
    let now = decision.status_inputs.now;
    let claim = |claim: &ResourceClaim| {
        let name = claim.metadata.name.clone().unwrap_or_default();
        let held = live.claims.get(name.as_str()).copied();
        let is_same = held.is_some_and(|held| held.spec == claim.spec);
        let held_claim = ResourceClaim {
            metadata: merged(&claim.metadata, held.map(|held| &held.metadata), is_same, now),
            spec: claim.spec.clone(),
            status: held.and_then(|held| held.status.clone()),
        };
        (name, Ok(held_claim))
    };
    let plan = decision.plan.as_ref().map(|plan| {
        let held = live.plan.ours();
        let is_same = held.is_some_and(|held| held.spec == plan.spec);
        Ok(WorkloadPlan {
            metadata: merged(&plan.metadata, held.map(|held| &held.metadata), is_same, now),
            spec: plan.spec.clone(),
            status: held.and_then(|held| held.status.clone()),
        })
    });
    let exposure = decision.exposure.as_ref().map(|exposure| {
        let held = live.exposure.ours();
        let is_same = held.is_some_and(|held| held.spec == exposure.spec);
        Ok(WorkloadExposure {
            metadata: merged(&exposure.metadata, held.map(|held| &held.metadata), is_same, now),
            spec: exposure.spec.clone(),
            status: held.and_then(|held| held.status.clone()),
        })
    });
    Applied { claims: decision.claims.iter().map(claim).collect(), plan, exposure, fault: None }
}

/// Metadata of an object after an apply: fields of other managers stay.
fn merged(desired: &ObjectMeta, live: Option<&ObjectMeta>, is_same: bool, now: Timestamp) -> ObjectMeta {
    let Some(live) = live else {
        let creation_timestamp = Some(Time(now));
        return ObjectMeta { generation: Some(1), creation_timestamp, ..desired.clone() };
    };
    let mut labels = live.labels.clone().unwrap_or_default();
    labels.extend(desired.labels.clone().unwrap_or_default());
    ObjectMeta {
        generation: live.generation.map(|generation| generation + i64::from(!is_same)),
        labels: Some(labels),
        owner_references: desired.owner_references.clone(),
        ..live.clone()
    }
}
