//! What an apply or a deletion would do, and the words for it.
//!
//! Nothing is decided here: [`plan`](fn@crate::plan) decides, on what would be there, and the answer is laid beside
//! what is there. So what is shown is what is done. A plan holds references where values are secret, and so do all
//! texts here.

mod advice;
mod change;
mod deletion;
mod explained;
mod explained_text;
mod foresight;
mod outlook;
mod proposal;
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
    change::{Action, Change, FieldChange, ObjectKind},
    deletion::of_deletion,
    explained::{Cause, Dependency, Explained, Provider, Running, explain},
    foresight::KNOWN_AFTER_BINDING,
    outlook::{Surroundings, shared_instances},
    proposal::propose,
};

use self::{
    foresight::Foreseen,
    outlook::{Settled, settle},
};
use crate::{
    Applied, Decision, Gap, Inputs, decision::DoomedKind, explain::Explanation, inputs::Live,
    place::Conclusion,
};

/// What stands for the uid of a Workload that does not exist.
const KNOWN_AFTER_APPLY: &str = "(known after apply)";

/// What an apply or a deletion would do.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// The namespace of the Workload.
    pub namespace: String,
    /// The name of the Workload.
    pub name: String,
    /// What would become of each object behind the Workload, in the order in which it happens.
    pub changes: Vec<Change>,
    /// What the Workload would say of itself right after.
    pub status: WorkloadStatus,
    /// Values that are not known yet. The plan is shown with [`KNOWN_AFTER_BINDING`] in their place if they will come
    /// by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Gap>,
    /// Why.
    pub explanation: Explanation,
}

/// What would be done about a Workload. One that is being deleted goes, whatever is applied to it.
pub fn preview(inputs: &Inputs, around: &Surroundings) -> Preview {
    if inputs.workload.metadata.deletion_timestamp.is_some() {
        return of_deletion(inputs);
    }
    let is_new = inputs.workload_ref().uid.is_empty();
    let inputs = as_existing(inputs);
    let settled = settle(&inputs, around);
    let later = foresight::foresee(&settled.inputs, &settled.decision, &settled.prospects);
    let status = settled.decision.basis.report(&as_applied(&settled.decision, &settled.inputs.live()));
    let mut pending = settled.decision.explanation.gaps.clone();
    let more = later.gaps.iter().filter(|gap| !pending.contains(gap)).cloned().collect::<Vec<_>>();
    let mut changes = Changes { live: inputs.live(), settled: &settled, later }.listed();
    if is_new {
        // The revision of a plan tells of the uid as well.
        for change in &mut changes {
            change.forget(&["/workloadRef/uid", "/revision"]);
        }
        changes.insert(0, Change::of_beginning(&inputs.workload));
    } else if let Some(held) = &around.held {
        changes.splice(0..0, Change::of_document(held, &inputs.workload));
    }
    pending.extend(more);
    let mut explanation = settled.decision.explanation;
    explanation.notes.extend(around.notes());
    let (namespace, name) = (inputs.namespace_name().to_owned(), inputs.workload_ref().name);
    Preview { namespace, name, changes, status, pending, explanation }
}

impl Preview {
    /// Why the platform would not carry out what is applied, if so: the document has a mistake, or a policy forbids
    /// something in it. Whatever else is not ready may become so by itself, or when others act.
    pub fn refusal(&self) -> Option<Reason> {
        let inputs = self.status.conditions.iter().find(|found| found.type_ == ConditionType::InputsValid)?;
        (inputs.status == ConditionStatus::False).then_some(inputs.reason)
    }
}

/// A Workload that does not exist, as if it did: a plan names its uid, and nothing in the API can have this one.
fn as_existing(inputs: &Inputs) -> Cow<'_, Inputs> {
    let mut inputs = Cow::Borrowed(inputs);
    if inputs.workload_ref().uid.is_empty() {
        inputs.to_mut().workload.metadata.uid = Some(KNOWN_AFTER_APPLY.to_owned());
    }
    inputs
}

/// What is decided, beside what is there.
struct Changes<'a> {
    live: Live<'a>,
    settled: &'a Settled,
    later: Foreseen,
}

