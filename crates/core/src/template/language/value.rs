//! What templates work with: values with the types that Go gives them.
//!
//! Lists, maps and records live in a [`Heap`] and are named by their place there, since maps are shared and can be
//! changed; so nothing in it is freed piece by piece, however deep a template nests it.

use std::{collections::BTreeMap, rc::Rc};

use serde_json::{Map, Number, Value as Json};

use super::fault::Wrong;

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Nothing at all: the value of a key that a map does not have.
    Missing,
    /// A nil inside a map or list.
    Nil,
    Bool(bool),
    Int(i64),
    /// What arithmetic gives; no function that wants an `int` takes it.
    Int64(i64),
    Uint(u64),
    Byte(u8),
    Float(f64),
    Text(Rc<str>),
    /// Text of a type of its own, which no function that wants text takes.
    Protocol(Rc<str>),
    Time(Rc<Time>),
    List(ListKind, usize),
    /// A map; `None` is a nil map.
    Map(MapKind, Option<usize>),
    Record(usize),
}

/// A date and time of day.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Time {
    /// `2024-01-02`
    pub(crate) date: String,
    /// `03:04:05`, with a fraction where there is one.
    pub(crate) clock: String,
    /// `+02:00`; none for UTC.
    pub(crate) zone: Option<String>,
}

/// What a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Any,
    Text,
    Int,
}

/// What a map holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapKind {
    Any,
    /// Some of its keys were no text.
    AnyKeys,
    Text,
    Services,
    Ports,
}

/// A value with fields of its own.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) type_name: &'static str,
    pub(crate) fields: Vec<Field>,
}

/// A field of a record.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// What it is called in JSON.
    pub(crate) json: &'static str,
    pub(crate) value: Value,
}

/// How deep a value may be nested where it is looked at whole.
pub(super) const DEPTH: usize = 64;

/// Everything that values refer to.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    lists: Vec<Rc<Vec<Value>>>,
    maps: Vec<BTreeMap<String, Value>>,
    records: Vec<Rc<Record>>,
    /// What a nil map holds.
    none: BTreeMap<String, Value>,
}

impl Value {
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Rc::from(text.as_ref()))
    }

    /// What an argument of any type is: nothing becomes nil.
    pub(super) fn or_nil(self) -> Self {
        if matches!(self, Self::Missing) { Self::Nil } else { self }
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Self::Missing | Self::Nil)
    }

    pub(super) fn as_text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Protocol(text) => text,
            _ => "",
        }
    }

    /// The integer of an argument that was checked to be one.
    pub(super) fn as_int(&self) -> i64 {
        match self {
            Self::Int(int) | Self::Int64(int) => *int,
            _ => 0,
        }
    }

    /// The kind, as Go's `reflect` names it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "invalid",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Uint(_) => "uint64",
            Self::Byte(_) => "uint8",
            Self::Float(_) => "float64",
            Self::Text(_) | Self::Protocol(_) => "string",
            Self::List(..) => "slice",
            Self::Map(..) => "map",
            Self::Time(_) | Self::Record(_) => "struct",
        }
    }
}

impl Heap {
    pub(crate) fn new_list(&mut self, kind: ListKind, items: Vec<Value>) -> Value {
        self.lists.push(Rc::new(items));
        Value::List(kind, self.lists.len() - 1)
    }

    pub(crate) fn new_map(&mut self, kind: MapKind, entries: BTreeMap<String, Value>) -> Value {
        self.maps.push(entries);
        Value::Map(kind, Some(self.maps.len() - 1))
    }

    pub(crate) fn new_record(&mut self, type_name: &'static str, fields: Vec<Field>) -> Value {
        self.records.push(Rc::new(Record { type_name, fields }));
        Value::Record(self.records.len() - 1)
    }

    pub(super) fn list(&self, at: usize) -> Rc<Vec<Value>> {
        self.lists.get(at).cloned().unwrap_or_default()
    }

    pub(super) fn record(&self, at: usize) -> Rc<Record> {
        self.records.get(at).cloned().unwrap_or_else(|| Rc::new(Record { type_name: "", fields: Vec::new() }))
    }

    /// The entries of a map; a nil map has none.
    pub(crate) fn map(&self, at: Option<usize>) -> &BTreeMap<String, Value> {
        at.and_then(|at| self.maps.get(at)).unwrap_or(&self.none)
    }

