//! The values that rules work with. Parts of an object stay as they are and get their types from the schema when they
//! are read, so that a rule pays only for what it looks at.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value;

use super::escape;
use super::syntax::Literal;
use super::time::{self, Timestamp};
use super::url::Url;
use crate::schema::Schema;

const NO_SUCH_OVERLOAD: &str = "no such overload";

/// Why an evaluation ended without a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fail {
    /// An error of the expression, which `&&` and `||` may absorb.
    Error(String),
    /// The arguments fit no signature: the caller says which.
    Overload,
    /// An error of the real server's evaluator itself, which nothing absorbs.
    Internal(String),
    /// Too much work.
    Budget,
}

impl Fail {
    /// An error of the expression.
    pub(super) fn error(message: impl Into<String>) -> Self {
        Self::Error(message.into())
    }

    /// The arguments fit no signature.
    pub(super) fn no_such_overload() -> Self {
        Self::error(NO_SUCH_OVERLOAD)
    }

    /// What it says; none if it is about the budget.
    pub(super) fn message(self) -> Option<String> {
        match self {
            Self::Error(message) | Self::Internal(message) => Some(message),
            Self::Overload => Some(NO_SUCH_OVERLOAD.to_owned()),
            Self::Budget => None,
        }
    }
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Cow<'a, str>),
    Bytes(Rc<[u8]>),
    Timestamp(Timestamp),
    /// Nanoseconds.
    Duration(i64),
    Type(&'static str),
    Url(Rc<Url>),
    List(List<'a>),
    Map(Map<'a>),
    /// A part of an object whose type nobody knows.
    Unknown(&'a Value),
}

/// A list.
#[derive(Clone, Debug)]
pub(super) struct List<'a> {
    pub(super) items: Items<'a>,
    pub(super) identity: Identity<'a>,
}

/// The items of a list.
#[derive(Clone, Debug)]
pub(super) enum Items<'a> {
    /// A part of an object, with the schema of the items.
    Data(&'a [Value], &'a Schema),
    /// Computed.
    Made(Rc<Vec<Val<'a>>>),
}

/// What tells the items of a list apart: it decides about equality and `+`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Identity<'a> {
    /// Their place, in a list that was computed.
    Computed,
    /// Their place.
    Place,
    /// Their value: the list is a set.
    Value,
    /// Some fields.
    Keys(&'a [String]),
}

/// A map, or an object with known fields.
#[derive(Clone, Debug)]
pub(super) enum Map<'a> {
    /// A part of an object.
    Data(&'a serde_json::Map<String, Value>, &'a Schema),
    /// Computed.
    Made(Rc<Vec<(Val<'a>, Val<'a>)>>),
}

impl<'a> Val<'a> {
    /// A part of an object as its schema says.
    pub(super) fn typed(value: &'a Value, schema: &'a Schema) -> Result<Self, Fail> {
        let wrong = |expected: &str| {
            Err(Fail::error(format!("invalid data, expected {expected}, got {}", json_type(value))))
        };
        if value.is_null() {
            let message = "invalid data, got null for schema with nullable=false";
            return if schema.nullable { Ok(Self::Null) } else { Err(Fail::error(message)) };
        }
        if schema.int_or_string {
            return match value {
                Value::String(text) => Ok(Self::String(Cow::Borrowed(text))),
                Value::Number(number) if number.is_i64() => {
                    Ok(Self::Int(number.as_i64().unwrap_or_default()))
                }
                _ => Err(Fail::error(
                    "invalid data, expected XIntOrString value to be either a string or integer",
                )),
            };
        }
        match (schema.kind.as_str(), value) {
            ("object", Value::Object(entries)) => Ok(Self::Map(Map::Data(entries, schema))),
            ("object", _) => {
                Err(Fail::error("invalid data, expected a map for the provided schema with type=object"))
            }
            ("array", Value::Array(items)) => match &schema.items {
                Some(of) => {
                    Ok(Self::List(List { items: Items::Data(items, of), identity: Identity::of(schema) }))
                }
                None => Err(Fail::error("invalid array type, expected Items with a non-empty Schema")),
            },
            ("array", _) => {
                Err(Fail::error("invalid data, expected an array for the provided schema with type=array"))
            }
            ("string", Value::String(text)) => formatted(text, &schema.format),
            ("string", _) => wrong("string"),
            ("number", Value::Number(number)) => Ok(Self::Double(number.as_f64().unwrap_or_default())),
            ("number", _) => wrong("float"),
            ("integer", Value::Number(number)) if number.is_i64() => {
                Ok(Self::Int(number.as_i64().unwrap_or_default()))
            }
            ("integer", _) => wrong("int"),
            ("boolean", Value::Bool(value)) => Ok(Self::Bool(*value)),
            ("boolean", _) => wrong("bool"),
            _ => Ok(Self::Unknown(value)),
        }
    }

    /// A constant.
    pub(super) fn literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Uint(value) => Self::Uint(*value),
            Literal::Double(value) => Self::Double(*value),
            Literal::String(text) => Self::String(Cow::Borrowed(text)),
            Literal::Bytes(bytes) => Self::Bytes(bytes.as_slice().into()),
            Literal::Duration(nanos) => Self::Duration(*nanos),
            Literal::Type(name) => Self::Type(name),
        }
    }

