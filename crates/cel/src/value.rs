//! Values of rules. Parts of an object stay JSON and get their types from the schema when they are read, so that a
//! rule pays only for the fields it reads.

use std::borrow::Cow;
use std::rc::Rc;

use base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::Value;

use crate::escape;
use crate::schema::Schema;
use crate::syntax::Literal;
use crate::time::{self, Timestamp};
use crate::url::Url;

const NO_SUCH_OVERLOAD: &str = "no such overload";

/// Failure of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fail {
    /// An error of the expression, which `&&` and `||` may absorb.
    Error(String),
    /// The arguments match no signature; the caller adds the details.
    Overload,
    /// An error of the real server's evaluator itself, which nothing absorbs.
    Internal(String),
    /// The budget is exceeded.
    Budget,
}

impl Fail {
    /// An error of the expression.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::Error(message.into())
    }

    /// The arguments match no signature.
    pub(crate) fn no_such_overload() -> Self {
        Self::error(NO_SUCH_OVERLOAD)
    }

    /// Message; none for an exceeded budget.
    pub(crate) fn message(self) -> Option<String> {
        match self {
            Self::Error(message) | Self::Internal(message) => Some(message),
            Self::Overload => Some(NO_SUCH_OVERLOAD.to_owned()),
            Self::Budget => None,
        }
    }
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
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
    /// Part of an object without a known type.
    Unknown(&'a Value),
}

/// A list.
#[derive(Clone, Debug)]
pub(crate) struct List<'a> {
    pub(crate) items: Items<'a>,
    pub(crate) identity: Identity<'a>,
}

/// The items of a list.
#[derive(Clone, Debug)]
pub(crate) enum Items<'a> {
    /// A part of an object, with the schema of the items.
    Data(&'a [Value], &'a Schema),
    /// Computed.
    Made(Rc<Vec<Val<'a>>>),
}

/// Identity of the items of a list, which decides about equality and `+`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Identity<'a> {
    /// Their index, in a computed list.
    Computed,
    /// Their index.
    Place,
    /// Their value: the list is a set.
    Value,
    /// Some fields.
    Keys(&'a [String]),
}

/// A map, or an object with known fields.
#[derive(Clone, Debug)]
pub(crate) enum Map<'a> {
    /// A part of an object.
    Data(&'a serde_json::Map<String, Value>, &'a Schema),
    /// Computed.
    Made(Rc<Vec<(Val<'a>, Val<'a>)>>),
}

impl<'a> Val<'a> {
    /// Part of an object, typed by its schema.
    pub(crate) fn typed(value: &'a Value, schema: &'a Schema) -> Result<Self, Fail> {
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
    pub(crate) fn literal(literal: &'a Literal) -> Self {
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

    /// Computed text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::String(Cow::Owned(text.into()))
    }

    /// Integer of a count.
    pub(crate) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Computed list.
    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List { items: Items::Made(Rc::new(items)), identity: Identity::Computed })
    }

    /// The name of its type.
    pub(crate) fn type_name(&self) -> &'static str {
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

/// Name of the type of a JSON value in messages.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int",
        Value::Number(_) => "double",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

fn formatted<'a>(text: &'a str, format: &str) -> Result<Val<'a>, Fail> {
    let timestamp = |found: Option<Timestamp>| {
        let invalid = || Fail::error(format!("Invalid {format} formatted string {text}"));
        found.map(Val::Timestamp).ok_or_else(invalid)
    };
    match format {
        "duration" => time::parse_spelled_duration(text).map(Val::Duration).ok_or_else(|| {
            Fail::error(format!("Invalid duration {text}: unable to parse {text} as duration"))
        }),
        "date" => timestamp(Timestamp::parse_date(text)),
        "date-time" => timestamp(Timestamp::parse_date_time(text)),
        "byte" => match decode_base64(text) {
            Ok(bytes) => Ok(Val::Bytes(bytes.into())),
            Err(error) => Err(Fail::error(format!("Invalid byte formatted string {text}: {error}"))),
        },
        _ => Ok(Val::String(Cow::Borrowed(text))),
    }
}

/// Padded base64 in the alphabet of URLs, which a real server uses here; line breaks are ignored.
fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::URL_SAFE,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    LENIENT.decode(text.replace(['\r', '\n'], ""))
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
    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        match &self.items {
            Items::Data(items, _) => items.len(),
            Items::Made(items) => items.len(),
        }
    }

    /// One item; none beyond the end.
    pub(crate) fn get(&self, index: usize) -> Option<Result<Val<'a>, Fail>> {
        match &self.items {
            Items::Data(items, schema) => items.get(index).map(|item| Val::typed(item, schema)),
            Items::Made(items) => items.get(index).cloned().map(Ok),
        }
    }

    /// All items.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Val<'a>, Fail>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// All items, or the first error.
    pub(crate) fn all(&self) -> Result<Vec<Val<'a>>, Fail> {
        self.iter().collect()
    }
}

impl<'a> Map<'a> {
    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Data(entries, _) => entries.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// The schema of an entry.
    pub(crate) fn entry_schema(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
        if schema.properties.is_empty() { schema.values() } else { schema.property(name) }
    }

    /// The keys, in order.
    pub(crate) fn keys(&self) -> Vec<Val<'a>> {
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

    /// Value at a key; null counts as absent in an object with known fields.
    pub(crate) fn get(&self, key: &Val<'a>) -> Result<Option<Val<'a>>, Fail> {
        match (self, key) {
            (Self::Made(entries), _) => {
                let entry = entries.iter().find(|(known, _)| crate::compare::same_scalar(known, key));
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
