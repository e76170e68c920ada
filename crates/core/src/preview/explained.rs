//! Why a Workload is as it is: the chain from the cause to the condition.

use orchestra_api::{
    Condition, ConditionStatus, ConditionType, Placement, Reason, ResourceClaim,
    claim::Phase,
    plan::{self, Kind},
    workload::WorkloadStatus,
};
use serde::Serialize;

use super::{Surroundings, advice, preview};
use crate::{
    Inputs, claims,
    config::{
        builtin,
        provisioner::{self, Wanted},
    },
    explain::Explanation,
    place::Conclusion,
    plan as decide, provision,
};

/// Why a Workload is as it is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The generation that is explained.
    pub generation: i64,
    /// Whether all is well.
    pub ready: bool,
    /// Whether it is on its way out.
    pub being_deleted: bool,
    /// Whether the platform has looked at this generation. If it has not, the status is what it will find.
    pub observed: bool,
    /// What it says of itself.
    pub status: WorkloadStatus,
    /// What fails, the first cause first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// What is planned to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    /// What it depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
    /// Why the platform decides as it does.
    pub explanation: Explanation,
    /// What to do; nothing if it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A condition that does not hold, and what is behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The condition.
    pub condition: ConditionType,
    /// Whether it fails, or cannot be told.
    pub status: ConditionStatus,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: String,
    /// What is behind it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
}

/// What is planned to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// Where.
    #[serde(flatten)]
    pub placement: Placement,
    /// The profile.
    pub profile: String,
    /// Whether it runs on, or to an end.
    pub kind: Kind,
    /// How far its runtime is with it.
    pub phase: plan::Phase,
    /// The generation for which this was planned.
    pub generation: i64,
}

/// Something that the Workload depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// The key of the resource.
    pub key: String,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub type_: String,
    /// Which sort of it.
    pub class: String,
    /// The identity under which it is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name of its claim.
    pub claim: String,
    /// Who provides it: an engine, or why nobody does.
    pub provider: Provider,
    /// How far it is.
    pub phase: Phase,
    /// What is said of it.
    pub message: String,
    /// Whether its outputs can be used.
    pub outputs_available: bool,
    /// The names of its outputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
}

/// Who provides a dependency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Provider {
    /// An engine.
    Engine(String),
    /// A provisioner that others write.
    Others,
    /// Nobody, and why.
    Nobody(String),
}

/// Explains a Workload from everything that is known of it.
pub fn explain(inputs: &Inputs, around: &Surroundings) -> Explained {
    let mut explanation = decide(inputs).explanation;
    explanation.notes.extend(around.notes());
    let generation = inputs.generation();
    let reported = inputs
        .workload
        .status
        .clone()
        .filter(|status| status.observed_generation == Some(generation) && !status.conditions.is_empty());
    let observed = reported.is_some();
    let status = reported.unwrap_or_else(|| preview(inputs, around).status);
    let ready = status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready);
    let live = inputs.live();
    let mut explained = Explained {
        namespace: inputs.namespace_name().to_owned(),
        name: inputs.workload_ref().name,
        generation,
        ready: observed && ready.is_some_and(|ready| ready.status == ConditionStatus::True),
        being_deleted: inputs.workload.metadata.deletion_timestamp.is_some(),
        observed,
        causes: Vec::new(),
        running: live.plan.ours().map(|plan| Running {
            placement: plan.spec.placement(),
            profile: plan.spec.profile.clone(),
            kind: plan.spec.kind,
            phase: plan.status.as_ref().map(|status| status.phase).unwrap_or_default(),
            generation: plan.spec.observed_workload_generation,
        }),
        dependencies: live.claims.values().map(|claim| dependency(inputs, around, claim)).collect(),
        explanation,
        next: None,
        status,
    };
    explained.dependencies.sort_by(|a, b| (&a.key, &a.claim).cmp(&(&b.key, &b.claim)));
    explained.causes = explained.causes();
    explained.next = (!explained.ready).then(|| advice::next(&explained));
    explained
}

fn dependency(inputs: &Inputs, around: &Surroundings, claim: &ResourceClaim) -> Dependency {
    let summary = claims::summary(claim, inputs.live().is_kept(claim), true);
    let is_at_hand = |engine: &str| around.engines.as_ref().is_some_and(|known| known.contains_key(engine));
    let selected = provisioner::select(&inputs.config, &Wanted::by(&claim.spec), is_at_hand);
    let provider = match (provision::keeper(claim), selected) {
        (Some(keeper), _) => Provider::Engine(keeper.clone()),
        (None, Ok(entry)) if entry.engine == provision::EXTERNAL => Provider::Others,
        (None, Ok(entry)) => {
            let runtime_class = &claim.spec.placement.runtime_class;
            Provider::Engine(builtin::resolved(entry, runtime_class, is_at_hand).engine)
        }
        (None, Err(nobody)) => Provider::Nobody(nobody.to_string()),
    };
    let outputs = claim.status.as_ref().map(|status| status.outputs.keys().cloned().collect());
    Dependency {
        key: summary.key,
        type_: claim.spec.type_.clone(),
        class: claim.spec.class.clone(),
        id: claim.spec.id.clone(),
        claim: claim.metadata.name.clone().unwrap_or_default(),
        provider,
        phase: summary.phase,
        message: summary.message,
        outputs_available: summary.outputs_available,
        outputs: outputs.unwrap_or_default(),
    }
}

impl Explained {
    fn causes(&self) -> Vec<Cause> {
        let conditions = self.status.conditions.iter();
        let failing = conditions.filter(|condition| {
            condition.type_ != ConditionType::Ready && condition.status != ConditionStatus::True
        });
        let cause = |condition: &Condition| Cause {
            condition: condition.type_,
            status: condition.status,
            reason: condition.reason,
            message: condition.message.clone(),
            because: self.because(condition),
        };
        let mut causes: Vec<Cause> = failing.map(cause).collect();
        causes.sort_by_key(|cause| cause.condition);
        causes
    }

    /// What is behind a condition that does not hold.
    fn because(&self, condition: &Condition) -> Vec<String> {
        let Explanation { mistakes, violations, placement, gaps, .. } = &self.explanation;
        match condition.type_ {
            ConditionType::InputsValid => {
                let mistakes = mistakes.iter().map(ToString::to_string);
                mistakes.chain(violations.iter().map(|violation| violation.message.clone())).collect()
            }
            ConditionType::ClaimsReady => {
                let waiting = self.dependencies.iter().filter(|dependency| !dependency.outputs_available);
                let is_asked_for = |key: &str| self.dependencies.iter().any(|known| known.key == key);
                let unasked = self.status.claims.iter().filter(|row| !is_asked_for(&row.key));
                let unasked = unasked.map(|row| format!("Resource `{}`: {}", row.key, row.message));
                waiting.map(ToString::to_string).chain(unasked).collect()
            }
            ConditionType::RuntimeReady => {
                let refused =
                    placement.iter().filter(|found| matches!(found.conclusion, Conclusion::Refused(_)));
                let tried = refused.flat_map(|found| {
                    let profile = found.profile.as_ref();
                    let profile = profile.map(|at| format!("profile {}: {}", at.name, at.because));
                    profile.into_iter().chain(found.backends.iter().map(|at| format!("backend {at}")))
                });
                gaps.iter().map(|gap| gap.message.clone()).chain(tried).collect()
            }
            ConditionType::Ready => Vec::new(),
        }
    }
}
