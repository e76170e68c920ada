//! The shape of `metadata`: which fields it has and of which type, as far as reading an object is concerned.
//!
//! Unlike the rest of a custom object, its metadata has one fixed type. Fields that the type does not know are
//! dropped and reported; a value of a wrong type refuses the whole object.

use serde_json::{Map, Number, Value};

use super::time;
use crate::json::{encode, kind_of};

/// Whose metadata it is, which messages about wrong types tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaOf<'k> {
    /// A custom object, or an object inside of one.
    Custom,
    /// An object of a built-in kind.
    BuiltIn(&'k str),
}

/// Metadata, read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectMeta {
    /// The known fields, without those that are empty; times are in UTC.
    pub value: Value,
    /// The places of unknown fields: `metadata.foo`, `metadata.ownerReferences[0].bar`.
    pub unknown: Vec<String>,
}

/// Reads the `metadata` of an object, which stands at `field`. The error is the message about a wrong type, to be
/// put after `… cannot be handled as a …: `.
pub(crate) fn decode_object_meta(meta: Value, of: MetaOf<'_>, field: &str) -> Result<ObjectMeta, String> {
    let mut decoder = Decoder { of, unknown: Vec::new(), mistyped: None };
    let value = match meta {
        Value::Object(map) => decoder.record(&OBJECT_META, map, "", field)?,
        Value::Null => Value::Object(Map::new()),
        other => {
            let place = match of {
                MetaOf::Custom => "Go value".to_owned(),
                MetaOf::BuiltIn(kind) => format!("Go struct field {kind}.metadata"),
            };
            return Err(format!(
                "json: cannot unmarshal {} into {place} of type v1.ObjectMeta",
                kind_of(&other)
            ));
        }
    };
    match decoder.mistyped {
        Some(problem) => Err(problem),
        None => Ok(ObjectMeta { value, unknown: decoder.unknown }),
    }
}

/// The type of a field.
enum Type {
    /// Text, with the name of its type.
    Text(&'static str),
    Integer,
    Flag,
    Time,
    TextMap,
    TextList,
    Records(&'static Record),
    /// Anything.
    Raw,
}

/// A type with fields.
struct Record {
    name: &'static str,
    fields: &'static [(&'static str, Type)],
    /// The fields that are there even if they are empty.
    always: &'static [&'static str],
}

const STRING: Type = Type::Text("string");

static OBJECT_META: Record = Record {
    name: "ObjectMeta",
    fields: &[
        ("name", STRING),
        ("generateName", STRING),
        ("namespace", STRING),
        ("selfLink", STRING),
        ("uid", Type::Text("types.UID")),
        ("resourceVersion", STRING),
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
    name: "OwnerReference",
    fields: &[
        ("apiVersion", STRING),
        ("kind", STRING),
        ("name", STRING),
        ("uid", Type::Text("types.UID")),
        ("controller", Type::Flag),
        ("blockOwnerDeletion", Type::Flag),
    ],
    always: &["apiVersion", "kind", "name", "uid"],
};

static MANAGED_FIELDS: Record = Record {
    name: "ManagedFieldsEntry",
    fields: &[
        ("manager", STRING),
        ("operation", Type::Text("v1.ManagedFieldsOperationType")),
        ("apiVersion", STRING),
        ("time", Type::Time),
        ("fieldsType", STRING),
        ("fieldsV1", Type::Raw),
        ("subresource", STRING),
    ],
    always: &[],
};

struct Decoder<'k> {
    of: MetaOf<'k>,
    unknown: Vec<String>,
    /// What is said about the first value of a wrong type. Reading goes on, since a wrong time goes before it.
    mistyped: Option<String>,
}