impl Changes<'_> {
    fn listed(&self) -> Vec<Change> {
        let mut changes = self.claims();
        changes.extend(self.plan());
        changes.extend(self.exposure());
        changes.extend(self.released());
        changes
    }

    /// The claims that are wanted, by key.
    fn claims(&self) -> Vec<Change> {
        let later: BTreeMap<&str, &ResourceClaim> = by_name(&self.later.claims);
        let of_line = |line: &crate::status::Line| {
            let live = self.live.claims.get(line.claim.as_str()).copied();
            let name = line.claim.as_str();
            let change = if let Some(desired) = self.settled.claims.get(name) {
                Change::of_claim(live, desired)
            } else if let Some(desired) = later.get(name) {
                Change::of_claim(live, desired).with_note("once the values that it refers to are known")
            } else {
                live.map(|live| Change::of_claim(Some(live), live))?
            };
            let prospect = self.settled.prospects.get(name);
            Some(
                prospect
                    .map(outlook::Prospect::note)
                    .iter()
                    .fold(change, |change, note| change.with_note(note)),
            )
        };
        let lines = self.settled.decision.basis.claims.iter();
        lines.filter(|line| line.wanted).filter_map(of_line).collect()
    }

    fn plan(&self) -> Option<Change> {
        let live = self.live.plan.ours();
        if let Some(desired) = &self.settled.decision.plan {
            let mut change = Change::of_plan(live, desired);
            if self.settled.binds_new_claims() {
                change.forget(&["/revision", "/claims"]);
            }
            return Some(change);
        }
        if let Some(desired) = &self.later.plan {
            let mut change = Change::of_plan(live, desired).with_note("once its dependencies are ready");
            change.forget(&["/revision"]);
            return Some(change);
        }
        live.map(|live| Change::of_plan(Some(live), live))
    }

    fn exposure(&self) -> Option<Change> {
        let live = self.live.exposure.ours();
        if let Some(desired) = &self.settled.decision.exposure {
            return Some(Change::of_exposure(live, desired));
        }
        if let Some(desired) = &self.later.exposure {
            return Some(Change::of_exposure(live, desired).with_note("once its dependencies are ready"));
        }
        live.map(|live| Change::of_exposure(Some(live), live))
    }

    /// The claims that nobody wants any more: they go once nothing that runs can be using them.
    fn released(&self) -> Vec<Change> {
        let placement = self.settled.decision.explanation.placement.as_ref();
        let is_decided =
            placement.is_some_and(|placement| !matches!(placement.conclusion, Conclusion::Refused(_)));
        if !is_decided {
            return Vec::new();
        }
        let lines = self.settled.decision.basis.claims.iter().filter(|line| line.wanted);
        let wanted: BTreeSet<&str> = lines.map(|line| line.claim.as_str()).collect();
        let doomed =
            self.settled.decision.delete.iter().filter(|doomed| doomed.kind == DoomedKind::ResourceClaim);
        let now: BTreeSet<&str> = doomed.map(|doomed| doomed.name.as_str()).collect();
        let released = self.live.claims.iter().filter(|(name, _)| !wanted.contains(*name));
        let change = |(name, claim): (&&str, &&ResourceClaim)| {
            let change = Change::of_release(claim);
            if claim.metadata.deletion_timestamp.is_some() || now.contains(name) {
                change
            } else {
                change.with_note("once the running version does without it")
            }
        };
        released.map(change).collect()
    }
}

fn by_name(claims: &[ResourceClaim]) -> BTreeMap<&str, &ResourceClaim> {
    claims.iter().filter_map(|claim| Some((claim.metadata.name.as_deref()?, claim))).collect()
}

/// A decision as it would be if the API took all of it.
fn as_applied(decision: &Decision, live: &Live<'_>) -> Applied {
    let now = decision.basis.now;
    let claim = |claim: &ResourceClaim| {
        let name = claim.metadata.name.clone().unwrap_or_default();
        let held = live.claims.get(name.as_str()).copied();
        let is_same = held.is_some_and(|held| held.spec == claim.spec);
        let held_claim = ResourceClaim {
            metadata: as_held(&claim.metadata, held.map(|held| &held.metadata), is_same, now),
            spec: claim.spec.clone(),
            status: held.and_then(|held| held.status.clone()),
        };
        (name, Ok(held_claim))
    };
    let plan = decision.plan.as_ref().map(|plan| {
        let held = live.plan.ours();
        let is_same = held.is_some_and(|held| held.spec == plan.spec);
        Ok(WorkloadPlan {
            metadata: as_held(&plan.metadata, held.map(|held| &held.metadata), is_same, now),
            spec: plan.spec.clone(),
            status: held.and_then(|held| held.status.clone()),
        })
    });
    let exposure = decision.exposure.as_ref().map(|exposure| {
        let held = live.exposure.ours();
        let is_same = held.is_some_and(|held| held.spec == exposure.spec);
        Ok(WorkloadExposure {
            metadata: as_held(&exposure.metadata, held.map(|held| &held.metadata), is_same, now),
            spec: exposure.spec.clone(),
            status: held.and_then(|held| held.status.clone()),
        })
    });
    Applied { claims: decision.claims.iter().map(claim).collect(), plan, exposure, trouble: None }
}

/// The metadata of an object after an apply: what others have put there stays.
fn as_held(desired: &ObjectMeta, held: Option<&ObjectMeta>, is_same: bool, now: Timestamp) -> ObjectMeta {
    let Some(held) = held else {
        let creation_timestamp = Some(Time(now));
        return ObjectMeta { generation: Some(1), creation_timestamp, ..desired.clone() };
    };
    let mut labels = held.labels.clone().unwrap_or_default();
    labels.extend(desired.labels.clone().unwrap_or_default());
    ObjectMeta {
        generation: held.generation.map(|generation| generation + i64::from(!is_same)),
        labels: Some(labels),
        owner_references: desired.owner_references.clone(),
        ..held.clone()
    }
}
