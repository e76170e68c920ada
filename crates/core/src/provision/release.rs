//! Claims that are being deleted. Nothing is taken from under what still runs; the last claim takes the instance
//! down, as the most careful of those that leave together wishes.

use orchestra_api::{ResourceClaim, annotation};

use super::{Decision, Inputs, Release, Work, is_ours, name_of};

pub(super) fn decide(inputs: &Inputs, dying: &[&ResourceClaim], is_held: bool, decision: &mut Decision) {
    let ours: Vec<_> = dying.iter().copied().filter(|claim| is_ours(claim)).collect();
    if is_held {
        decision.let_go.extend(ours.into_iter().map(name_of));
        return;
    }
    let Some(first) = ours.first() else { return };
    let engine = ours.iter().find_map(|claim| claim.metadata.annotations.as_ref()?.get(annotation::ENGINE));
    let Some(engine) = engine else {
        // Nothing was made before the engine was noted.
        decision.let_go.extend(ours.into_iter().map(name_of));
        return;
    };
    decision.work = Some(Work::Release(Release {
        namespace: inputs.namespace.clone(),
        id: inputs.instance.clone(),
        type_: first.spec.type_.clone(),
        engine: engine.clone(),
        policy: ours.iter().map(|claim| claim.spec.deprovision_policy).max().unwrap_or_default(),
        claims: ours.into_iter().map(name_of).collect(),
    }));
}

/// Whether the release of an instance has begun: then it is brought to its end, whoever asks for it anew.
pub(super) fn is_begun(claim: &ResourceClaim) -> bool {
    is_ours(claim)
        && claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(annotation::RELEASING))
}