    /// A text that was computed.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::String(Cow::Owned(text.into()))
    }

    /// A number of things.
    pub(super) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// A list that was computed.
    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(List { items: Items::Made(Rc::new(items)), identity: Identity::Computed })
    }

    /// The name of its type inside the real server.
    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::String(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::Timestamp(_) => "types.Timestamp",
            Self::Duration(_) => "types.Duration",
            Self::Type(_) => "*types.Type",
            Self::Url(_) => "cel.URL",
            Self::List(_) | Self::Map(_) | Self::Unknown(_) => "ref.Val",
        }
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Url(_) => "kubernetes.URL",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// The name that messages give to the type of a JSON value.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn formatted<'a>(text: &'a str, format: &str) -> Result<Val<'a>, Fail> {
    let timestamp = |found: Option<Timestamp>, layout: &str| {
        found.map(Val::Timestamp).ok_or_else(|| {
            let problem = format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\"");
            Fail::error(format!("Invalid {format} formatted string {text}: {problem}"))
        })
    };
    match format {
        "duration" => time::parse_spelled_duration(text).map(Val::Duration).ok_or_else(|| {
            Fail::error(format!("Invalid duration {text}: unable to parse {text} as duration"))
        }),
        "date" => timestamp(Timestamp::parse_date(text), "2006-01-02"),
        "date-time" => timestamp(Timestamp::parse_date_time(text), "2006-01-02T15:04:05"),
        "byte" => match decode_base64(text.as_bytes()) {
            Ok(bytes) => Ok(Val::Bytes(bytes.into())),
            Err(at) => Err(Fail::error(format!(
                "Invalid byte formatted string {text}: illegal base64 data at input byte {at}"
            ))),
        },
        _ => Ok(Val::String(Cow::Borrowed(text))),
    }
}

/// Decodes padded base64 in the alphabet of URLs, as the real server does here; the error is the offset of the mistake.
fn decode_base64(text: &[u8]) -> Result<Vec<u8>, usize> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    };
    let (mut bytes, mut group, mut digits, mut padding) = (Vec::new(), 0_u32, 0, 0);
    for (at, byte) in text.iter().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n')) {
        match digit(*byte) {
            Some(value) if padding == 0 => group = group << 6 | u32::from(value),
            None if *byte == b'=' && digits >= 2 => {
                group <<= 6;
                padding += 1;
            }
            _ => return Err(at),
        }
        digits += 1;
        if digits == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..4 - padding]);
            (group, digits) = (0, 0);
        }
    }
    if digits == 0 { Ok(bytes) } else { Err(text.len() - digits) }
}

impl<'a> Identity<'a> {
    fn of(schema: &'a Schema) -> Self {
        match schema.list_type.as_deref() {
            Some("set") => Self::Value,
            Some("map") => Self::Keys(&schema.list_map_keys),
            _ => Self::Place,
        }
    }
}

impl<'a> List<'a> {
    /// How many items.
    pub(super) fn len(&self) -> usize {
        match &self.items {
            Items::Data(items, _) => items.len(),
            Items::Made(items) => items.len(),
        }
    }

    /// One item; none behind the end.
    pub(super) fn get(&self, index: usize) -> Option<Result<Val<'a>, Fail>> {
        match &self.items {
            Items::Data(items, schema) => items.get(index).map(|item| Val::typed(item, schema)),
            Items::Made(items) => items.get(index).cloned().map(Ok),
        }
    }

    /// All items.
    pub(super) fn iter(&self) -> impl Iterator<Item = Result<Val<'a>, Fail>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// All items, unless one is wrong.
    pub(super) fn all(&self) -> Result<Vec<Val<'a>>, Fail> {
        self.iter().collect()
    }
}

impl<'a> Map<'a> {
    /// How many entries.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Data(entries, _) => entries.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// The schema of an entry.
    pub(super) fn entry_schema(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
        if schema.properties.is_empty() { schema.values() } else { schema.property(name) }
    }

    /// The keys, in order.
    pub(super) fn keys(&self) -> Vec<Val<'a>> {
        match self {
            Self::Made(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
            Self::Data(entries, schema) => entries
                .keys()
                .filter(|name| Self::entry_schema(schema, name).is_some())
                .map(|name| match escape::escape(name).filter(|_| !schema.properties.is_empty()) {
                    Some(escaped) => Val::text(escaped),
                    None => Val::String(Cow::Borrowed(name)),
                })
                .collect(),
        }
    }

    /// The value at a key; null in an object with known fields is as good as nothing.
    pub(super) fn get(&self, key: &Val<'a>) -> Result<Option<Val<'a>>, Fail> {
        match (self, key) {
            (Self::Made(entries), _) => {
                let entry = entries.iter().find(|(known, _)| super::compare::same_scalar(known, key));
                Ok(entry.map(|(_, value)| value.clone()))
            }
            (Self::Data(entries, schema), Val::String(key)) => {
                let object = !schema.properties.is_empty();
                let name =
                    if object { escape::unescape(key).map(Cow::Owned) } else { Some(Cow::Borrowed(&**key)) };
                let Some(name) = name else { return Ok(None) };
                match (entries.get(name.as_ref()), Self::entry_schema(schema, &name)) {
                    (Some(Value::Null), _) if object => Ok(None),
                    (Some(value), Some(schema)) => Val::typed(value, schema).map(Some),
                    _ => Ok(None),
                }
            }
            (Self::Data(..), _) => Err(Fail::no_such_overload()),
        }
    }
}
