//! Validation of the `metadata` of every object.

use orchestra_cel::FieldError;
use serde_json::{Map, Value, json};

use super::{
    owners::validate_owner_references,
    rules::{NameRule, dns1123_label, label_value, qualified_name},
};

/// Bytes of all annotations of an object together.
const MAX_ANNOTATIONS: usize = 256 * 1024;
/// Bytes of the name of a manager.
const MAX_MANAGER: usize = 128;
/// Bytes of the subresource of a managed-fields entry.
const MAX_SUBRESOURCE: usize = 256;

/// Checks the `metadata` of a new object, after its name was generated. `field` is its path: `metadata`.
pub(crate) fn validate_object_meta(
    meta: &Value,
    namespaced: bool,
    rule: NameRule,
    field: &str,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let prefix = text(meta, "generateName");
    if !prefix.is_empty() {
        invalid(&mut errors, &format!("{field}.generateName"), prefix, rule.check_prefix(prefix));
    }
    match text(meta, "name") {
        "" => {
            errors.push(FieldError::required(format!("{field}.name"), "name or generateName is required"));
        }
        name => invalid(&mut errors, &format!("{field}.name"), name, rule.check(name)),
    }
    match (text(meta, "namespace"), format!("{field}.namespace")) {
        ("", at) if namespaced => errors.push(FieldError::required(at, "")),
        ("", _) => {}
        (namespace, at) if namespaced => invalid(&mut errors, &at, namespace, dns1123_label(namespace)),
        (_, at) => errors.push(FieldError::forbidden(at, "not allowed on this type")),
    }
    validate_rest(&mut errors, meta, field);
    errors
}

/// Validates the `metadata` of an embedded resource at the path `field`. The name is optional, and any path segment.
pub(crate) fn validate_embedded_meta(meta: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (prefix, name, namespace) = (text(meta, "generateName"), text(meta, "name"), text(meta, "namespace"));
    let rule = NameRule::PathSegment;
    invalid(&mut errors, &format!("{field}.generateName"), prefix, rule.check_prefix(prefix));
    invalid(&mut errors, &format!("{field}.name"), name, rule.check(name));
    if !namespace.is_empty() {
        invalid(&mut errors, &format!("{field}.namespace"), namespace, dns1123_label(namespace));
    }
    validate_rest(&mut errors, meta, field);
    errors
}

fn validate_rest(errors: &mut Vec<FieldError>, meta: &Value, field: &str) {
    let generation = meta["generation"].as_i64().unwrap_or(0);
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(format!("{field}.generation"), &json!(generation), detail));
    }
    errors.extend(validate_common(meta, field, |errors| validate_finalizers(errors, meta, field)));
}

/// Rules for creation and update, with those of finalizers in their place.
pub(super) fn validate_common(
    meta: &Value,
    field: &str,
    finalizers: impl FnOnce(&mut Vec<FieldError>),
) -> Vec<FieldError> {
    let mut errors = validate_labels(&meta["labels"], &format!("{field}.labels"));
    errors.extend(validate_annotations(&meta["annotations"], &format!("{field}.annotations")));
    errors.extend(validate_owner_references(&meta["ownerReferences"], &format!("{field}.ownerReferences")));
    finalizers(&mut errors);
    validate_managed_fields(&mut errors, &meta["managedFields"], &format!("{field}.managedFields"));
    errors
}

/// Checks labels: the keys and the values.
pub(crate) fn validate_labels(labels: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in entries(labels) {
        invalid(&mut errors, field, key, qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        invalid(&mut errors, field, value, label_value(value));
    }
    errors
}

/// Checks annotations: the keys, without regard to case, and the total size.
pub(crate) fn validate_annotations(annotations: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in entries(annotations) {
        invalid(&mut errors, field, key, qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        errors.push(FieldError::too_long(field, MAX_ANNOTATIONS));
    }
    errors
}

fn validate_finalizers(errors: &mut Vec<FieldError>, meta: &Value, field: &str) {
    const CONFLICT: [&str; 2] = ["orphan", "foregroundDeletion"];
    let field = format!("{field}.finalizers");
    let finalizers = items(&meta["finalizers"]);
    for finalizer in finalizers.iter().filter_map(Value::as_str) {
        invalid(errors, &field, finalizer, qualified_name(finalizer));
    }
    if CONFLICT.iter().all(|one| finalizers.iter().any(|finalizer| finalizer == one)) {
        let detail = format!("finalizer {} and {} cannot be both set", CONFLICT[0], CONFLICT[1]);
        errors.push(FieldError::invalid(field, &meta["finalizers"], detail));
    }
}

fn validate_managed_fields(errors: &mut Vec<FieldError>, managed: &Value, field: &str) {
    for (index, entry) in items(managed).iter().enumerate() {
        let at = |name: &str| format!("{field}[{index}].{name}");
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            errors.push(FieldError::invalid(
                at("operation"),
                &json!(operation),
                "must be `Apply` or `Update`",
            ));
        }
        let kind = text(entry, "fieldsType");
        if !matches!(kind, "" | "FieldsV1") {
            errors.push(FieldError::invalid(at("fieldsType"), &json!(kind), "must be `FieldsV1`"));
        }
        let manager = text(entry, "manager");
        if manager.len() > MAX_MANAGER {
            errors.push(FieldError::too_long(at("manager"), MAX_MANAGER));
        }
        for (position, c) in manager.char_indices().filter(|(_, c)| c.is_control()) {
            let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(c));
            errors.push(FieldError::invalid(at("manager"), &json!(manager), detail));
        }
        if text(entry, "subresource").len() > MAX_SUBRESOURCE {
            errors.push(FieldError::too_long(at("subresource"), MAX_SUBRESOURCE));
        }
    }
}

/// Adds the errors of a text.
fn invalid(errors: &mut Vec<FieldError>, field: &str, text: &str, wrong: Vec<String>) {
    errors.extend(wrong.into_iter().map(|detail| FieldError::invalid(field, &json!(text), detail)));
}

/// Text of a field; empty if absent.
pub(super) fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Items of a list; none if the value is not a list.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
