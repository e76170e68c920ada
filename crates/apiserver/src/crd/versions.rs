//! Validation of a version beside its schema: subresources, printer columns, selectable fields, deprecation warning.

use std::collections::HashSet;

use orchestra_cel::{FieldError, resolve_field_path};

use super::definition::{Column, SchemaSource, Subresources, Version};

/// Checks the warning of a deprecated version.
pub(super) fn check_warning(version: &Version, path: &str, errors: &mut Vec<FieldError>) {
    let Some(warning) = &version.deprecation_warning else { return };
    let mut problem = |detail: &str| {
        let place = format!("{path}.deprecationWarning");
        errors.push(FieldError::invalid_text(place, warning, detail));
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
    if let Some((index, _)) = warning.char_indices().find(|(_, char)| char.is_control()) {
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
            errors.push(FieldError::invalid_text(
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
        let detail = "should be a json path under either .spec or .status";
        errors.push(FieldError::invalid_text(place, selector, detail));
    }
}

fn not_simple(place: String, path: &str) -> FieldError {
    FieldError::invalid_text(place, path, "must be a simple json path starting with .")
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
            errors.push(FieldError::invalid_text(place("type"), &column.kind, types));
        }
        if !column.format.is_empty() && !FORMATS.contains(&column.format.as_str()) {
            let detail = format!("must be one of {}", FORMATS.join(","));
            errors.push(FieldError::invalid_text(place("format"), &column.format, detail));
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
    const MAX_SELECTABLE: usize = 8;
    let mut seen = HashSet::new();
    for (index, json_path) in paths.iter().enumerate() {
        let place = format!("{path}.selectableFields[{index}].jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(place, ""));
            continue;
        }
        // Items of lists and maps cannot be selected.
        let target = resolve_field_path(json_path, &source.schema).filter(|_| !json_path.contains('['));
        let Some(target) = target else {
            let detail = "is an invalid path: does not refer to a valid field";
            errors.push(FieldError::invalid_text(place, json_path, detail));
            continue;
        };
        if target.text == "metadata" || target.text.starts_with("metadata.") {
            let detail = "must not point to fields in metadata";
            errors.push(FieldError::invalid_text(place.as_str(), json_path, detail));
        }
        if !matches!(target.schema.kind.as_str(), "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                          formats are allowed.";
            errors.push(FieldError::invalid_text(place.as_str(), json_path, detail));
        }
        if !seen.insert(target.text) {
            errors.push(FieldError::duplicate(place, &json_path.as_str().into()));
        }
    }
    if seen.len() > MAX_SELECTABLE {
        errors.push(FieldError::too_many(format!("{path}.selectableFields"), seen.len(), 8));
    }
}