impl Decoder<'_> {
    /// Reads a record. `trail` is its place in the type, `place` is its place in the object.
    fn record(
        &mut self,
        record: &Record,
        map: Map<String, Value>,
        trail: &str,
        place: &str,
    ) -> Result<Value, String> {
        let mut known = Map::new();
        for (name, value) in map {
            let Some((_, wanted)) = record.fields.iter().find(|(field, _)| *field == name) else {
                self.unknown.push(format!("{place}.{name}"));
                continue;
            };
            let field = Field { record, trail, name: &name };
            let value = self.field(wanted, value, &field, place)?;
            // A count that is zero was asked for; other empty values are as good as none.
            let is_kept = match &value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Array(list) => !list.is_empty(),
                Value::Object(map) => !map.is_empty() || matches!(wanted, Type::Raw),
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

    /// Reads a field; the error is that of a time.
    fn field(
        &mut self,
        wanted: &Type,
        value: Value,
        field: &Field<'_>,
        place: &str,
    ) -> Result<Value, String> {
        Ok(match (wanted, value) {
            (_, Value::Null) => Value::Null,
            (Type::Raw, value)
            | (Type::Text(_), value @ Value::String(_))
            | (Type::Flag, value @ Value::Bool(_)) => value,
            (Type::Integer, Value::Number(number)) => self.integer(&number, field),
            (Type::Time, Value::String(text)) => time::parse(&text)?.map_or(Value::Null, Value::String),
            (Type::Time, other) => return Err(self.wrong_type(kind_of(&other), field, "string")),
            (Type::TextMap, Value::Object(map)) => {
                map.into_iter().map(|(key, value)| (key, self.text(value, field))).collect()
            }
            (Type::TextList, Value::Array(list)) => {
                list.into_iter().map(|value| self.text(value, field)).collect()
            }
            (Type::Records(record), Value::Array(list)) => self.records(record, list, field, place)?,
            (Type::Text(name), other) => self.mistyped(kind_of(&other), field, name),
            (Type::Integer, other) => self.mistyped(kind_of(&other), field, "int64"),
            (Type::Flag, other) => self.mistyped(kind_of(&other), field, "bool"),
            (Type::TextMap, other) => self.mistyped(kind_of(&other), field, "map[string]string"),
            (Type::TextList, other) => self.mistyped(kind_of(&other), field, "[]string"),
            (Type::Records(record), other) => {
                self.mistyped(kind_of(&other), field, &format!("[]v1.{}", record.name))
            }
        })
    }

    fn records(
        &mut self,
        record: &Record,
        list: Vec<Value>,
        field: &Field<'_>,
        place: &str,
    ) -> Result<Value, String> {
        let trail = format!("{}{}.", field.trail, field.name);
        let mut records = Vec::with_capacity(list.len());
        for (index, value) in list.into_iter().enumerate() {
            let map = match value {
                Value::Object(map) => map,
                Value::Null => Map::new(),
                other => {
                    self.mistyped(kind_of(&other), field, &format!("v1.{}", record.name));
                    continue;
                }
            };
            let place = format!("{place}.{}[{index}]", field.name);
            records.push(self.record(record, map, &trail, &place)?);
        }
        Ok(Value::Array(records))
    }

    /// A text inside of a list or a map, where null is the empty text.
    fn text(&mut self, value: Value, field: &Field<'_>) -> Value {
        match value {
            Value::Null => Value::String(String::new()),
            Value::String(_) => value,
            other => self.mistyped(kind_of(&other), field, "string"),
        }
    }

    /// An integer. A custom object has been written as JSON again before this, which made `1` of `1.0`.
    fn integer(&mut self, number: &Number, field: &Field<'_>) -> Value {
        if number.is_i64() {
            return Value::Number(number.clone());
        }
        let text = String::from_utf8(encode(&Value::Number(number.clone()))).unwrap_or_default();
        match (self.of, text.parse::<i64>()) {
            (MetaOf::Custom, Ok(integer)) => Value::from(integer),
            (MetaOf::BuiltIn(_), Ok(_)) => self.mistyped(&format!("number {text}.0"), field, "int64"),
            (_, Err(_)) => self.mistyped(&format!("number {text}"), field, "int64"),
        }
    }

    /// Notes a value of a wrong type, which counts as none.
    fn mistyped(&mut self, found: &str, field: &Field<'_>, wanted: &str) -> Value {
        if self.mistyped.is_none() {
            self.mistyped = Some(self.wrong_type(found, field, wanted));
        }
        Value::Null
    }

    fn wrong_type(&self, found: &str, field: &Field<'_>, wanted: &str) -> String {
        let root = match self.of {
            MetaOf::Custom => "",
            MetaOf::BuiltIn(_) => "metadata.",
        };
        let Field { record, trail, name } = field;
        format!(
            "json: cannot unmarshal {found} into Go struct field {}.{root}{trail}{name} of type {wanted}",
            record.name
        )
    }
}

/// A field in its type.
struct Field<'f> {
    record: &'f Record,
    trail: &'f str,
    name: &'f str,
}
