//! Validation of owner references.

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::object_meta::{items, text};

/// Checks owner references: their parts, and that only one of them is the controller.
pub(super) fn validate_owner_references(owners: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for owner in items(owners) {
        validate_owner(&mut errors, owner, field);
        if owner["controller"] == true {
            let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &controller {
                Some(first) => errors.push(FieldError::invalid(
                    field,
                    owners,
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for \
                         {first} and {name}"
                    ),
                )),
                None => controller = Some(name),
            }
        }
    }
    errors
}

fn validate_owner(errors: &mut Vec<FieldError>, owner: &Value, field: &str) {
    let api_version = text(owner, "apiVersion");
    // An API version has at most one slash.
    let version = match api_version.split_once('/') {
        None => api_version,
        Some((_, version)) if version.contains('/') => "",
        Some((_, version)) => version,
    };
    if version.is_empty() {
        let detail = "version must not be empty";
        errors.push(FieldError::invalid(format!("{field}.apiVersion"), &json!(api_version), detail));
    }
    for name in ["kind", "name", "uid"] {
        if text(owner, name).is_empty() {
            errors.push(FieldError::invalid(format!("{field}.{name}"), &json!(""), "must not be empty"));
        }
    }
    if matches!(api_version, "v1" | "/v1") && text(owner, "kind") == "Event" {
        errors.push(FieldError::invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
}
