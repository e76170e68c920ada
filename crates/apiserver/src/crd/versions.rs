//! The checks of what a version has beside its schema: subresources, columns, selectable fields, a warning.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::definition::{Column, SchemaSource, Subresources, Version};
use super::field_path;
use crate::field_error::FieldError;
use crate::schema::{complaint, go_text};

/// Checks the warning of a deprecated version.
pub(super) fn check_warning(version: &Version, path: &str, errors: &mut Vec<FieldError>) {
    let Some(warning) = &version.deprecation_warning else { return };
    let mut problem = |detail: &str| {
        let place = format!("{path}.deprecationWarning");
        errors.push(complaint::invalid_printed(place, &go_text::json(&json!(warning)), detail));
    };
    if !version.deprecated {
        return problem("can only be set for deprecated versions");
    }
    if warning.len() > 256 {
        problem("must be <= 256 characters long");
    }
    if warning.is_empty() {
        problem("must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, char)| !go_text::is_printable(*char)) {
        problem(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

/// Checks the paths of the scale subresource.
pub(super) fn check_subresources(
    subresources: Option<&Subresources>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(scale) = subresources.and_then(|subresources| subresources.scale.as_ref()) else { return };
    for (field, value, below) in [
        ("specReplicasPath", &scale.spec_replicas_path, ".spec"),
        ("statusReplicasPath", &scale.status_replicas_path, ".status"),
    ] {
        let place = format!("{path}.scale.{field}");
        if value.is_empty() {
            errors.push(FieldError::required(place, ""));
        } else if !value.starts_with('.') {
            errors.push(not_simple(place, value));
        } else if !value.starts_with(&format!("{below}.")) {
            errors.push(complaint::invalid_text(
                place,
                value,
                format!("should be a json path under {below}"),
            ));
        }
    }
    let Some(selector) = scale.label_selector_path.as_ref().filter(|selector| !selector.is_empty()) else {
        return;
    };
    let place = format!("{path}.scale.labelSelectorPath");
    if !selector.starts_with('.') {
        errors.push(not_simple(place, selector));
    } else if !selector.starts_with(".spec.") && !selector.starts_with(".status.") {
        let shown = go_text::json(&Value::from(selector.as_str()));
        let detail = "should be a json path under either .spec or .status";
        errors.push(complaint::invalid_printed(place, &shown, detail));
    }
}

fn not_simple(place: String, path: &str) -> FieldError {
    complaint::invalid_text(place, path, "must be a simple json path starting with .")
}

/// Checks the columns of `kubectl get`.
pub(super) fn check_columns(columns: &[Column], path: &str, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    for (index, column) in columns.iter().enumerate() {
        let place = |field: &str| format!("{path}.additionalPrinterColumns[{index}].{field}");
        if column.name.is_empty() {
            errors.push(FieldError::required(place("name"), ""));
        }
        let types = format!("must be one of {}", TYPES.join(","));
        if column.kind.is_empty() {
            errors.push(FieldError::required(place("type"), &types));
        } else if !TYPES.contains(&column.kind.as_str()) {
            errors.push(complaint::invalid_text(place("type"), &column.kind, types));
        }
        if !column.format.is_empty() && !FORMATS.contains(&column.format.as_str()) {
            let detail = format!("must be one of {}", FORMATS.join(","));
            errors.push(complaint::invalid_text(place("format"), &column.format, detail));
        }
        if column.json_path.is_empty() {
            errors.push(FieldError::required(place("JSONPath"), ""));
        } else if !column.json_path.starts_with('.') {
            errors.push(not_simple(place("JSONPath"), &column.json_path));
        }
    }
}

/// Checks the fields that can be selected.
pub(super) fn check_selectable(
    source: &SchemaSource,
    paths: &[String],
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    const MOST: usize = 8;
    let mut seen = HashSet::new();
    for (index, json_path) in paths.iter().enumerate() {
        let place = format!("{path}.selectableFields[{index}].jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(place, ""));
            continue;
        }
        let target = match field_path::resolve(json_path, &source.schema, false) {
            Ok(target) => target,
            Err(problem) => {
                errors.push(complaint::invalid_text(
                    place,
                    json_path,
                    format!("is an invalid path: {problem}"),
                ));
                continue;
            }
        };
        if target.first == "metadata" {
            let detail = "must not point to fields in metadata";
            errors.push(complaint::invalid_text(place.as_str(), json_path, detail));
        }
        if !matches!(target.schema.kind.as_str(), "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                          formats are allowed.";
            errors.push(complaint::invalid_text(place.as_str(), json_path, detail));
        }
        if !seen.insert(target.text) {
            errors.push(complaint::duplicate(place, &json_path.as_str().into()));
        }
    }
    if seen.len() > MOST {
        errors.push(complaint::too_many(format!("{path}.selectableFields"), seen.len(), 8));
    }
}
