//! Explanation of a Workload: the chain from the cause to the condition.

use orchestra_api::{
    Condition, ConditionStatus, ConditionType, Placement, Reason, ResourceClaim, annotation,
    claim::Phase,
    plan::{self, Kind},
    workload::WorkloadStatus,
};
use serde::Serialize;

use super::{PreviewContext, next_step, preview};
use crate::{
    Inputs, claim_state, claims,
    config::{
        builtin,
        provisioner::{self, ResourceRequest},
    },
    explain::Explanation,
    place::{self, Conclusion},
    plan as decide, provision,
};

/// Explanation of a Workload.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Explained generation.
    pub generation: i64,
    /// True if it is ready.
    pub ready: bool,
    /// True if it is being deleted.
    pub being_deleted: bool,
    /// True if the status is about this generation. If not, it is the expected one.
    pub observed: bool,
    /// Status.
    pub status: WorkloadStatus,
    /// Failing conditions, the first cause first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// Plan in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    /// Dependencies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
    /// Explanation of the decision.
    pub explanation: Explanation,
    /// Next step; absent if it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Condition that is not true, with its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Condition.
    pub condition: ConditionType,
    /// `False` or `Unknown`.
    pub status: ConditionStatus,
    /// Reason.
    pub reason: Reason,
    /// Message.
    pub message: String,
    /// Causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
}

/// Plan in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// Placement.
    #[serde(flatten)]
    pub placement: Placement,
    /// Profile.
    pub profile: String,
    /// Service or job.
    pub kind: Kind,
    /// Phase of the plan.
    pub phase: plan::Phase,
    /// Planned generation.
    pub generation: i64,
}

/// Dependency of the Workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// Key of the resource.
    pub key: String,
    /// Resource type.
    #[serde(rename = "type")]
    pub type_: String,
    /// Resource class.
    pub class: String,
    /// Id under which it is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of its claim.
    pub claim: String,
    /// Provider.
    pub provider: Provider,
    /// Phase of the claim.
    pub phase: Phase,
    /// Message of the claim.
    pub message: String,
    /// True if its outputs are available.
    pub outputs_available: bool,
    /// Names of its outputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
}

/// Provider of a dependency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Provider {
    /// An engine.
    Engine(String),
    /// An external controller.
    Others,
    /// None, with the reason.
    None(String),
}

/// Explains a Workload.
pub fn explain(inputs: &Inputs, context: &PreviewContext) -> Explained {
    let mut explanation = decide(inputs).explanation;
    explanation.notes.extend(context.notes());
    let generation = inputs.generation();
    let reported = inputs
        .workload
        .status
        .clone()
        .filter(|status| status.observed_generation == Some(generation) && !status.conditions.is_empty());
    let observed = reported.is_some();
    let status = reported.unwrap_or_else(|| preview(inputs, context).status);
    let ready = status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready);
    let live = inputs.owned();
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
        dependencies: live.claims.values().map(|claim| dependency(inputs, context, claim)).collect(),
        explanation,
        next: None,
        status,
    };
    explained.dependencies.sort_by(|a, b| (&a.key, &a.claim).cmp(&(&b.key, &b.claim)));
    explained.causes = explained.causes();
    let is_suspended = inputs.workload.metadata.annotations.as_ref().is_some_and(annotation::suspends);
    explained.next = (!explained.ready).then(|| next_step::next(&explained, is_suspended));
    explained
}

fn dependency(inputs: &Inputs, context: &PreviewContext, claim: &ResourceClaim) -> Dependency {
    let summary = claims::summary(claim, inputs.owned().is_kept(claim), true);
    let is_available =
        |engine: &str| context.engines.as_ref().is_some_and(|known| known.contains_key(engine));
    let selected = provisioner::select(&inputs.config, &ResourceRequest::of(&claim.spec), is_available);
    let provider = match (claim_state::engine(claim), selected) {
        (Some(engine), _) => Provider::Engine(engine.clone()),
        (None, Ok(entry)) if entry.engine == provision::EXTERNAL => Provider::Others,
        (None, Ok(entry)) => {
            let runtime_class = &claim.spec.placement.runtime_class;
            Provider::Engine(builtin::resolved(entry, runtime_class, is_available).engine)
        }
        (None, Err(no_match)) => Provider::None(no_match.to_string()),
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

    /// Causes of a condition that is not true.
    fn because(&self, condition: &Condition) -> Vec<String> {
        let Explanation { mistakes, violations, placement, gaps, .. } = &self.explanation;
        match condition.type_ {
            ConditionType::InputsValid => {
                let mistakes = mistakes.iter().map(ToString::to_string);
                mistakes.chain(violations.iter().map(|violation| violation.message.clone())).collect()
            }
            ConditionType::ClaimsReady => {
                let waiting = self.dependencies.iter().filter(|dependency| !dependency.outputs_available);
                let is_requested = |key: &str| self.dependencies.iter().any(|known| known.key == key);
                let unrequested = self.status.claims.iter().filter(|row| !is_requested(&row.key));
                let unrequested = unrequested.map(|row| format!("Resource `{}`: {}", row.key, row.message));
                waiting.map(ToString::to_string).chain(unrequested).collect()
            }
            ConditionType::RuntimeReady => {
                let refused =
                    placement.iter().filter(|found| matches!(found.conclusion, Conclusion::Refused(_)));
                let considered = refused.flat_map(place::Explanation::considered);
                gaps.iter().map(|gap| gap.message.clone()).chain(considered).collect()
            }
            ConditionType::Ready => Vec::new(),
        }
    }
}
