//! Step three, from the Workload's side: what it asks of the place where it runs, and where it is now.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{WorkloadPlan, annotation, plan::Amounts};
use orchestra_score::{
    model,
    quantity::{Quantity, QuantityError},
};

use crate::{
    config::provisioner::{self, Wanted},
    inputs::{Inputs, Live},
    outputs::was_bound,
    place::{self, Current, Move, Outcome, Refusal, Request},
    policy::Effective,
};

/// The features that a Workload asks for.
pub(crate) fn requirements(annotations: &BTreeMap<String, String>) -> BTreeSet<String> {
    let listed = annotations.get(annotation::REQUIREMENTS).map(String::as_str).unwrap_or_default();
    listed.split(',').map(str::trim).filter(|feature| !feature.is_empty()).map(ToOwned::to_owned).collect()
}

/// Finds the place where a Workload runs.
pub(crate) fn place(
    inputs: &Inputs,
    live: &Live<'_>,
    document: &model::Workload,
    effective: &Effective,
    requirements: &BTreeSet<String>,
) -> Outcome {
    let says = |key: &str| effective.annotations.get(key).map(String::as_str);
    let no_labels = BTreeMap::new();
    let data = data(inputs, live);
    let plan = live.plan.ours();
    let placement = plan.map(|plan| plan.spec.placement());
    let placement =
        placement.or_else(|| live.claims.values().map(|claim| claim.spec.placement.clone()).min());
    let requests = effective.compute.values().map(|compute| &compute.requests);
    // The author's own hint is in the document; what a policy fills in has a lower rank.
    let hint = document.metadata.annotations.as_ref().and_then(|all| all.get(annotation::PROFILE));
    let policy_profile =
        effective.profile.as_ref().map(|(profile, policy)| (profile.as_str(), policy.as_str()));
    place::place(
        &inputs.config,
        &Request {
            labels: inputs.workload.metadata.labels.as_ref().unwrap_or(&no_labels),
            profile: hint.map(String::as_str),
            policy_profile,
            allowed_profiles: effective.allowed_profiles.as_ref(),
            requirements,
            region: says(annotation::REGION),
            cpu: total(requests.clone(), |amounts| amounts.cpu.as_deref(), Quantity::cpu),
            memory: total(requests, |amounts| amounts.memory.as_deref(), Quantity::memory),
            move_to: says(annotation::MOVE)
                .map(|to| if to == annotation::MOVE_TO_BEST { Move::Best } else { Move::Backend(to) }),
            abandon_data: says(annotation::ABANDON_DATA) == Some("true"),
            current: placement.as_ref().map(|placement| Current {
                placement,
                profile: plan.map(|plan| plan.spec.profile.as_str()),
                requirements: plan.map(|plan| plan.spec.requirements.as_slice()).unwrap_or_default(),
                unchanged: plan.is_some_and(|plan| is_unchanged(inputs, plan, says(annotation::REGION))),
                data: &data,
            }),
        },
    )
}

/// Why the profile of a Workload would be refused if only these were allowed; nothing if it would not.
pub(crate) fn forbid_profile(
    inputs: &Inputs,
    live: &Live<'_>,
    document: &model::Workload,
    effective: &Effective,
    allowed: &BTreeSet<String>,
) -> Option<Refusal> {
    let effective = Effective { allowed_profiles: Some(allowed.clone()), ..effective.clone() };
    let outcome = place(inputs, live, document, &effective, &requirements(&effective.annotations));
    outcome.result.err().filter(|refusal| matches!(refusal, Refusal::ProfileNotAllowed { .. }))
}

/// Whether the Workload asks for what it asked for when it was placed. The exposure notes each generation that was.
fn is_unchanged(inputs: &Inputs, plan: &WorkloadPlan, region: Option<&str>) -> bool {
    let noted = inputs.exposure.as_ref().map(|exposure| exposure.spec.observed_workload_generation);
    noted == Some(inputs.generation())
        && plan.spec.labels == inputs.workload.metadata.labels.clone().unwrap_or_default()
        && plan.spec.region.as_deref() == region
}

/// The keys of dependencies that hold data where they are.
fn data(inputs: &Inputs, live: &Live<'_>) -> Vec<String> {
    let holds_data = |claim: &&&orchestra_api::ResourceClaim| {
        was_bound(claim) && provisioner::stateful(&inputs.config, &Wanted::by(&claim.spec))
    };
    live.claims.values().filter(holds_data).map(|claim| claim.spec.key.clone()).collect()
}

/// The sum of amounts; what cannot be read has been refused before.
fn total<'a>(
    amounts: impl Iterator<Item = &'a Amounts>,
    part: fn(&Amounts) -> Option<&str>,
    read: fn(&str) -> Result<Quantity, QuantityError>,
) -> Quantity {
    let readable = amounts.filter_map(|amounts| part(amounts).and_then(|text| read(text).ok()));
    readable.fold(Quantity::ZERO, |sum, amount| sum.plus(amount).unwrap_or(sum))
}
