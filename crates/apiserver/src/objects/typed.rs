//! The types of fields that the real server knows as Go structs: built-in kinds, and the metadata of all. A wrong type
//! is refused in the words of Go's decoder; null means absent.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{json::kind_of, names, schema::Schema};

/// Checks a value against a schema, and drops nulls and empty fields from it. `owner` is the Go type that the
/// fields belong to, `path` the names that lead to it.
pub(crate) fn check(schema: &Schema, value: &mut Value, owner: &str, path: &str) -> Result<(), String> {
    let wrong = |value: &Value, wanted: &str| {
        let got = kind_of(value);
        let got = match value {
            Value::Number(number) if wanted.starts_with("int") => format!("{got} {number}"),
            _ => got.to_owned(),
        };
        if path.is_empty() {
            format!("json: cannot unmarshal {got} into Go value of type v1.{owner}")
        } else {
            format!("json: cannot unmarshal {got} into Go struct field {owner}.{path} of type {wanted}")
        }
    };
    match (schema.kind.as_str(), &mut *value) {
        (_, Value::Null) | ("", _) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => Ok(()),
        ("object", Value::Object(_)) => fields(schema, value, owner, path),
        ("array", Value::Array(items)) => {
            let Some(item) = schema.items.as_deref() else { return Ok(()) };
            let owner = if item.properties.is_empty() { owner } else { type_name(path, owner) };
            items.iter_mut().try_for_each(|value| check(item, value, owner, path))
        }
        ("string", Value::String(text)) => {
            text_fits(&schema.format, text)?;
            if let Some(utc) = in_utc(&schema.format, text) {
                *text = utc;
            }
            Ok(())
        }
        ("integer", Value::Number(number)) => {
            let fits = number
                .as_i64()
                .is_some_and(|number| schema.format != "int32" || i32::try_from(number).is_ok());
            if fits { Ok(()) } else { Err(wrong(value, go_type(schema))) }
        }
        _ => Err(wrong(value, go_type(schema))),
    }
}

fn fields(schema: &Schema, value: &mut Value, owner: &str, path: &str) -> Result<(), String> {
    let Value::Object(fields) = value else { return Ok(()) };
    if schema.values().is_some_and(|values| values.kind == "string") {
        // Nothing in a map of texts is the empty text.
        for value in fields.values_mut().filter(|value| value.is_null()) {
            *value = Value::String(String::new());
        }
    }
    fields.retain(|_, value| !value.is_null());
    if let Some(values) = schema.values() {
        let each = fields.values_mut();
        return each.into_iter().try_for_each(|value| check(values, value, owner, path));
    }
    for (name, value) in fields.iter_mut() {
        let Some(property) = schema.property(name) else { continue };
        let deeper = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        // A struct's own fields belong to its type; a wrong value in its place belongs to the one around it.
        let inside = !property.properties.is_empty() && value.is_object();
        let owner = if inside { type_name(name, owner) } else { owner };
        check(property, value, owner, &deeper)?;
    }
    // What Go would leave out when it is empty is as good as absent.
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

/// The Go type of the value of a field.
fn type_name<'a>(path: &str, owner: &'a str) -> &'a str {
    match path.rsplit('.').next().unwrap_or_default() {
        "metadata" => "ObjectMeta",
        "ownerReferences" => "OwnerReference",
        "managedFields" => "ManagedFieldsEntry",
        "involvedObject" | "regarding" | "related" | "secrets" => "ObjectReference",
        "imagePullSecrets" => "LocalObjectReference",
        "source" | "deprecatedSource" => "EventSource",
        "series" => "EventSeries",
        "conditions" if owner == "CustomResourceDefinitionStatus" => "CustomResourceDefinitionCondition",
        "conditions" => "NamespaceCondition",
        "names" | "acceptedNames" => "CustomResourceDefinitionNames",
        "versions" => "CustomResourceDefinitionVersion",
        "spec" => match owner {
            "Lease" => "LeaseSpec",
            "Namespace" => "NamespaceSpec",
            _ => "CustomResourceDefinitionSpec",
        },
        "status" if owner == "Namespace" => "NamespaceStatus",
        "status" => "CustomResourceDefinitionStatus",
        _ => owner,
    }
}

fn go_type(schema: &Schema) -> &'static str {
    match (schema.kind.as_str(), schema.format.as_str()) {
        ("string", _) => "string",
        ("boolean", _) => "bool",
        ("integer", "int32") => "int32",
        ("integer", _) => "int64",
        ("number", _) => "float64",
        ("array", _) => match schema.items.as_deref().map(|items| items.kind.as_str()) {
            Some("string") => "[]string",
            _ => "[]v1.Object",
        },
        _ => match schema.values().map(|values| values.format.as_str()) {
            Some("byte") => "map[string][]uint8",
            Some(_) => "map[string]string",
            None => "v1.ObjectMeta",
        },
    }
}

fn text_fits(format: &str, text: &str) -> Result<(), String> {
    match format {
        "byte" => match STANDARD.decode(text) {
            Ok(_) => Ok(()),
            Err(error) => {
                let at = match error {
                    base64::DecodeError::InvalidByte(at, _)
                    | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => at,
                    _ => text.len(),
                };
                Err(format!("illegal base64 data at input byte {at}"))
            }
        },
        "date-time" => time(text, "2006-01-02T15:04:05Z07:00", 0),
        "micro-time" => time(text, "2006-01-02T15:04:05.000000Z07:00", 6),
        _ => Ok(()),
    }
}

/// A time in the only zone that is kept.
fn in_utc(format: &str, text: &str) -> Option<String> {
    match format {
        "date-time" => names::utc(text),
        "micro-time" => {
            let (_, fraction) = text.split_once('.')?;
            Some(format!("{}.{}Z", names::utc(text)?.trim_end_matches('Z'), fraction.get(..6)?))
        }
        _ => None,
    }
}

/// Checks a time in the layout of the Go type: whole seconds, or exactly six digits after them.
fn time(text: &str, layout: &str, digits: usize) -> Result<(), String> {
    let refuse = |rest: &str, part: &str| {
        Err(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"))
    };
    let mut rest = text;
    for (part, length) in [
        ("2006", 4),
        ("-", 1),
        ("01", 2),
        ("-", 1),
        ("02", 2),
        ("T", 1),
        ("15", 2),
        (":", 1),
        ("04", 2),
        (":", 1),
        ("05", 2),
    ] {
        let fits = rest.get(..length).is_some_and(|found| {
            if part.starts_with(|c: char| c.is_ascii_digit()) {
                found.bytes().all(|byte| byte.is_ascii_digit())
            } else {
                found == part
            }
        });
        if !fits {
            return refuse(rest, part);
        }
        rest = &rest[length..];
    }
    if digits > 0 {
        let fraction = rest.strip_prefix('.').unwrap_or_default();
        let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if count != digits {
            return refuse(rest, ".000000");
        }
        rest = &fraction[digits..];
    } else if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let zone = rest == "Z"
        || rest.len() == 6
            && rest.starts_with(['+', '-'])
            && rest
                .bytes()
                .enumerate()
                .skip(1)
                .all(|(at, byte)| if at == 3 { byte == b':' } else { byte.is_ascii_digit() });
    if zone { Ok(()) } else { refuse(rest, "Z07:00") }
}
