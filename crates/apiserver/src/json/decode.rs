//! Decoder of JSON bodies, with the duplicate keys that strict field validation reports.

use std::{collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{MAX_DEPTH, integral};

/// Duplicate keys that are reported for one body.
const MAX_DUPLICATES: usize = 100;

/// Decoded body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decoded {
    /// Value; of duplicate keys, the last one.
    pub value: Value,
    /// `duplicate field "spec.a"` for each duplicate key.
    pub duplicates: Vec<String>,
}

/// Syntax error of a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DecodeError(pub(super) String);

/// Decodes a JSON body. Bytes that are not UTF-8 and halves of surrogate pairs become replacement characters, as in Go.
pub(crate) fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let text = String::from_utf8_lossy(bytes);
    decode_text(&text).or_else(|error| match with_whole_surrogates(&text) {
        Some(text) => decode_text(&text),
        None => Err(error),
    })
}

fn decode_text(text: &str) -> Result<Decoded, DecodeError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut findings = Findings::default();
    let value = Seed::root(&mut findings)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| DecodeError(error.to_string()))?;
    Ok(Decoded { value, duplicates: findings.duplicates })
}

/// Text with `\ufffd` for each escape of half a surrogate pair; none if there is none.
fn with_whole_surrogates(text: &str) -> Option<String> {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut fixed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        fixed.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_pair = || rest.get(6..).and_then(unit).is_some_and(|low| (0xdc00..0xe000).contains(&low));
        let length = match unit(rest) {
            Some(0xd800..0xdc00) if is_pair() => 12,
            Some(0xd800..0xe000) => {
                fixed.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            _ => rest.chars().take(2).map(char::len_utf8).sum(),
        };
        fixed.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    fixed.push_str(rest);
    (fixed != text).then_some(fixed)
}

/// Step from a value into one of its parts.
enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

/// Path of a value: a list on the stack, printed only for a finding.
struct Path<'p> {
    parent: Option<&'p Self>,
    step: Step<'p>,
    depth: usize,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Key(key) if self.depth == 1 => f.write_str(key),
            Step::Key(key) => write!(f, ".{key}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Findings about a body while it is decoded.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) duplicates: Vec<String>,
    pub(super) reported: HashSet<String>,
    /// YAML passes through JSON on a real server, where `1.0` is written as `1`.
    pub(super) floats_may_be_integers: bool,
}

impl Findings {
    fn duplicate(&mut self, path: &Path<'_>) {
        if self.duplicates.len() < MAX_DUPLICATES {
            let finding = format!("duplicate field {:?}", path.to_string());
            if self.reported.insert(finding.clone()) {
                self.duplicates.push(finding);
            }
        }
    }
}

/// Builder of a [`Value`] that keeps the path of what it builds.
pub(super) struct Seed<'a, 'p> {
    findings: &'a mut Findings,
    path: Path<'p>,
}

impl<'a> Seed<'a, '_> {
    /// Builder of a whole body.
    pub(super) fn root(findings: &'a mut Findings) -> Self {
        Self { findings, path: Path { parent: None, step: Step::Root, depth: 0 } }
    }
}

impl Seed<'_, '_> {
    fn child<'s>(&'s mut self, step: Step<'s>) -> Seed<'s, 's> {
        let path = Path { parent: Some(&self.path), step, depth: self.path.depth + 1 };
        Seed { findings: &mut *self.findings, path }
    }

    fn check_depth<E: serde::de::Error>(&self) -> Result<(), E> {
        if self.path.depth < MAX_DEPTH { Ok(()) } else { Err(E::custom("exceeded max depth")) }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Value, E> {
        Ok(Value::from(integer))
    }

    /// An integer of more than 63 bits is a float on a real server.
    #[expect(clippy::cast_precision_loss, reason = "the precision of a real server")]
    fn visit_u64<E>(self, integer: u64) -> Result<Value, E> {
        Ok(i64::try_from(integer).map_or_else(|_| Value::from(integer as f64), Value::from))
    }

    fn visit_f64<E: serde::de::Error>(self, float: f64) -> Result<Value, E> {
        match integral(float) {
            Some(0) => Ok(Value::from(0)),
            Some(integer) if self.findings.floats_may_be_integers => Ok(Value::from(integer)),
            _ if float.is_finite() => Ok(Value::from(float)),
            _ => Err(E::custom("number out of range")),
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.child(Step::Index(list.len())))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let child = self.child(Step::Key(&key));
            if map.contains_key(&key) {
                child.findings.duplicate(&child.path);
            }
            let value = entries.next_value_seed(child)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
