//! `Lease`.

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::Rules;

pub(super) const RULES: Rules =
    Rules { defaults, on_create: |_| {}, decode: super::accept_all, validate, warnings: super::no_warnings };

fn defaults(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("spec").or_insert_with(|| json!({}));
    }
}

fn validate(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    if spec["leaseDurationSeconds"].as_i64().is_some_and(|seconds| seconds <= 0) {
        errors.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            &spec["leaseDurationSeconds"],
            "must be greater than 0",
        ));
    }
    if spec["leaseTransitions"].as_i64().is_some_and(|count| count < 0) {
        errors.push(FieldError::invalid(
            "spec.leaseTransitions",
            &spec["leaseTransitions"],
            "must be greater than or equal to 0",
        ));
    }
    errors
}
