//! Revision of a plan: a hash of its content.
//!
//! Fields with default values are not serialised, so a new binary with more fields gives an unchanged plan the same
//! revision, and rolls out nothing.

use orchestra_api::{name, plan::WorkloadPlanSpec};
use serde_json::Value as Json;

/// Revision of a plan, regardless of its revision and generation fields.
pub fn of(spec: &WorkloadPlanSpec) -> String {
    let mut content = serde_json::to_value(spec).unwrap_or_default();
    if let Json::Object(fields) = &mut content {
        for administrative in ["revision", "observedWorkloadGeneration"] {
            fields.remove(administrative);
        }
        // It follows from the other fields of the claim.
        for claim in fields.get_mut("claims").and_then(Json::as_array_mut).into_iter().flatten() {
            claim.as_object_mut().map(|claim| claim.remove("instance"));
        }
    }
    // Maps are sorted, so equal content has equal text.
    name::hash(&[&content.to_string()])
}
