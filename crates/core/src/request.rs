//! Step three: requirements of a Workload on its placement, and the current placement.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{WorkloadPlan, annotation, plan::Amounts};
use orchestra_score::{
    model,
    quantity::{Quantity, QuantityError},
};

use crate::{
    claim_state::was_bound,
    config::provisioner::{self, ResourceRequest},
    inputs::{Inputs, Owned},
    place::{self, Current, Move, PlacementOutcome, Refusal, Request},
    policy::Effective,
};

/// Required features of a Workload.
pub(crate) fn requirements(annotations: &BTreeMap<String, String>) -> BTreeSet<String> {
    let listed = annotations.get(annotation::REQUIREMENTS).map(String::as_str).unwrap_or_default();
    listed.split(',').map(str::trim).filter(|feature| !feature.is_empty()).map(ToOwned::to_owned).collect()
}

/// Places a Workload.
pub(crate) fn place(
    inputs: &Inputs,
    live: &Owned<'_>,
    document: &model::Workload,
    effective: &Effective,
    requirements: &BTreeSet<String>,
) -> PlacementOutcome {
    let annotation = |key: &str| effective.annotations.get(key).map(String::as_str);
    let no_labels = BTreeMap::new();
    let data = data(inputs, live);
    let plan = live.plan.ours();
    let placement = plan.map(|plan| plan.spec.placement());
    let placement =
        placement.or_else(|| live.claims.values().map(|claim| claim.spec.placement.clone()).min());
    let requests = effective.compute.values().map(|compute| &compute.requests);
    // The profile of the author is in the document; a default of a policy has lower precedence.
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
            region: annotation(annotation::REGION),
            cpu: total(requests.clone(), |amounts| amounts.cpu.as_deref(), Quantity::cpu),
            memory: total(requests, |amounts| amounts.memory.as_deref(), Quantity::memory),
            move_to: annotation(annotation::MOVE)
                .map(|to| if to == annotation::MOVE_TO_BEST { Move::Best } else { Move::Backend(to) }),
            abandon_data: annotation(annotation::ABANDON_DATA) == Some("true"),
            current: placement.as_ref().map(|placement| Current {
                placement,
                profile: plan.map(|plan| plan.spec.profile.as_str()),
                requirements: plan.map(|plan| plan.spec.requirements.as_slice()).unwrap_or_default(),
                unchanged: plan
                    .is_some_and(|plan| is_unchanged(inputs, plan, annotation(annotation::REGION))),
                data: &data,
            }),
        },
    )
}

/// Refusal of the profile of a Workload if only these were allowed.
pub(crate) fn forbid_profile(
    inputs: &Inputs,
    live: &Owned<'_>,
    document: &model::Workload,
    effective: &Effective,
    allowed: &BTreeSet<String>,
) -> Option<Refusal> {
    let effective = Effective { allowed_profiles: Some(allowed.clone()), ..effective.clone() };
    let outcome = place(inputs, live, document, &effective, &requirements(&effective.annotations));
    outcome.result.err().filter(|refusal| matches!(refusal, Refusal::ProfileNotAllowed { .. }))
}

/// True if the Workload has not changed since it was placed. The exposure records the placed generation.
fn is_unchanged(inputs: &Inputs, plan: &WorkloadPlan, region: Option<&str>) -> bool {
    let placed = inputs.exposure.as_ref().map(|exposure| exposure.spec.observed_workload_generation);
    placed == Some(inputs.generation())
        && plan.spec.labels == inputs.workload.metadata.labels.clone().unwrap_or_default()
        && plan.spec.region.as_deref() == region
}

/// Keys of dependencies with data.
fn data(inputs: &Inputs, live: &Owned<'_>) -> Vec<String> {
    let is_stateful = |claim: &&&orchestra_api::ResourceClaim| {
        was_bound(claim) && provisioner::stateful(&inputs.config, &ResourceRequest::of(&claim.spec))
    };
    live.claims.values().filter(is_stateful).map(|claim| claim.spec.key.clone()).collect()
}

/// Sum of amounts; unreadable ones have been rejected before.
fn total<'a>(
    amounts: impl Iterator<Item = &'a Amounts>,
    part: fn(&Amounts) -> Option<&str>,
    read: fn(&str) -> Result<Quantity, QuantityError>,
) -> Quantity {
    let readable = amounts.filter_map(|amounts| part(amounts).and_then(|text| read(text).ok()));
    readable.fold(Quantity::ZERO, |sum, amount| sum.plus(amount).unwrap_or(sum))
}
