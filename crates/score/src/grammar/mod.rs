//! Grammar of the Score language, as data.
//!
//! Single source of the validator, the JSON Schema for editors, the reference documentation, and the hints about
//! misplaced fields. A property test compares validator and schema on mutated documents.

mod doubts;
mod language;
mod rules;
mod schema;
mod short_forms;

pub(crate) use doubts::any as doubt;
pub use language::{CONTAINER, WORKLOAD};
pub use schema::json_schema;

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::node::Node;

/// Shape of a value.
#[derive(Clone, Copy)]
pub enum Shape {
    /// Map with known fields.
    Object(&'static Object),
    /// Map with free keys.
    Map(&'static MapOf),
    /// A list.
    List(&'static ListOf),
    /// String that matches a rule.
    Text(&'static TextRule),
    /// One of the allowed strings.
    Enum(&'static [&'static str]),
    /// Integer within an inclusive range.
    Integer(i64, i64),
    /// `true` or `false`.
    Boolean,
    /// Free-form map.
    FreeMap,
    /// Map form, or the deprecated list form.
    MapOrList(&'static MapOf, &'static ListOf),
}

/// Map with known fields.
pub struct Object {
    /// Noun with article for messages: "a container".
    pub noun: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
    /// Allows additional fields.
    pub open: bool,
    /// Fields of which one is required.
    pub choice: Option<Choice>,
    /// Fields for a scalar in the short form of another tool: `path: /ready, port: 80` for a URL.
    pub short_form: fn(&str) -> Option<String>,
}

/// Fields of which one is required.
#[derive(Clone, Copy)]
pub struct Choice {
    /// Names of the fields.
    pub of: &'static [&'static str],
    /// Mutually exclusive.
    pub exclusive: bool,
}

/// Known field.
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// Shape of the value.
    pub shape: Shape,
    /// Required.
    pub required: bool,
    /// Documentation, one sentence.
    pub doc: &'static str,
    /// Example line, for hints.
    pub example: &'static str,
}

/// Map with free keys.
pub struct MapOf {
    /// Rule of the keys.
    pub keys: &'static TextRule,
    /// Shape of the values.
    pub values: Shape,
    /// Minimum number of entries.
    pub min: usize,
    /// Maximum number of entries in this implementation (not a rule of Score).
    pub limit: usize,
}

/// A list.
pub struct ListOf {
    /// Shape of the items.
    pub items: Shape,
    /// Maximum number of items in this implementation (not a rule of Score).
    pub limit: usize,
}

/// Rule of a string.
pub struct TextRule {
    /// Noun for messages: "container name".
    pub noun: &'static str,
    /// Pattern, anchored at both ends.
    pub pattern: Option<Pattern>,
    /// Minimum length in characters.
    pub min: usize,
    /// Maximum length in characters.
    pub max: Option<usize>,
    /// Form in words: "must be …".
    pub form: &'static str,
    /// Converts an invalid string to a valid one, if possible.
    pub suggest: fn(&str) -> Option<String>,
    /// Message and hint for a valid string that is probably a mistake.
    pub doubt: fn(&str) -> Option<Doubt>,
}

/// Probable mistake in a valid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Message.
    pub message: String,
    /// Hint.
    pub hint: String,
}

/// Lazily compiled pattern.
pub struct Pattern {
    /// Regular expression, in the common syntax of ECMA-262 and this engine.
    pub text: &'static str,
    compiled: LazyLock<Option<Regex>>,
}

macro_rules! pattern {
    ($text:literal) => {
        Some($crate::grammar::Pattern {
            text: $text,
            compiled: std::sync::LazyLock::new(|| regex_lite::Regex::new($text).ok()),
        })
    };
}
pub(crate) use pattern;

/// Invalid length of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthError {
    /// Minimum length.
    TooShort(usize),
    /// Maximum length.
    TooLong(usize),
}

impl TextRule {
    /// True if the string matches the rule.
    pub fn accepts(&self, text: &str) -> bool {
        let fits = |length: usize| length >= self.min && self.max.is_none_or(|max| length <= max);
        // Characters are counted only if the number of bytes does not decide.
        let length =
            if self.max.is_none() && text.len() >= self.min * 4 { text.len() } else { text.chars().count() };
        fits(length)
            && self.pattern.as_ref().is_none_or(|pattern| {
                pattern.compiled.as_ref().is_some_and(|compiled| compiled.is_match(text))
            })
    }

    /// Length error, if the length is the only violation. Many patterns limit the length as well, so a string of the
    /// same characters with a valid length is tried.
    pub fn length_error(&self, text: &str) -> Option<LengthError> {
        let length = text.chars().count();
        let last = text.chars().next_back();
        let (error, fitting): (_, String) = match self.max {
            _ if length < self.min => (
                LengthError::TooShort(self.min),
                text.chars().chain(last.into_iter().cycle()).take(self.min).collect(),
            ),
            Some(max) if length > max => {
                (LengthError::TooLong(max), text.chars().take(max.saturating_sub(1)).chain(last).collect())
            }
            _ => return None,
        };
        (text.is_empty() || self.accepts(&fitting)).then_some(error)
    }

    /// Valid string similar to the given one.
    pub fn suggestion(&self, text: &str) -> Option<String> {
        (self.suggest)(text).filter(|suggestion| suggestion != text && self.accepts(suggestion))
    }
}

impl Object {
    /// Field by name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// True if a field is required, or one of a required choice.
    pub fn requires(&self, name: &str) -> bool {
        self.field(name).is_some_and(|field| field.required)
            || self.choice.is_some_and(|choice| choice.of.contains(&name))
    }

    /// True for a map with a required field of this object.
    pub fn is_begun_by(&self, node: &Node) -> bool {
        node.as_map().is_some_and(|map| map.keys().any(|key| self.requires(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits every rule of the grammar.
    fn rules(shape: Shape, visit: &mut dyn FnMut(&'static TextRule)) {
        match shape {
            Shape::Object(object) => object.fields.iter().for_each(|field| rules(field.shape, visit)),
            Shape::Map(map) => {
                visit(map.keys);
                rules(map.values, visit);
            }
            Shape::List(list) => rules(list.items, visit),
            Shape::MapOrList(map, list) => {
                rules(Shape::Map(map), visit);
                rules(Shape::List(list), visit);
            }
            Shape::Text(rule) => visit(rule),
            _ => {}
        }
    }

    #[test]
    fn every_pattern_compiles_and_is_anchored() {
        let mut seen = 0;
        rules(Shape::Object(&WORKLOAD), &mut |rule| {
            if let Some(pattern) = &rule.pattern {
                seen += 1;
                assert!(pattern.compiled.is_some(), "{}", pattern.text);
                assert!(pattern.text.starts_with('^') && pattern.text.ends_with('$'), "{}", pattern.text);
            }
        });
        assert!(seen > 10);
    }
}
