//! Values with Go's types.
//!
//! Lists, maps and records live in a [`Heap`], and values refer to them by index: maps are shared and mutable. The heap is
//! dropped as a whole, so deep nesting cannot overflow the stack.

use std::{collections::BTreeMap, rc::Rc};

use serde_json::{Map, Number, Value as Json};

use crate::error::EvalError;

/// Value with its Go type.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value (an invalid `reflect.Value`), such as a missing key of a map.
    Missing,
    /// Nil inside a map or list.
    Nil,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `int64`, the result of arithmetic. A parameter of type `int` rejects it.
    Int64(i64),
    /// `uint64`.
    Uint(u64),
    /// `uint8`.
    Byte(u8),
    /// `float64`.
    Float(f64),
    /// `string`.
    Str(Rc<str>),
    /// Named string type and its value. A parameter of type `string` rejects it.
    Named(&'static str, Rc<str>),
    /// `time.Time`.
    Time(Rc<Time>),
    /// Index of a list in the [`Heap`].
    List(ListKind, usize),
    /// Index of a map in the [`Heap`]; `None` is a nil map.
    Map(MapKind, Option<usize>),
    /// Index of a record in the [`Heap`].
    Record(usize),
}

/// Date and time of day.
#[derive(Debug, PartialEq, Eq)]
pub struct Time {
    /// `2024-01-02`
    pub date: String,
    /// `03:04:05`, with an optional fraction.
    pub clock: String,
    /// `+02:00`; `None` is UTC.
    pub zone: Option<String>,
}

/// Element type of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// `[]interface{}`.
    Any,
    /// `[]string`.
    Str,
    /// `[]int`.
    Int,
}

/// Type of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// `map[string]interface{}`.
    Any,
    /// `map[interface{}]interface{}`. Keys that are not strings are stored as they print.
    AnyKeys,
    /// `map[string]string`.
    Str,
    /// Map type of the host.
    Typed(&'static MapType),
}

/// Map type of the host, such as a map of structs.
#[derive(Debug)]
pub struct MapType {
    /// Name, as `%T` prints it.
    pub name: &'static str,
    /// Zero value of the element type: the result of `index` for a missing key.
    pub zero: fn(&mut Heap) -> Value,
}

impl PartialEq for MapType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for MapType {}

/// Struct.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Name of the type, as `%T` prints it.
    pub type_name: &'static str,
    /// Fields, in the order of their declaration.
    pub fields: Vec<Field>,
}

/// Field of a [`Record`].
#[derive(Clone, Debug)]
pub struct Field {
    /// Name in templates.
    pub name: &'static str,
    /// Name in JSON.
    pub json: &'static str,
    /// Value.
    pub value: Value,
}

/// Maximum nesting of a value that is printed, compared, copied or converted: these recurse.
pub(crate) const MAX_VALUE_DEPTH: usize = 64;

/// Lists, maps and records.
#[derive(Debug)]
pub struct Heap {
    lists: Vec<Rc<Vec<Value>>>,
    maps: Vec<BTreeMap<String, Value>>,
    records: Vec<Rc<Record>>,
    /// Entries of a nil map.
    empty: BTreeMap<String, Value>,
    /// [`crate::Limits::values`].
    max_values: usize,
}

impl Value {
    /// `string`.
    pub fn string(text: impl AsRef<str>) -> Self {
        Self::Str(Rc::from(text.as_ref()))
    }

    /// Value as an `interface{}`: a missing one becomes nil.
    pub(crate) fn or_nil(self) -> Self {
        if matches!(self, Self::Missing) { Self::Nil } else { self }
    }

    pub(crate) fn is_nil(&self) -> bool {
        matches!(self, Self::Missing | Self::Nil)
    }

    /// Content of a string; empty for other types.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Str(text) | Self::Named(_, text) => text,
            _ => "",
        }
    }

    /// Content of a signed integer; 0 for other types.
    pub(crate) fn as_int(&self) -> i64 {
        match self {
            Self::Int(int) | Self::Int64(int) => *int,
            _ => 0,
        }
    }

    /// Name of the kind in Go's `reflect`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "invalid",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Uint(_) => "uint64",
            Self::Byte(_) => "uint8",
            Self::Float(_) => "float64",
            Self::Str(_) | Self::Named(..) => "string",
            Self::List(..) => "slice",
            Self::Map(..) => "map",
            Self::Time(_) | Self::Record(_) => "struct",
        }
    }
}

impl Heap {
    pub(crate) fn new(max_values: usize) -> Self {
        Self { lists: Vec::new(), maps: Vec::new(), records: Vec::new(), empty: BTreeMap::new(), max_values }
    }

