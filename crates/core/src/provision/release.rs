//! Claims that are being deleted. Nothing is taken from under what still runs; the last claim takes the instance
//! down, as the most careful of those that leave together wishes.

use orchestra_api::{
    ResourceClaim, annotation,
    claim::{Phase, ResourceClaimStatus},
    condition::Reason,
};

use super::{Decision, Inputs, Release, Work, is_ours, name_of};

pub(super) fn decide(inputs: &Inputs, dying: &[&ResourceClaim], is_held: bool, decision: &mut Decision) {
    let ours: Vec<_> = dying.iter().copied().filter(|claim| is_ours(claim)).collect();
    let (used, free): (Vec<_>, Vec<_>) =
        ours.into_iter().partition(|claim| inputs.in_use.contains(&name_of(claim)) && !is_begun(claim));
    for claim in &used {
        decision.statuses.insert(name_of(claim), waiting(claim));
    }
    if is_held || !used.is_empty() {
        decision.let_go.extend(free.into_iter().map(name_of));
        return;
    }
    let Some(first) = free.first() else { return };
    let engine = free.iter().find_map(|claim| claim.metadata.annotations.as_ref()?.get(annotation::ENGINE));
    let Some(engine) = engine else {
        // Nothing was made before the engine was noted.
        decision.let_go.extend(free.into_iter().map(name_of));
        return;
    };
    decision.work = Some(Work::Release(Release {
        namespace: inputs.namespace.clone(),
        id: inputs.instance.clone(),
        type_: first.spec.type_.clone(),
        engine: engine.clone(),
        policy: free.iter().map(|claim| claim.spec.deprovision_policy).max().unwrap_or_default(),
        claims: free.into_iter().map(name_of).collect(),
    }));
}

/// Whether the release of an instance has begun: then it is brought to its end, whoever asks for it anew.
pub(super) fn is_begun(claim: &ResourceClaim) -> bool {
    is_ours(claim)
        && claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(annotation::RELEASING))
}

fn waiting(claim: &ResourceClaim) -> ResourceClaimStatus {
    let before = claim.status.clone().unwrap_or_default();
    ResourceClaimStatus {
        phase: if before.phase == Phase::Bound { Phase::Bound } else { Phase::Pending },
        reason: Some(Reason::BindingPending),
        message: Some("It is released once nothing that runs uses it.".to_owned()),
        ..before
    }
}
