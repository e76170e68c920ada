//! The tree of a YAML document, and how it unfolds to JSON.

use std::{collections::HashSet, rc::Rc};

use serde_json::{Map, Number, Value};

use super::{
    MAX_DEPTH,
    decode::DecodeError,
    number::{general_float, general_short_float, reread},
    quote::quote,
    yaml_errors::refused,
    yaml_scalar::Scalar,
};

type Result<T> = std::result::Result<T, DecodeError>;

/// Values that one document may unfold to by its aliases.
const MAX_ALIASED: usize = 400_000;
/// Duplicate keys that are reported.
const MAX_DUPLICATES: usize = 100;

/// A value of a document.
pub(super) struct Node {
    /// The line where it starts.
    line: usize,
    /// Levels of nesting in it, those behind aliases included.
    height: usize,
    content: Content,
}

/// What a value is.
pub(super) enum Content {
    /// A word, what it means, and as it is written.
    Scalar(Scalar, String),
    List(Vec<Rc<Node>>),
    /// The entries in their order; keys may stand twice.
    Map(Vec<(Rc<Node>, Rc<Node>)>),
    /// The value of an anchor.
    Alias(Rc<Node>),
    /// The key `<<`, whose value is a map to take entries from.
    Merge,
}

impl Node {
    /// A value at a line. No value may be nested too deep, so that everything may recurse over it.
    pub(super) fn new(line: usize, content: Content) -> Result<Self> {
        let tallest = |height, node: &Rc<Self>| usize::max(height, node.height);
        let height = match &content {
            Content::Scalar(..) | Content::Merge => 0,
            Content::Alias(target) => target.height,
            Content::List(list) => 1 + list.iter().fold(0, tallest),
            Content::Map(entries) => {
                1 + entries.iter().flat_map(|(key, value)| [key, value]).fold(0, tallest)
            }
        };
        if height > MAX_DEPTH {
            Err(refused("exceeded max depth"))
        } else {
            Ok(Self { line, height, content })
        }
    }
}

/// A key, as the text that it becomes, and as messages show it.
struct Key {
    text: String,
    shown: String,
}

/// The second step: from the tree to JSON.
#[derive(Default)]
pub(super) struct Unfolding {
    /// What strict decoding says about keys that stand twice.
    pub(super) duplicates: Vec<String>,
    aliased: usize,
    aliases: usize,
}

impl Unfolding {
    /// The value of a node.
    pub(super) fn value(&mut self, node: &Node) -> Result<Value> {
        self.count()?;
        match &node.content {
            Content::Scalar(scalar, text) => plain(scalar, text),
            Content::List(list) => {
                let items: Result<_> = list.iter().map(|item| self.value(item)).collect();
                Ok(Value::Array(items?))
            }
            Content::Map(entries) => {
                let mut map = Target::default();
                self.entries(entries, &mut map)?;
                Ok(Value::Object(map.map))
            }
            Content::Alias(target) => self.inside_alias(|unfolding| unfolding.value(target)),
            Content::Merge => Ok(Value::String("<<".to_owned())),
        }
    }

    fn count(&mut self) -> Result<()> {
        self.aliased += usize::from(self.aliases > 0);
        if self.aliased > MAX_ALIASED { Err(refused("document contains excessive aliasing")) } else { Ok(()) }
    }

    fn inside_alias<T>(&mut self, unfold: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.aliases += 1;
        let result = unfold(self);
        self.aliases -= 1;
        result
    }

    fn entries(&mut self, entries: &[(Rc<Node>, Rc<Node>)], map: &mut Target) -> Result<()> {
        for (key, value) in entries {
            if matches!(key.content, Content::Merge) {
                self.merge(value, map)?;
                continue;
            }
            let key = Self::key(key)?;
            let content = self.value(value)?;
            let Key { text, shown } = key.map_err(|kind| unsupported_key(kind, &content))?;
            if !map.keys.insert(shown.clone()) && self.duplicates.len() < MAX_DUPLICATES {
                self.duplicates.push(format!("line {}: key {shown} already set in map", value.line));
            }
            map.map.insert(text, content);
        }
        Ok(())
    }

