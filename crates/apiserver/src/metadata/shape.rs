//! Types of the fields of `metadata`.

use std::fmt;

use orchestra_cel::time::{Timestamp, rfc3339};
use serde_json::{Map, Number, Value};

use crate::json::{kind_of, text};

/// Owner of a `metadata`. JSON numbers are read more strictly for built-in kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaOf {
    /// Custom object, or object embedded in one.
    Custom,
    /// Object of a built-in kind.
    BuiltIn,
}

/// Decoded `metadata`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectMeta {
    /// Known fields, without empty ones; times are in UTC.
    pub value: Value,
    /// Paths of unknown fields: `metadata.foo`, `metadata.ownerReferences[0].bar`.
    pub unknown: Vec<String>,
}

/// Decodes the `metadata` of an object at the path `field`. The error is a message about a wrong type.
pub(crate) fn decode_object_meta(meta: Value, of: MetaOf, field: &str) -> Result<ObjectMeta, String> {
    let mut decoder = Decoder { of, unknown: Vec::new() };
    let value = match meta {
        Value::Object(map) => decoder.record(&OBJECT_META, map, field)?,
        Value::Null => Value::Object(Map::new()),
        other => return Err(wrong_type(field, "object", &other)),
    };
    Ok(ObjectMeta { value, unknown: decoder.unknown })
}

/// A time in UTC and whole seconds; none for the zero time of Go, which means absent.
pub(crate) fn parse_time(text: &str) -> Result<Option<String>, String> {
    let time = Timestamp::parse(text).ok_or_else(|| format!("{text:?} is not an RFC 3339 time"))?;
    Ok(Some(rfc3339(time.seconds())).filter(|utc| utc != "0001-01-01T00:00:00Z"))
}

/// Type of a field.
enum Type {
    Text,
    Integer,
    Flag,
    Time,
    TextMap,
    TextList,
    Records(&'static Record),
    Any,
}

/// Type with named fields.
struct Record {
    fields: &'static [(&'static str, Type)],
    /// Fields that are present even if empty.
    always: &'static [&'static str],
}

static OBJECT_META: Record = Record {
    fields: &[
        ("name", Type::Text),
        ("generateName", Type::Text),
        ("namespace", Type::Text),
        ("selfLink", Type::Text),
        ("uid", Type::Text),
        ("resourceVersion", Type::Text),
        ("generation", Type::Integer),
        ("creationTimestamp", Type::Time),
        ("deletionTimestamp", Type::Time),
        ("deletionGracePeriodSeconds", Type::Integer),
        ("labels", Type::TextMap),
        ("annotations", Type::TextMap),
        ("ownerReferences", Type::Records(&OWNER_REFERENCE)),
        ("finalizers", Type::TextList),
        ("managedFields", Type::Records(&MANAGED_FIELDS)),
    ],
    always: &[],
};

static OWNER_REFERENCE: Record = Record {
    fields: &[
        ("apiVersion", Type::Text),
        ("kind", Type::Text),
        ("name", Type::Text),
        ("uid", Type::Text),
        ("controller", Type::Flag),
        ("blockOwnerDeletion", Type::Flag),
    ],
    always: &["apiVersion", "kind", "name", "uid"],
};

static MANAGED_FIELDS: Record = Record {
    fields: &[
        ("manager", Type::Text),
        ("operation", Type::Text),
        ("apiVersion", Type::Text),
        ("time", Type::Time),
        ("fieldsType", Type::Text),
        ("fieldsV1", Type::Any),
        ("subresource", Type::Text),
    ],
    always: &[],
};

/// Path of a field, printed only for a message.
#[derive(Clone, Copy)]
struct Field<'f> {
    path: &'f str,
    name: &'f str,
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.path, self.name)
    }
}

struct Decoder {
    of: MetaOf,
    unknown: Vec<String>,
}

