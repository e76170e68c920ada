//! `ConfigMap`: keys, size, immutability.

use orchestra_cel::{CauseType, FieldError};
use serde_json::{Map, Value};

use super::Rules;

pub(super) const RULES: Rules = Rules {
    defaults: |_| {},
    on_create: |_| {},
    decode: super::accept_all,
    validate,
    warnings: super::no_warnings,
};

/// Maximum size of all values of a `ConfigMap` or a `Secret`.
const MAX_BYTES: usize = 1024 * 1024;

fn validate(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = keys(object, "data");
    if let (Some(data), Some(binary)) = (map(object, "data"), map(object, "binaryData")) {
        for key in data.keys().filter(|key| binary.contains_key(*key)) {
            errors.push(FieldError::invalid(
                format!("data[{key}]"),
                &Value::String(key.clone()),
                "duplicate of key present in binaryData",
            ));
        }
    }
    errors.extend(keys(object, "binaryData"));
    errors.extend(size(object, &["data", "binaryData"], "[]"));
    if let Some(old) = old {
        errors.extend(immutable(object, old, &["data", "binaryData"]));
    }
    errors
}

/// Keys are file names: letters, digits, `-`, `_` and `.`.
pub(super) fn keys(object: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for key in map(object, field).into_iter().flat_map(Map::keys) {
        let at = format!("{field}[{key}]");
        let shown = Value::String(key.clone());
        if key.len() > 253 {
            errors.push(FieldError::invalid(&at, &shown, "must be no more than 253 characters"));
        }
        if key.is_empty()
            || !key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        {
            errors.push(FieldError::invalid(
                &at,
                &shown,
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
                 (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            ));
        }
        match key.as_str() {
            "." => errors.push(FieldError::invalid(&at, &shown, "must not be '.'")),
            ".." => errors.push(FieldError::invalid(&at, &shown, "must not be '..'")),
            key if key.starts_with("..") => {
                errors.push(FieldError::invalid(&at, &shown, "must not start with '..'"));
            }
            _ => {}
        }
    }
    errors
}

pub(super) fn size(object: &Value, fields: &[&str], at: &str) -> Option<FieldError> {
    let total: usize = fields
        .iter()
        .filter_map(|field| map(object, field))
        .flat_map(Map::iter)
        .map(|(_, value)| {
            let text = value.as_str().unwrap_or_default();
            // Secrets and binary data are counted in decoded bytes.
            if *fields == ["data", "binaryData"] { text.len() } else { text.len() / 4 * 3 }
        })
        .sum();
    (total > MAX_BYTES).then(|| FieldError {
        cause: CauseType::TooLong,
        field: at.to_owned(),
        message: format!("Too long: may not be more than {MAX_BYTES} bytes"),
    })
}

/// Once `immutable` is set, neither it nor the data can change.
pub(super) fn immutable(object: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    const WHY: &str = "field is immutable when `immutable` is set";
    let set = |object: &Value| object.get("immutable") == Some(&Value::Bool(true));
    if !set(old) {
        return Vec::new();
    }
    let mut errors = Vec::new();
    if !set(object) {
        errors.push(FieldError::forbidden("immutable", WHY));
    }
    for &field in fields {
        if object.get(field) != old.get(field) {
            errors.push(FieldError::forbidden(field, WHY));
        }
    }
    errors
}

pub(super) fn map<'a>(object: &'a Value, field: &str) -> Option<&'a Map<String, Value>> {
    object.get(field)?.as_object()
}
