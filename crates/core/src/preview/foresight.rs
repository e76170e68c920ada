//! What follows once everything that is awaited is there.
//!
//! The values are not known, so the same decision is asked for again on claims that are bound to a stand-in. What it
//! answers is the plan to come, up to these values. Of things that exist already the platform's document tells all but
//! the secrets, which stay references.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{
    ResourceClaim, WorkloadExposure, WorkloadPlan,
    claim::{Output, Phase},
};
use serde_json::{Map, Value as Json, json};

use super::outlook::Prospect;
use crate::{Decision, Gap, Inputs, plan};

/// What stands for a value that is not known yet.
pub const KNOWN_AFTER_BINDING: &str = "(known after binding)";

/// What is written later than at once.
#[derive(Debug, Default)]
pub(super) struct Foreseen {
    pub(super) claims: Vec<ResourceClaim>,
    pub(super) plan: Option<WorkloadPlan>,
    pub(super) exposure: Option<WorkloadExposure>,
    /// Values that will be missing even then.
    pub(super) gaps: Vec<Gap>,
}

/// What follows a decision by itself. What is known of claims is given by their name.
pub(super) fn foresee(
    inputs: &Inputs,
    decision: &Decision,
    prospects: &BTreeMap<String, Prospect>,
) -> Foreseen {
    let mut foreseen = Foreseen::default();
    let (mut inputs, mut decision) = (inputs.clone(), decision.clone());
    // Each round binds at least one more claim, or there is nothing more to see.
    for _ in 0..=decision.basis.claims.len() {
        let awaited: Vec<Gap> = decision.explanation.gaps.iter().filter(|gap| gap.awaited).cloned().collect();
        if awaited.is_empty() {
            break;
        }
        hold(&mut inputs, &decision);
        for gap in &awaited {
            bind(&mut inputs, &decision, gap, prospects);
        }
        let next = plan(&inputs);
        if next.explanation.gaps == decision.explanation.gaps {
            break;
        }
        let known: BTreeSet<_> = foreseen.claims.iter().map(|claim| claim.metadata.name.clone()).collect();
        let more = next.claims.iter().filter(|claim| !known.contains(&claim.metadata.name));
        foreseen.claims.extend(more.cloned());
        foreseen.plan.clone_from(&next.plan);
        foreseen.exposure.clone_from(&next.exposure);
        foreseen.gaps = next.explanation.gaps.iter().filter(|gap| !gap.awaited).cloned().collect();
        decision = next;
    }
    foreseen
}

/// Has the claims of a decision be there.
fn hold(inputs: &mut Inputs, decision: &Decision) {
    for claim in &decision.claims {
        let held = inputs.claims.iter_mut().find(|held| held.metadata.name == claim.metadata.name);
        match held {
            Some(held) => held.spec.clone_from(&claim.spec),
            None => inputs.claims.push(claim.clone()),
        }
    }
}

/// Has a claim give what is missing.
fn bind(inputs: &mut Inputs, decision: &Decision, gap: &Gap, prospects: &BTreeMap<String, Prospect>) {
    let line =
        decision.basis.claims.iter().find(|line| line.wanted && Some(&line.key) == gap.resource.as_ref());
    let held = line.and_then(|line| {
        inputs.claims.iter_mut().find(|held| held.metadata.name.as_deref() == Some(line.claim.as_str()))
    });
    let Some(claim) = held else { return };
    let status = claim.status.get_or_insert_default();
    status.phase = Phase::Bound;
    status.outputs_available = true;
    status.observed_generation = None;
    let prospect = claim.metadata.name.as_ref().and_then(|name| prospects.get(name));
    if let Some(entry) = prospect.and_then(Prospect::existing) {
        status.outputs.clone_from(&entry.outputs);
        return;
    }
    let Some(output) = &gap.output else { return };
    let mut path = output.split('.');
    let Some(name) = path.next() else { return };
    let before = match status.outputs.remove(name) {
        Some(Output::Value(value)) => value,
        _ => Json::Null,
    };
    let path: Vec<&str> = path.collect();
    status.outputs.insert(name.to_owned(), Output::Value(stand_in(before, &path)));
}

/// A value with a stand-in at a path, beside what is there already.
fn stand_in(value: Json, path: &[&str]) -> Json {
    let Some((key, rest)) = path.split_first() else { return json!(KNOWN_AFTER_BINDING) };
    let mut map = match value {
        Json::Object(map) => map,
        _ => Map::new(),
    };
    let inner = map.remove(*key).unwrap_or_default();
    map.insert((*key).to_owned(), stand_in(inner, rest));
    Json::Object(map)
}
