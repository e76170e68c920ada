//! Embedded resources: whole objects inside of an object, with a type and metadata of their own.

use orchestra_cel::FieldError;
use serde_json::{Map, Value};

use super::Schema;
use super::path::Path;
use super::prune::OBJECT_FIELDS;
use crate::metadata::{MetaOf, decode_object_meta, dns1035_label, validate_embedded_meta};

/// True if a schema has embedded resources.
pub(super) fn has_embedded(schema: &Schema) -> bool {
    schema.embedded_resource
        || schema.declared().any(has_embedded)
        || schema.values().is_some_and(has_embedded)
        || schema.items.as_deref().is_some_and(has_embedded)
}

fn child<'a, 'p>(schema: &'a Schema, name: &'p str, path: &'p Path<'p>) -> Option<(&'a Schema, Path<'p>)> {
    match schema.property(name) {
        Some(property) => Some((property, path.field(name))),
        None => schema.values().map(|values| (values, path.key(name))),
    }
}

/// Checks the type and the metadata of embedded resources; with `is_resource`, of the value itself too.
pub(crate) fn validate(
    schema: &Schema,
    value: &Value,
    path: &Path<'_>,
    is_resource: bool,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(fields) => {
            if is_resource || schema.embedded_resource {
                validate_resource(fields, path, errors);
            }
            for (name, field) in fields {
                if let Some((schema, path)) = child(schema, name, path) {
                    validate(schema, field, &path, false, errors);
                }
            }
        }
        Value::Array(items) => {
            let Some(item_schema) = schema.items.as_deref() else { return };
            for (index, item) in items.iter().enumerate() {
                validate(item_schema, item, &path.index(index), false, errors);
            }
        }
        _ => {}
    }
}

fn validate_resource(fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        if !fields.contains_key(name) {
            errors.push(FieldError::required(path.field(name).bracketed(), ""));
        }
    }
    for name in OBJECT_FIELDS {
        let (Some(value), place) = (fields.get(name), path.field(name)) else { continue };
        match (name, value) {
            ("metadata", _) => validate_metadata(value, &place.bracketed(), errors),
            (_, Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(place.bracketed(), value, "must not be empty"));
            }
            ("apiVersion", Value::String(text)) if text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                errors.push(FieldError::invalid(place.bracketed(), value, detail));
            }
            ("kind", Value::String(text)) => {
                let problems = dns1035_label(&text.to_lowercase());
                if !problems.is_empty() {
                    let detail =
                        format!("may have mixed case, but should otherwise match: {}", problems.join(","));
                    errors.push(FieldError::invalid(place.bracketed(), value, detail));
                }
            }
            (_, Value::String(_)) => {}
            _ => errors.push(FieldError::invalid(place.bracketed(), value, "must be a string")),
        }
    }
}

/// Normalises the metadata of embedded resources and removes its unknown fields; returns their paths.
pub(crate) fn coerce_embedded(schema: &Schema, object: &mut Value) -> Result<Vec<String>, FieldError> {
    let mut removed = Vec::new();
    if has_embedded(schema) {
        coerce(schema, object, &Path::root(""), false, &mut removed)?;
    }
    removed.sort_unstable();
    Ok(removed)
}

/// The same for any value; with `is_resource`, for the value itself too.
pub(crate) fn coerce(
    schema: &Schema,
    value: &mut Value,
    path: &Path<'_>,
    is_resource: bool,
    removed: &mut Vec<String>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if is_resource || schema.embedded_resource {
                    let place = path.field(name);
                    match name.as_str() {
                        "apiVersion" | "kind" if !field.is_string() => {
                            return Err(FieldError::invalid(place.bracketed(), field, "must be a string"));
                        }
                        "metadata" => {
                            let place = place.bracketed();
                            let meta = decode_object_meta(field.clone(), MetaOf::Custom, &place)
                                .map_err(|problem| FieldError::invalid(place, field, problem))?;
                            *field = meta.value;
                            removed.extend(meta.unknown);
                        }
                        _ => {}
                    }
                }
                if let Some((schema, path)) = child(schema, name, path) {
                    coerce(schema, field, &path, false, removed)?;
                }
            }
        }
        Value::Array(items) => {
            let Some(item_schema) = schema.items.as_deref() else { return Ok(()) };
            for (index, item) in items.iter_mut().enumerate() {
                coerce(item_schema, item, &path.index(index), false, removed)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn validate_metadata(value: &Value, place: &str, errors: &mut Vec<FieldError>) {
    match decode_object_meta(value.clone(), MetaOf::Custom, place) {
        Ok(meta) => errors.extend(validate_embedded_meta(&meta.value, place)),
        Err(problem) => errors.push(FieldError::invalid(place, value, problem)),
    }
}
