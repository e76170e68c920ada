//! Parsed value tree with source spans.
//!
//! Overrides and validation work on this dynamic tree: an invalid document is still walked to the end, so that all
//! diagnostics are reported at once. The typed [`crate::model`] exists only for valid documents.

use indexmap::IndexMap;
use serde_json::{Number, Value as Json};

use crate::{pointer::Pointer, source::Span};

/// Value and its span (none for values from an API object).
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Source range of the value.
    pub span: Option<Span>,
}

/// YAML value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`, `~` or an empty value.
    Null,
    /// `true` or `false`; `yes`, `no`, `on` and `off` are strings.
    Bool(bool),
    /// A finite number.
    Number(Number),
    /// String.
    String(String),
    /// Unquoted date or time. An error where a string is expected; kept as written in free-form maps.
    Timestamp(String),
    /// A list.
    List(Vec<Node>),
    /// A map with string keys.
    Map(Map),
}

/// Map in file order.
pub type Map = IndexMap<String, Entry>;

/// Map entry: the span of the key, and the value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Source range of the key.
    pub key_span: Option<Span>,
    /// The value.
    pub node: Node,
}

/// Size of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of keys and values, including itself.
    pub values: usize,
    /// Nesting depth.
    pub depth: usize,
    /// Approximate size as JSON, in bytes.
    pub bytes: usize,
    /// Length of the longest key, in bytes.
    pub longest_key: usize,
}

impl Entry {
    /// Span to underline for a diagnostic about the value: the value of a scalar, the key of a block.
    pub fn highlight(&self) -> Option<Span> {
        match self.node.value {
            Value::Map(_) | Value::List(_) => self.key_span.or(self.node.span),
            _ => self.node.span.filter(|span| span.end > span.start).or(self.key_span),
        }
    }
}

impl Node {
    /// Value without a span.
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

    /// The string, if it is one.
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

    /// The integer, if it is one; `80.0` is the integer 80, as in JSON Schema.
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

    /// Entries of the map under a key; none if it is absent or not a map.
    pub fn entries(&self, key: &str) -> impl Iterator<Item = (&String, &Entry)> {
        self.get(key).and_then(Self::as_map).into_iter().flatten()
    }

    /// Span of the value at a pointer, or of its closest existing parent.
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

    /// Size of the value.
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

    /// Value as JSON, with sorted keys and timestamps as strings.
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

    /// Type name for messages: "expected string, found number".
    pub fn type_name(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "decimal number",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Timestamp(_) => "date",
            Value::List(_) => "list",
            Value::Map(_) => "map",
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
