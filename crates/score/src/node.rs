//! A parsed document: values that remember where they were written.
//!
//! This is the form on which overrides and validation work. It is dynamic on purpose: a document with
//! mistakes in it must still be walked to the end, so that all findings come at once. The typed form is
//! [`crate::model`], which exists only for documents without errors.

use indexmap::IndexMap;
use serde_json::{Number, Value as Json};

use crate::{pointer::Pointer, source::Span};

/// A value and the place it was written at (none when it came from an API object).
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub span: Option<Span>,
}

/// What a document can hold.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`; `yes`, `no`, `on` and `off` are text.
    Bool(bool),
    /// A finite number.
    Number(Number),
    /// Text.
    String(String),
    /// An unquoted date or time. Score has no use for one: where text is wanted it is a mistake, in free-form
    /// places it is kept as written.
    Timestamp(String),
    /// A list.
    List(Vec<Node>),
    /// A map with text keys.
    Map(Map),
}

/// Keys in the order of the file.
pub type Map = IndexMap<String, Entry>;

/// A value in a map, with the place of its key.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where the key was written.
    pub key_span: Option<Span>,
    /// The value.
    pub node: Node,
}

/// How large a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Keys and values in it, itself included.
    pub values: usize,
    /// Levels of nesting in it.
    pub depth: usize,
    /// Bytes that it takes as JSON, nearly.
    pub bytes: usize,
    /// Bytes of the longest key in it.
    pub longest_key: usize,
}

impl Entry {
    /// The place to underline when something is wrong with the value: the value itself where it fits on a
    /// line, the key where the value is a whole block.
    pub fn highlight(&self) -> Option<Span> {
        match self.node.value {
            Value::Map(_) | Value::List(_) => self.key_span.or(self.node.span),
            _ => self.node.span.filter(|span| span.end > span.start).or(self.key_span),
        }
    }
}

impl Node {
    /// A value without a place.
    pub fn new(value: Value) -> Self {
        Self { value, span: None }
    }

    /// An empty map.
    pub fn empty_map(span: Option<Span>) -> Self {
        Self { value: Value::Map(Map::new()), span }
    }

    /// The map, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    /// The integer, if it is one; `80.0` is the integer 80, as JSON Schema has it.
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
    pub fn as_integer(&self) -> Option<i64> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match &self.value {
            Value::Number(number) => number.as_i64().or_else(|| {
                number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() <= EXACT).map(|f| f as i64)
            }),
            _ => None,
        }
    }

    /// The entry under a key, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.as_map()?.get(key)
    }

    /// The value under a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// Every entry of the map under a key; nothing if it is absent or not a map.
    pub fn entries(&self, key: &str) -> impl Iterator<Item = (&String, &Entry)> {
        self.get(key).and_then(Self::as_map).into_iter().flatten()
    }

    /// The place of the value a pointer names; of its nearest existing parent where it does not exist.
    pub fn locate(&self, pointer: &Pointer) -> Option<Span> {
        let mut node = self;
        let mut found = None;
        for part in pointer.parts() {
            match &node.value {
                Value::Map(map) => match map.get(&part) {
                    Some(entry) => {
                        found = entry.highlight().or(found);
                        node = &entry.node;
                    }
                    None => return found,
                },
                Value::List(list) => match part.parse().ok().and_then(|index: usize| list.get(index)) {
                    Some(item) => {
                        found = item.span.or(found);
                        node = item;
                    }
                    None => return found,
                },
                _ => return found,
            }
        }
        found
    }

    /// How large the value is.
    pub fn size(&self) -> Size {
        let quoted =
            |text: &str| 2 + text.len() + text.chars().filter(|c| matches!(c, '"' | '\\' | '\n')).count();
        let mut size = Size { values: 1, depth: 0, bytes: 0, longest_key: 0 };
        let mut add = |inner: Size| {
            size.values += inner.values;
            size.depth = size.depth.max(inner.depth + 1);
            size.longest_key = size.longest_key.max(inner.longest_key);
            size.bytes += inner.bytes + 1;
        };
        let own = match &self.value {
            Value::Null | Value::Bool(true) => 4,
            Value::Bool(false) => 5,
            Value::Number(number) => number.to_string().len(),
            Value::String(text) | Value::Timestamp(text) => quoted(text),
            Value::List(list) => {
                list.iter().map(Self::size).for_each(add);
                2
            }
            Value::Map(map) => {
                for (key, entry) in map {
                    let inner = entry.node.size();
                    add(Size {
                        values: inner.values + 1,
                        bytes: inner.bytes + quoted(key) + 1,
                        longest_key: inner.longest_key.max(key.len()),
                        ..inner
                    });
                }
                2
            }
        };
        size.bytes += own;
        size
    }

    /// The value as JSON. Keys come out sorted, times as text.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Number(number) => Json::Number(number.clone()),
            Value::String(text) | Value::Timestamp(text) => Json::String(text.clone()),
            Value::List(list) => list.iter().map(Self::to_json).collect(),
            Value::Map(map) => {
                Json::Object(map.iter().map(|(key, entry)| (key.clone(), entry.node.to_json())).collect())
            }
        }
    }

    /// What the value is called in messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing (null)",
            Value::Bool(_) => "a boolean",
            Value::Number(number) if number.is_f64() => "a number with a fraction",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Timestamp(_) => "a date",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

impl From<Json> for Node {
    fn from(json: Json) -> Self {
        Self::new(match json {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Bool(flag),
            Json::Number(number) => Value::Number(number),
            Json::String(text) => Value::String(text),
            Json::Array(list) => Value::List(list.into_iter().map(Self::from).collect()),
            Json::Object(map) => Value::Map(
                map.into_iter()
                    .map(|(key, value)| (key, Entry { key_span: None, node: Self::from(value) }))
                    .collect(),
            ),
        })
    }
}