impl Decoder {
    fn record(&mut self, record: &Record, map: Map<String, Value>, path: &str) -> Result<Value, String> {
        let mut known = Map::new();
        for (name, value) in map {
            let field = Field { path, name: &name };
            let Some((_, wanted)) = record.fields.iter().find(|(known, _)| *known == name) else {
                self.unknown.push(field.to_string());
                continue;
            };
            let value = self.field(wanted, value, field)?;
            // A zero was given explicitly; other empty values count as absent.
            let is_kept = match &value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Array(list) => !list.is_empty(),
                Value::Object(map) => !map.is_empty() || matches!(wanted, Type::Any),
                Value::Number(number) => name != "generation" || number.as_i64() != Some(0),
                Value::Bool(_) => true,
            };
            if is_kept {
                known.insert(name, value);
            }
        }
        for name in record.always {
            known.entry(*name).or_insert_with(|| Value::String(String::new()));
        }
        Ok(Value::Object(known))
    }

    fn field(&mut self, wanted: &Type, value: Value, path: Field<'_>) -> Result<Value, String> {
        Ok(match (wanted, value) {
            (_, Value::Null) => Value::Null,
            (Type::Any, value)
            | (Type::Text, value @ Value::String(_))
            | (Type::Flag, value @ Value::Bool(_)) => value,
            (Type::Integer, Value::Number(number)) => self.integer(number, path)?,
            (Type::Time, Value::String(text)) => {
                let time = parse_time(&text).map_err(|problem| format!("{path}: {problem}"))?;
                time.map_or(Value::Null, Value::String)
            }
            (Type::TextMap, Value::Object(map)) => map
                .into_iter()
                .map(|(key, value)| Ok((key, string(value, path)?)))
                .collect::<Result<_, String>>()?,
            (Type::TextList, Value::Array(list)) => {
                list.into_iter().map(|value| string(value, path)).collect::<Result<_, String>>()?
            }
            (Type::Records(record), Value::Array(list)) => self.records(record, list, &path.to_string())?,
            (Type::Text | Type::Time, other) => return Err(wrong_type(path, "string", &other)),
            (Type::Integer, other) => return Err(wrong_type(path, "integer", &other)),
            (Type::Flag, other) => return Err(wrong_type(path, "bool", &other)),
            (Type::TextMap, other) => return Err(wrong_type(path, "object", &other)),
            (Type::TextList | Type::Records(_), other) => return Err(wrong_type(path, "array", &other)),
        })
    }

    fn records(&mut self, record: &Record, list: Vec<Value>, path: &str) -> Result<Value, String> {
        let mut records = Vec::with_capacity(list.len());
        for (index, value) in list.into_iter().enumerate() {
            let path = format!("{path}[{index}]");
            let map = match value {
                Value::Object(map) => map,
                Value::Null => Map::new(),
                other => return Err(wrong_type(&path, "object", &other)),
            };
            records.push(self.record(record, map, &path)?);
        }
        Ok(Value::Array(records))
    }

    /// Integer. On a real server a custom object passes through JSON text, which turns `1.0` into `1`.
    fn integer(&self, number: Number, path: Field<'_>) -> Result<Value, String> {
        if number.is_i64() {
            return Ok(Value::Number(number));
        }
        let number = Value::Number(number);
        match text(&number).parse::<i64>() {
            Ok(integer) if self.of == MetaOf::Custom => Ok(Value::from(integer)),
            _ => Err(format!("{path}: expected integer, got {number}")),
        }
    }
}

/// A string in a list or a map, where null is the empty string.
fn string(value: Value, path: Field<'_>) -> Result<Value, String> {
    match value {
        Value::Null => Ok(Value::String(String::new())),
        Value::String(_) => Ok(value),
        other => Err(wrong_type(path, "string", &other)),
    }
}

fn wrong_type(path: impl fmt::Display, wanted: &str, found: &Value) -> String {
    format!("{path}: expected {wanted}, got {}", kind_of(found))
}