    /// Allocates a list.
    pub fn new_list(&mut self, kind: ListKind, items: Vec<Value>) -> Value {
        self.lists.push(Rc::new(items));
        Value::List(kind, self.lists.len() - 1)
    }

    /// Allocates a map.
    pub fn new_map(&mut self, kind: MapKind, entries: BTreeMap<String, Value>) -> Value {
        self.maps.push(entries);
        Value::Map(kind, Some(self.maps.len() - 1))
    }

    /// Allocates a record.
    pub fn new_record(&mut self, type_name: &'static str, fields: Vec<Field>) -> Value {
        self.records.push(Rc::new(Record { type_name, fields }));
        Value::Record(self.records.len() - 1)
    }

    pub(crate) fn list(&self, at: usize) -> Rc<Vec<Value>> {
        self.lists.get(at).cloned().unwrap_or_default()
    }

    pub(crate) fn record(&self, at: usize) -> Rc<Record> {
        self.records.get(at).cloned().unwrap_or_default()
    }

    /// Entries of a map. A nil map is empty.
    pub fn map(&self, at: Option<usize>) -> &BTreeMap<String, Value> {
        at.and_then(|at| self.maps.get(at)).unwrap_or(&self.empty)
    }

    /// Mutable entries of a map. Fails for a nil map.
    pub(crate) fn map_mut(&mut self, at: Option<usize>) -> Result<&mut BTreeMap<String, Value>, EvalError> {
        at.and_then(|at| self.maps.get_mut(at)).ok_or(EvalError::new("assignment to entry in nil map"))
    }

    /// Number of values in a value, itself included.
    pub(crate) fn size(&self, value: &Value, depth: usize, limit: usize) -> Result<usize, EvalError> {
        if depth > MAX_VALUE_DEPTH {
            return Err(EvalError::new("value is nested too deeply"));
        }
        let mut size = 1;
        let mut add = |inner: &Value| -> Result<(), EvalError> {
            size += self.size(inner, depth + 1, limit.saturating_sub(size))?;
            if size > limit { Err(EvalError::new("value is too large")) } else { Ok(()) }
        };
        match value {
            Value::List(_, at) => self.list(*at).iter().try_for_each(&mut add)?,
            Value::Map(_, at) => self.map(*at).values().try_for_each(&mut add)?,
            Value::Record(at) => self.record(*at).fields.iter().try_for_each(|field| add(&field.value))?,
            _ => {}
        }
        Ok(size)
    }

    /// Value of JSON.
    pub fn value_from_json(&mut self, json: &Json) -> Value {
        match json {
            Json::Null => Value::Nil,
            Json::Bool(flag) => Value::Bool(*flag),
            Json::Number(number) => number_value(number),
            Json::String(text) => Value::string(text),
            Json::Array(items) => {
                let items = items.iter().map(|item| self.value_from_json(item)).collect();
                self.new_list(ListKind::Any, items)
            }
            Json::Object(map) => self.map_from_json(map),
        }
    }

    /// Map of a JSON object.
    pub fn map_from_json(&mut self, map: &Map<String, Json>) -> Value {
        let entries = map.iter().map(|(key, value)| (key.clone(), self.value_from_json(value))).collect();
        self.new_map(MapKind::Any, entries)
    }

    /// Value as JSON. Times, infinities and NaN become strings.
    pub fn to_json(&self, value: &Value) -> Result<Json, EvalError> {
        self.size(value, 0, self.max_values)?;
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
                .map_or_else(|| Json::String(crate::number::general(*float)), Json::Number),
            Value::Str(text) | Value::Named(_, text) => Json::String(text.to_string()),
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

    /// Map as JSON; other values become an empty object.
    pub fn to_object(&self, value: &Value) -> Result<Map<String, Json>, EvalError> {
        Ok(match self.to_json(value)? {
            Json::Object(map) => map,
            _ => Map::new(),
        })
    }
}

/// Value of a JSON number: `int`, `uint64` if it is too large for that, else `float64`.
pub fn number_value(number: &Number) -> Value {
    if let Some(int) = number.as_i64() {
        Value::Int(int)
    } else if let Some(int) = number.as_u64() {
        Value::Uint(int)
    } else {
        Value::Float(number.as_f64().unwrap_or(f64::NAN))
    }
}

impl Time {
    /// RFC 3339, as in JSON.
    pub fn rfc3339(&self) -> String {
        format!("{}T{}{}", self.date, self.clock, self.zone.as_deref().unwrap_or("Z"))
    }

    /// Output of Go's `Time.String`.
    pub(crate) fn printed(&self) -> String {
        match &self.zone {
            None => format!("{} {} +0000 UTC", self.date, self.clock),
            Some(zone) => {
                let zone = zone.replace(':', "");
                format!("{} {} {zone} {zone}", self.date, self.clock)
            }
        }
    }
}