    /// The entries of a map, to change them; a nil map cannot be changed.
    pub(super) fn map_mut(&mut self, at: Option<usize>) -> Result<&mut BTreeMap<String, Value>, Wrong> {
        at.and_then(|at| self.maps.get_mut(at)).ok_or(Wrong::new("a nil map cannot be changed"))
    }

    /// How many values there are in a value, itself included.
    pub(super) fn size(&self, value: &Value, depth: usize, limit: usize) -> Result<usize, Wrong> {
        if depth > DEPTH {
            return Err(Wrong::new("a value is nested too deep"));
        }
        let mut size = 1;
        let mut add = |inner: &Value| -> Result<(), Wrong> {
            size += self.size(inner, depth + 1, limit.saturating_sub(size))?;
            if size > limit { Err(Wrong::new("a value is too large")) } else { Ok(()) }
        };
        match value {
            Value::List(_, at) => self.list(*at).iter().try_for_each(&mut add)?,
            Value::Map(_, at) => self.map(*at).values().try_for_each(&mut add)?,
            Value::Record(at) => self.record(*at).fields.iter().try_for_each(|field| add(&field.value))?,
            _ => {}
        }
        Ok(size)
    }

    /// The value of JSON.
    pub(crate) fn json(&mut self, json: &Json) -> Value {
        match json {
            Json::Null => Value::Nil,
            Json::Bool(flag) => Value::Bool(*flag),
            Json::Number(number) => number_value(number),
            Json::String(text) => Value::text(text),
            Json::Array(items) => {
                let items = items.iter().map(|item| self.json(item)).collect();
                self.new_list(ListKind::Any, items)
            }
            Json::Object(map) => self.object(map),
        }
    }

    /// The value of a JSON object.
    pub(crate) fn object(&mut self, map: &Map<String, Json>) -> Value {
        let entries = map.iter().map(|(key, value)| (key.clone(), self.json(value))).collect();
        self.new_map(MapKind::Any, entries)
    }

    /// A value as JSON: times are text, as are numbers that JSON does not have.
    pub(crate) fn to_json(&self, value: &Value) -> Result<Json, Wrong> {
        self.size(value, 0, VALUES)?;
        Ok(self.plain(value))
    }

    fn plain(&self, value: &Value) -> Json {
        match value {
            Value::Missing | Value::Nil => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Int(int) | Value::Int64(int) => Json::from(*int),
            Value::Uint(int) => Json::from(*int),
            Value::Byte(byte) => Json::from(*byte),
            Value::Float(float) => Number::from_f64(*float)
                .map_or_else(|| Json::String(super::number::general(*float)), Json::Number),
            Value::Text(text) | Value::Protocol(text) => Json::String(text.to_string()),
            Value::Time(time) => Json::String(time.rfc3339()),
            Value::List(_, at) => self.list(*at).iter().map(|item| self.plain(item)).collect(),
            Value::Map(_, at) => Json::Object(
                self.map(*at).iter().map(|(key, value)| (key.clone(), self.plain(value))).collect(),
            ),
            Value::Record(at) => Json::Object(
                self.record(*at)
                    .fields
                    .iter()
                    .map(|field| (field.json.to_owned(), self.plain(&field.value)))
                    .collect(),
            ),
        }
    }

    /// The entries of a map as JSON.
    pub(crate) fn to_object(&self, value: &Value) -> Result<Map<String, Json>, Wrong> {
        Ok(match self.to_json(value)? {
            Json::Object(map) => map,
            _ => Map::new(),
        })
    }
}

/// How many values a result may hold.
const VALUES: usize = 250_000;

pub(crate) fn number_value(number: &Number) -> Value {
    if let Some(int) = number.as_i64() {
        Value::Int(int)
    } else if let Some(int) = number.as_u64() {
        Value::Uint(int)
    } else {
        Value::Float(number.as_f64().unwrap_or(f64::NAN))
    }
}

impl Time {
    /// As JSON has it.
    pub(crate) fn rfc3339(&self) -> String {
        format!("{}T{}{}", self.date, self.clock, self.zone.as_deref().unwrap_or("Z"))
    }

    /// As Go prints it.
    pub(super) fn printed(&self) -> String {
        match &self.zone {
            None => format!("{} {} +0000 UTC", self.date, self.clock),
            Some(zone) => {
                let zone = zone.replace(':', "");
                format!("{} {} {zone} {zone}", self.date, self.clock)
            }
        }
    }
}
