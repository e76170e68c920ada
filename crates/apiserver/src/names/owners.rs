//! The rules of owner references.

use serde_json::{Value, json};

use super::metadata::{items, text};
use crate::field_error::{FieldError, Mistake};

/// Checks owner references: their parts, and that only one of them is the controller.
pub(super) fn validate_owner_references(owners: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for owner in items(owners) {
        validate_owner(&mut errors, owner, field);
        if owner["controller"] == true {
            let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &controller {
                Some(first) => errors.push(invalid(
                    field,
                    &all_shown(owners),
                    &format!(
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
    // What has more than one slash is no group and version.
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
        errors.push(invalid(field, &shown(owner), "/v1, Kind=Event is disallowed from being an owner"));
    }
}

/// An error with a value whose fields stand in the order of the type and not of the alphabet.
fn invalid(field: &str, value: &str, detail: &str) -> FieldError {
    FieldError {
        mistake: Mistake::Invalid,
        field: field.to_owned(),
        message: format!("Invalid value: {value}: {detail}"),
    }
}

fn all_shown(owners: &Value) -> String {
    let owners: Vec<String> = items(owners).iter().map(shown).collect();
    format!("[{}]", owners.join(","))
}

fn shown(owner: &Value) -> String {
    let required = ["apiVersion", "kind", "name", "uid"].map(|name| (name, json!(text(owner, name))));
    let optional = ["controller", "blockOwnerDeletion"].into_iter().filter_map(|name| {
        owner.get(name).filter(|value| !value.is_null()).map(|value| (name, value.clone()))
    });
    let fields: Vec<String> =
        required.into_iter().chain(optional).map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}