    /// Takes the entries of other maps over. Of several maps, the first one wins; of a map and its target, the later.
    fn merge(&mut self, node: &Node, map: &mut Target) -> Result<()> {
        const WANTED: &str = "map merge requires map or sequence of maps as the value";
        self.count()?;
        let one = |unfolding: &mut Self, node: &Node, map: &mut Target| match &node.content {
            Content::Map(entries) => unfolding.entries(entries, map),
            Content::Alias(target) => match &target.content {
                Content::Map(entries) => unfolding.inside_alias(|unfolding| unfolding.entries(entries, map)),
                _ => Err(refused(WANTED)),
            },
            _ => Err(refused(WANTED)),
        };
        match &node.content {
            Content::List(list) => list.iter().rev().try_for_each(|item| one(self, item, map)),
            _ => one(self, node, map),
        }
    }

    /// A key; the inner error is the type of one that JSON has no text for.
    fn key(node: &Node) -> Result<std::result::Result<Key, &'static str>> {
        let same = |text: String| Ok(Key { shown: text.clone(), text });
        match &node.content {
            Content::Scalar(Scalar::Text | Scalar::Timestamp, text) => {
                Ok(Ok(Key { text: text.clone(), shown: quote(text) }))
            }
            Content::Scalar(Scalar::Int(integer), _) => Ok(same(integer.to_string())),
            Content::Scalar(Scalar::Bool(flag), _) => Ok(same(flag.to_string())),
            Content::Scalar(Scalar::Float(float), _) => {
                let shown = general_float(*float);
                Ok(Ok(Key { text: float_key(*float), shown }))
            }
            Content::Scalar(Scalar::Uint(_), _) => Ok(Err("uint64")),
            Content::Scalar(Scalar::Null, _) => Ok(Err("%!s(<nil>)")),
            Content::Merge => Ok(Ok(Key { text: "<<".to_owned(), shown: quote("<<") })),
            Content::Alias(target) => Self::key(target),
            Content::List(_) => Err(refused("invalid map key: []interface {}")),
            Content::Map(_) => Err(refused("invalid map key: map[interface {}]interface {}")),
        }
    }
}

/// A map that is being filled.
#[derive(Default)]
struct Target {
    map: Map<String, Value>,
    keys: HashSet<String>,
}

fn plain(scalar: &Scalar, text: &str) -> Result<Value> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(flag) => Value::Bool(*flag),
        Scalar::Int(integer) => Value::from(*integer),
        #[expect(clippy::cast_precision_loss, reason = "an integer beyond 63 bits is a float here")]
        Scalar::Uint(integer) => Value::from(*integer as f64),
        Scalar::Float(float) => match Number::from_f64(*float) {
            Some(number) => Value::Number(reread(&number)),
            None => {
                return Err(DecodeError::Yaml(format!("json: unsupported value: {}", not_finite(*float))));
            }
        },
        Scalar::Timestamp | Scalar::Text => Value::String(text.to_owned()),
    })
}

fn not_finite(float: f64) -> &'static str {
    if float.is_nan() {
        "NaN"
    } else if float > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    }
}

fn float_key(float: f64) -> String {
    match not_finite(float) {
        _ if float.is_finite() => general_short_float(float),
        "NaN" => ".nan".to_owned(),
        "+Inf" => ".inf".to_owned(),
        _ => "-.inf".to_owned(),
    }
}

fn unsupported_key(kind: &str, value: &Value) -> DecodeError {
    let shown = match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => quote(text),
        other => other.to_string(),
    };
    DecodeError::Yaml(format!("unsupported map key of type: {kind}, key: <nil>, value: {shown}"))
}
