//! The metadata of an embedded resource: which fields it has, and what may stand in them.

use serde_json::{Map, Value};

use super::path::Path;
use super::{complaint, go_text, names};
use crate::field_error::FieldError;

/// What a field holds.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Integer,
    Flag,
    Time,
    Anything,
    Texts,
    TextMap,
    List(&'static Record),
}

/// An object with known fields.
struct Record {
    name: &'static str,
    fields: &'static [(&'static str, Shape)],
}

static OBJECT_META: Record = Record {
    name: "ObjectMeta",
    fields: &[
        ("annotations", Shape::TextMap),
        ("creationTimestamp", Shape::Time),
        ("deletionGracePeriodSeconds", Shape::Integer),
        ("deletionTimestamp", Shape::Time),
        ("finalizers", Shape::Texts),
        ("generateName", Shape::Text),
        ("generation", Shape::Integer),
        ("labels", Shape::TextMap),
        ("managedFields", Shape::List(&MANAGED_FIELDS_ENTRY)),
        ("name", Shape::Text),
        ("namespace", Shape::Text),
        ("ownerReferences", Shape::List(&OWNER_REFERENCE)),
        ("resourceVersion", Shape::Text),
        ("selfLink", Shape::Text),
        ("uid", Shape::Text),
    ],
};

static OWNER_REFERENCE: Record = Record {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", Shape::Text),
        ("blockOwnerDeletion", Shape::Flag),
        ("controller", Shape::Flag),
        ("kind", Shape::Text),
        ("name", Shape::Text),
        ("uid", Shape::Text),
    ],
};

static MANAGED_FIELDS_ENTRY: Record = Record {
    name: "ManagedFieldsEntry",
    fields: &[
        ("apiVersion", Shape::Text),
        ("fieldsType", Shape::Text),
        ("fieldsV1", Shape::Anything),
        ("manager", Shape::Text),
        ("operation", Shape::Text),
        ("subresource", Shape::Text),
        ("time", Shape::Time),
    ],
};

impl Record {
    fn shape(&self, field: &str) -> Option<Shape> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, shape)| *shape)
    }
}

/// Removes unknown and empty fields; the unknown ones are noted with their place.
pub(super) fn coerce(
    value: &mut Value,
    path: &Path<'_>,
    removed: &mut Vec<String>,
) -> Result<(), FieldError> {
    if let Err(problem) = decodes(value, &OBJECT_META, "") {
        return Err(complaint::invalid(path.bracketed(), value, problem));
    }
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    tidy(value, &OBJECT_META, &path.bracketed(), removed);
    Ok(())
}

fn tidy(value: &mut Value, record: &Record, place: &str, removed: &mut Vec<String>) {
    let Value::Object(fields) = value else { return };
    fields.retain(|name, field| {
        let Some(shape) = record.shape(name) else {
            removed.push(format!("{place}.{name}"));
            return false;
        };
        if let (Shape::List(record), Value::Array(items)) = (shape, &mut *field) {
            for (index, item) in items.iter_mut().enumerate() {
                tidy(item, record, &format!("{place}.{name}[{index}]"), removed);
            }
        }
        !is_empty(field)
    });
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) => false,
    }
}

/// Whether a value can be read as a record.
fn decodes(value: &Value, record: &Record, within: &str) -> Result<(), String> {
    let fields = match value {
        Value::Null => return Ok(()),
        Value::Object(fields) => fields,
        other if within.is_empty() => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type v1.{}",
                crate::json::kind_of(other),
                record.name
            ));
        }
        other => return Err(mismatch(other, record, within, &format!("v1.{}", record.name))),
    };
    for (name, field) in fields {
        let Some(shape) = record.shape(name) else { continue };
        let place = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        let bad = |field: &Value, wanted: &str| Err(mismatch(field, record, &place, wanted));
        match (shape, field) {
            (_, Value::Null)
            | (Shape::Anything, _)
            | (Shape::Text, Value::String(_))
            | (Shape::Flag, Value::Bool(_)) => {}
            (Shape::Integer, Value::Number(number)) if number.is_i64() => {}
            (Shape::Integer, Value::Number(number)) => {
                let number = go_text::json(&Value::Number(number.clone()));
                return Err(format!(
                    "json: cannot unmarshal number {number} into Go struct field {}.{place} of type int64",
                    record.name
                ));
            }
            (Shape::Text, other) => return bad(other, "string"),
            (Shape::Flag, other) => return bad(other, "bool"),
            (Shape::Integer, other) => return bad(other, "int64"),
            (Shape::Time, other) => time_decodes(other)?,
            (Shape::Texts, Value::Array(items)) => {
                if let Some(item) = items.iter().find(|item| !item.is_string() && !item.is_null()) {
                    return bad(item, "string");
                }
            }
            (Shape::Texts, other) => return bad(other, "[]string"),
            (Shape::TextMap, Value::Object(entries)) => {
                if let Some(entry) = entries.values().find(|entry| !entry.is_string() && !entry.is_null()) {
                    return bad(entry, "string");
                }
            }
            (Shape::TextMap, other) => return bad(other, "map[string]string"),
            (Shape::List(item_record), Value::Array(items)) => {
                items.iter().try_for_each(|item| decodes(item, item_record, &place))?;
            }
            (Shape::List(item_record), other) => return bad(other, &format!("[]v1.{}", item_record.name)),
        }
    }
    Ok(())
}

