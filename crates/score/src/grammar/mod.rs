//! The Score language as data.
//!
//! One description serves three readers: the validator walks documents along it, the JSON
//! Schema for editors is printed from it, and the hints find in it where a misplaced field belongs.
//! So the three cannot disagree; a test compares them on mutated documents all the same.

mod language;
mod rules;
mod schema;

pub use language::{CONTAINER, WORKLOAD};
pub use schema::json_schema;

use regex_lite::Regex;
use std::sync::LazyLock;

/// What a value may be.
#[derive(Clone, Copy)]
pub enum Shape {
    /// A map with known fields.
    Object(&'static Object),
    /// A map whose keys the author chooses.
    Map(&'static MapOf),
    /// A list.
    List(&'static ListOf),
    /// Text of a certain form.
    Text(&'static TextRule),
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A whole number within a range, ends included.
    Integer(i64, i64),
    /// `true` or `false`.
    Boolean,
    /// A map with anything in it.
    FreeMap,
    /// The map form, or the deprecated list form.
    MapOrList(&'static MapOf, &'static ListOf),
}

/// A map with known fields.
pub struct Object {
    /// What it is called in messages.
    pub noun: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
    /// Whether other fields may stand beside the known ones.
    pub open: bool,
    /// Fields of which some must be there.
    pub choice: Option<Choice>,
}

/// Fields of which some must be there.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The fields to choose from.
    pub of: &'static [&'static str],
    /// Whether they exclude each other.
    pub exclusive: bool,
}

/// A known field.
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// What it may be.
    pub shape: Shape,
    /// Whether it must be there.
    pub required: bool,
    /// What it is for.
    pub doc: &'static str,
    /// A line to write, for hints.
    pub example: &'static str,
}

/// A map whose keys the author chooses.
pub struct MapOf {
    /// The form of the keys.
    pub keys: &'static TextRule,
    /// What the values may be.
    pub values: Shape,
    /// How many entries there must be.
    pub min: usize,
    /// How many entries this implementation takes (no rule of Score).
    pub limit: usize,
}

/// A list.
pub struct ListOf {
    /// What the items may be.
    pub items: Shape,
    /// How many items this implementation takes (no rule of Score).
    pub limit: usize,
}

/// Text of a certain form.
pub struct TextRule {
    /// What it is called in messages: "a container name".
    pub noun: &'static str,
    /// The pattern, anchored at both ends.
    pub pattern: Option<Pattern>,
    /// Least length in characters.
    pub min: usize,
    /// Greatest length in characters.
    pub max: Option<usize>,
    /// The form in words: "must be …".
    pub form: &'static str,
    /// Makes a text of the right form out of one that is not, if it can.
    pub suggest: fn(&str) -> Option<String>,
}

/// A pattern that is compiled when it is first needed.
pub struct Pattern {
    /// The expression, in the part of the syntax that ECMA-262 and this engine read alike.
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

/// What is wrong with the length of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthFault {
    /// It has fewer characters than this.
    Below(usize),
    /// It has more characters than this.
    Above(usize),
}

impl TextRule {
    /// Whether a text has this form.
    pub fn accepts(&self, text: &str) -> bool {
        let fits = |length: usize| length >= self.min && self.max.is_none_or(|max| length <= max);
        // Counting characters is only needed where the number of bytes does not settle it.
        let length =
            if self.max.is_none() && text.len() >= self.min * 4 { text.len() } else { text.chars().count() };
        fits(length)
            && self.pattern.as_ref().is_none_or(|pattern| {
                pattern.compiled.as_ref().is_some_and(|compiled| compiled.is_match(text))
            })
    }

    /// Whether the length of a text is all that is wrong with it. Many patterns bound the length as well, so that it
    /// is looked whether the same characters would do if there were more or fewer of them.
    pub fn length_fault(&self, text: &str) -> Option<LengthFault> {
        let length = text.chars().count();
        let last = text.chars().next_back();
        let (fault, fitting): (_, String) = match self.max {
            _ if length < self.min => (
                LengthFault::Below(self.min),
                text.chars().chain(last.into_iter().cycle()).take(self.min).collect(),
            ),
            Some(max) if length > max => {
                (LengthFault::Above(max), text.chars().take(max.saturating_sub(1)).chain(last).collect())
            }
            _ => return None,
        };
        (text.is_empty() || self.accepts(&fitting)).then_some(fault)
    }

    /// A text of this form that is close to the given one.
    pub fn suggestion(&self, text: &str) -> Option<String> {
        (self.suggest)(text).filter(|suggestion| suggestion != text && self.accepts(suggestion))
    }
}

impl Object {
    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `visit` for every text rule of the language.
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
