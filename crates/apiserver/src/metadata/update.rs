//! Validation of changes to `metadata`.

use std::collections::BTreeSet;

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::object_meta::{items, text, validate_common};

/// Checks the `metadata` of a changed object against the old one. `field` is its path: `metadata`.
pub(crate) fn validate_object_meta_update(new: &Value, old: &Value, field: &str) -> Vec<FieldError> {
    let at = |name: &str| format!("{field}.{name}");
    let mut errors = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        let added = added_finalizers(new, old);
        if !added.is_empty() {
            errors.push(FieldError::forbidden(
                at("finalizers"),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers {}",
                    added.join(", ")
                ),
            ));
        }
    }
    if text(new, "resourceVersion").is_empty() {
        errors.push(FieldError::invalid(
            at("resourceVersion"),
            &json!(""),
            "must be specified for an update",
        ));
    }
    let generation = |meta: &Value| meta["generation"].as_i64().unwrap_or(0);
    if generation(new) < generation(old) {
        let detail = "must not be decremented";
        errors.push(FieldError::invalid(at("generation"), &json!(generation(new)), detail));
    }
    for name in ["name", "namespace", "uid"] {
        if text(new, name) != text(old, name) {
            errors.push(FieldError::invalid(at(name), &json!(text(new, name)), IMMUTABLE));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new[name] != old[name] {
            errors.push(FieldError::invalid(at(name), &new[name], IMMUTABLE));
        }
    }
    errors.extend(validate_common(new, field, |_| {}));
    errors
}

const IMMUTABLE: &str = "field is immutable";

/// Added finalizers, quoted and sorted.
fn added_finalizers(new: &Value, old: &Value) -> Vec<String> {
    let names = |meta: &Value| -> BTreeSet<String> {
        items(&meta["finalizers"]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    names(new).difference(&names(old)).map(|name| format!("{name:?}")).collect()
}
