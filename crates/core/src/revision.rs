//! The revision of a plan: a hash of what it means.
//!
//! Fields at their defaults are left out when a plan is written, so a new binary that knows more fields gives an
//! unchanged plan the same revision, and rolls nothing.

use orchestra_api::{name, plan::WorkloadPlanSpec};
use serde_json::Value as Json;

/// The revision of a plan, whatever revision and generation it bears.
pub fn of(spec: &WorkloadPlanSpec) -> String {
    let mut meaning = serde_json::to_value(spec).unwrap_or_default();
    if let Json::Object(fields) = &mut meaning {
        for administrative in ["revision", "observedWorkloadGeneration"] {
            fields.remove(administrative);
        }
        // It follows from type, class and id; without the id, from what else the claim says.
        for claim in fields.get_mut("claims").and_then(Json::as_array_mut).into_iter().flatten() {
            claim.as_object_mut().map(|claim| claim.remove("instance"));
        }
    }
    // Maps are sorted, so the text is the same for the same meaning.
    name::hash(&[&meaning.to_string()])
}
