//! Decision about claims that are being deleted. The last claim releases the instance, with the most conservative
//! deprovision policy of the claims deleted together.

use orchestra_api::{ResourceClaim, annotation};

use super::{Decision, Inputs, Release, Work, name_of};
use crate::claim_state::{has_finalizer, is_releasing};

pub(super) fn decide(inputs: &Inputs, deleted: &[&ResourceClaim], is_kept: bool, decision: &mut Decision) {
    let ours: Vec<_> = deleted.iter().copied().filter(|claim| has_finalizer(claim)).collect();
    if is_kept {
        decision.remove_finalizer.extend(ours.into_iter().map(name_of));
        return;
    }
    let Some(first) = ours.first() else { return };
    let engine = ours.iter().find_map(|claim| claim.metadata.annotations.as_ref()?.get(annotation::ENGINE));
    let Some(engine) = engine else {
        // Nothing is provisioned before the engine is recorded.
        decision.remove_finalizer.extend(ours.into_iter().map(name_of));
        return;
    };
    decision.work = Some(Work::Release(Release {
        namespace: inputs.namespace.clone(),
        id: inputs.instance.clone(),
        type_: first.spec.type_.clone(),
        engine: engine.clone(),
        policy: ours.iter().map(|claim| claim.spec.deprovision_policy).max().unwrap_or_default(),
        start: ours.iter().copied().filter(|claim| !is_releasing(claim)).map(name_of).collect(),
        claims: ours.into_iter().map(name_of).collect(),
    }));
}
