//! Decision after all awaited values are available.
//!
//! The values are unknown, so the decision is repeated with claims bound to placeholders. Its result is the future plan, up
//! to these values. Outputs of static entries are known from the config, except for secrets, which stay references.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{
    ResourceClaim, WorkloadExposure, WorkloadPlan,
    claim::{Output, Phase},
};
use serde_json::{Map, Value as Json, json};

use super::claim_forecast::Forecast;
use crate::{Decision, Gap, Inputs, plan};

/// Placeholder of a value that is not known yet.
pub const KNOWN_AFTER_BINDING: &str = "(known after binding)";

/// Objects that are written later.
#[derive(Debug, Default)]
pub(super) struct KnownAfterApply {
    pub(super) claims: Vec<ResourceClaim>,
    pub(super) plan: Option<WorkloadPlan>,
    pub(super) exposure: Option<WorkloadExposure>,
    /// Values that are still missing then.
    pub(super) gaps: Vec<Gap>,
}

/// Objects that follow a decision once its awaited values are available. Forecasts are by name of the claim.
pub(super) fn derive(
    inputs: &Inputs,
    decision: &Decision,
    forecasts: &BTreeMap<String, Forecast>,
) -> KnownAfterApply {
    let mut later = KnownAfterApply::default();
    let (mut inputs, mut decision) = (inputs.clone(), decision.clone());
    // Each round binds at least one more claim, or is the last.
    for _ in 0..=decision.status_inputs.claims.len() {
        let awaited: Vec<Gap> = decision.explanation.gaps.iter().filter(|gap| gap.awaited).cloned().collect();
        if awaited.is_empty() {
            break;
        }
        add_claims(&mut inputs, &decision);
        for gap in &awaited {
            bind(&mut inputs, &decision, gap, forecasts);
        }
        let next = plan(&inputs);
        if next.explanation.gaps == decision.explanation.gaps {
            break;
        }
        let known: BTreeSet<_> = later.claims.iter().map(|claim| claim.metadata.name.clone()).collect();
        let more = next.claims.iter().filter(|claim| !known.contains(&claim.metadata.name));
        later.claims.extend(more.cloned());
        later.plan.clone_from(&next.plan);
        later.exposure.clone_from(&next.exposure);
        later.gaps = next.explanation.gaps.iter().filter(|gap| !gap.awaited).cloned().collect();
        decision = next;
    }
    later
}

/// Adds the claims of a decision to the inputs.
fn add_claims(inputs: &mut Inputs, decision: &Decision) {
    for claim in &decision.claims {
        let existing =
            inputs.claims.iter_mut().find(|existing| existing.metadata.name == claim.metadata.name);
        match existing {
            Some(existing) => existing.spec.clone_from(&claim.spec),
            None => inputs.claims.push(claim.clone()),
        }
    }
}

/// Binds a claim to a placeholder of the missing output.
fn bind(inputs: &mut Inputs, decision: &Decision, gap: &Gap, forecasts: &BTreeMap<String, Forecast>) {
    let row = decision
        .status_inputs
        .claims
        .iter()
        .find(|row| row.wanted && Some(&row.key) == gap.resource.as_ref());
    let claim = row.and_then(|row| {
        inputs.claims.iter_mut().find(|claim| claim.metadata.name.as_deref() == Some(row.claim.as_str()))
    });
    let Some(claim) = claim else { return };
    let status = claim.status.get_or_insert_default();
    status.phase = Phase::Bound;
    status.outputs_available = true;
    status.observed_generation = None;
    let forecast = claim.metadata.name.as_ref().and_then(|name| forecasts.get(name));
    if let Some(entry) = forecast.and_then(Forecast::existing) {
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
    status.outputs.insert(name.to_owned(), Output::Value(with_placeholder(before, &path)));
}

/// Value with a placeholder at a path.
fn with_placeholder(value: Json, path: &[&str]) -> Json {
    let Some((key, rest)) = path.split_first() else { return json!(KNOWN_AFTER_BINDING) };
    let mut map = match value {
        Json::Object(map) => map,
        _ => Map::new(),
    };
    let inner = map.remove(*key).unwrap_or_default();
    map.insert((*key).to_owned(), with_placeholder(inner, rest));
    Json::Object(map)
}
