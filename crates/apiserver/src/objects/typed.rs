//! Types of the fields of built-in kinds. A wrong type is refused; null means absent.

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_cel::time::Timestamp;
use serde_json::Value;

use crate::{json::kind_of, metadata, schema::Schema};

/// Checks a value against a schema, and drops nulls and empty fields from it. `path` is the path of the value.
pub(crate) fn check(schema: &Schema, value: &mut Value, path: &str) -> Result<(), String> {
    match (schema.kind.as_str(), &mut *value) {
        (_, Value::Null) | ("", _) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => Ok(()),
        ("object", Value::Object(_)) => fields(schema, value, path),
        ("array", Value::Array(items)) => {
            let Some(item) = schema.items.as_deref() else { return Ok(()) };
            items.iter_mut().try_for_each(|value| check(item, value, path))
        }
        ("string", Value::String(text)) => string(&schema.format, text, path),
        ("integer", Value::Number(number)) => {
            let fits = number
                .as_i64()
                .is_some_and(|number| schema.format != "int32" || i32::try_from(number).is_ok());
            if fits { Ok(()) } else { Err(format!("{path}: expected integer, got {number}")) }
        }
        (kind, other) => Err(format!("{path}: expected {kind}, got {}", kind_of(other))),
    }
}

fn fields(schema: &Schema, value: &mut Value, path: &str) -> Result<(), String> {
    let Value::Object(fields) = value else { return Ok(()) };
    if schema.values().is_some_and(|values| values.kind == "string") {
        // Null in a map of strings is the empty string.
        for value in fields.values_mut().filter(|value| value.is_null()) {
            *value = Value::String(String::new());
        }
    }
    fields.retain(|_, value| !value.is_null());
    if let Some(values) = schema.values() {
        let each = fields.values_mut();
        return each.into_iter().try_for_each(|value| check(values, value, path));
    }
    for (name, value) in fields.iter_mut() {
        let Some(property) = schema.property(name) else { continue };
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        check(property, value, &path)?;
    }
    // Empty optional fields count as absent, as with `omitempty` in Go.
    fields.retain(|name, value| {
        !schema.properties.contains_key(name)
            || match value {
                Value::Array(items) => !items.is_empty() || schema.required.contains(name),
                Value::Object(entries) => !entries.is_empty() || is_struct(schema, name),
                Value::String(text) => !text.is_empty() || schema.required.contains(name),
                _ => true,
            }
    });
    Ok(())
}

fn is_struct(schema: &Schema, name: &str) -> bool {
    schema.property(name).is_some_and(|property| property.additional_properties.is_none())
}

/// Checks the format of a string. Times are kept in UTC: `date-time` in whole seconds, `micro-time` with six digits after
/// them.
fn string(format: &str, text: &mut String, path: &str) -> Result<(), String> {
    match format {
        // The text may be a secret: the message does not quote it.
        "byte" if STANDARD.decode(&*text).is_err() => Err(format!("{path}: illegal base64 data")),
        "date-time" => {
            let time = metadata::parse_time(text).map_err(|problem| format!("{path}: {problem}"))?;
            *text = time.unwrap_or_else(|| text.clone());
            Ok(())
        }
        "micro-time" => {
            let micros = text
                .split_once('.')
                .map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
            let time = Timestamp::parse(text).filter(|_| micros == 6);
            let time = time.ok_or_else(|| format!("{path}: {text:?} is not a time with microseconds"))?;
            *text = time.utc_with_micros();
            Ok(())
        }
        _ => Ok(()),
    }
}