fn mismatch(value: &Value, record: &Record, place: &str, wanted: &str) -> String {
    format!(
        "json: cannot unmarshal {} into Go struct field {}.{place} of type {wanted}",
        crate::json::kind_of(value),
        record.name
    )
}

fn time_decodes(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) if super::formats::check_of("date-time").is_some_and(|check| check(text)) => {
            Ok(())
        }
        Value::String(text) => Err(format!(
            "parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse {} as \"2006\"",
            go_text::quoted(text),
            go_text::quoted(text)
        )),
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type string",
            crate::json::kind_of(other)
        )),
    }
}

/// Checks the metadata of an embedded resource.
pub(super) fn validate(value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if let Err(problem) = decodes(value, &OBJECT_META, "") {
        return errors.push(complaint::invalid(path.bracketed(), value, problem));
    }
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut check = |field: &str, text: &str, problems: Vec<String>| {
        let place = path.field(field).bracketed();
        errors.extend(problems.iter().map(|problem| complaint::invalid_text(place.as_str(), text, problem)));
    };
    for (field, is_prefix) in [("generateName", true), ("name", false)] {
        check(field, text(field), names::path_segment(text(field), is_prefix));
    }
    let namespace = text("namespace");
    if !namespace.is_empty() {
        check("namespace", namespace, names::dns_1123_label(namespace));
    }
    if let Some(generation @ ..0) = value.get("generation").and_then(Value::as_i64) {
        let detail = "must be greater than or equal to 0";
        errors.push(complaint::invalid(path.field("generation").bracketed(), &generation.into(), detail));
    }
    validate_labels(value, path, errors);
    validate_annotations(value, path, errors);
    validate_owners(value, path, errors);
    validate_finalizers(value, path, errors);
}

fn entries<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
    let entries = value.get(field).and_then(Value::as_object);
    entries.into_iter().flatten().map(|(key, text)| (key, text.as_str().unwrap_or_default()))
}

fn validate_labels(value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let place = path.field("labels").bracketed();
    for (key, text) in entries(value, "labels") {
        let keys = names::qualified_name(key).into_iter().map(|problem| (key.as_str(), problem));
        let values = names::label_value(text).into_iter().map(|problem| (text, problem));
        errors.extend(
            keys.chain(values).map(|(bad, problem)| complaint::invalid_text(place.as_str(), bad, problem)),
        );
    }
}

fn validate_annotations(value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const MOST_BYTES: i64 = 256 << 10;
    let place = path.field("annotations").bracketed();
    let mut bytes = 0;
    for (key, text) in entries(value, "annotations") {
        bytes += key.len() + text.len();
        let problems = names::qualified_name(&key.to_lowercase());
        errors.extend(problems.iter().map(|problem| complaint::invalid_text(place.as_str(), key, problem)));
    }
    if i64::try_from(bytes).is_ok_and(|bytes| bytes > MOST_BYTES) {
        errors.push(complaint::too_long(place, MOST_BYTES));
    }
}

fn validate_owners(value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let place = path.field("ownerReferences");
    let owners = value.get("ownerReferences").and_then(Value::as_array);
    for owner in owners.into_iter().flatten() {
        let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        for (field, detail) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            let empty = text(field).is_empty() || (field == "apiVersion" && text(field).ends_with('/'));
            if empty {
                errors.push(complaint::invalid_text(place.field(field).bracketed(), text(field), detail));
            }
        }
    }
}

fn validate_finalizers(value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let place = path.field("finalizers").bracketed();
    let finalizers = value.get("finalizers").and_then(Value::as_array);
    for finalizer in finalizers.into_iter().flatten().filter_map(Value::as_str) {
        let problems = names::qualified_name(finalizer);
        errors.extend(
            problems.iter().map(|problem| complaint::invalid_text(place.as_str(), finalizer, problem)),
        );
    }
}
