//! Validation of an object against the shape of its kind. Everything after it relies on the shape.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::item;
use super::path::{self, PathElement};
use super::shape::{ItemIdentity, ListShape, MapShape, Reading, Scalar, Shape};
use crate::json::kind_of;

/// Treatment of duplicate items in sets and map lists: allowed in a live object, refused in an applied configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// Allowed.
    Allowed,
    /// Refused.
    Refused,
}

/// Maximum text about an object: long shared prefixes could make it too much.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Errors in an object.
#[derive(Debug)]
pub(super) struct Problems(Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [problem] => f.write_str(problem),
            problems => write!(f, "errors:\n  {}", problems.join("\n  ")),
        }
    }
}

/// Checks an object.
pub(super) fn validate(shape: Shape<'_>, value: &Value, duplicates: Duplicates) -> Result<(), Problems> {
    let mut walk = Walk { duplicates, path: Vec::new(), problems: Vec::new(), room: MAX_TEXT_BYTES };
    walk.visit(shape, value);
    if walk.problems.is_empty() { Ok(()) } else { Err(Problems(walk.problems)) }
}

struct Walk {
    duplicates: Duplicates,
    path: Vec<PathElement>,
    problems: Vec<String>,
    room: usize,
}

impl Walk {
    fn visit(&mut self, shape: Shape<'_>, value: &Value) {
        if value.is_null() {
            return;
        }
        match (shape.reading(value), value) {
            (Reading::Scalar(scalar), value) => self.scalar(scalar, value),
            (Reading::List(list), Value::Array(items)) => self.list(list, items),
            (Reading::Map(map), Value::Object(fields)) => self.map(map, fields),
            (Reading::List(_), other) => self.mismatch("list", other),
            (Reading::Map(_), other) => self.mismatch("map", other),
        }
    }

    fn mismatch(&mut self, expected: &str, got: &Value) {
        self.problem(format_args!("expected {expected}, got {}", kind_of(got)));
    }

    fn problem(&mut self, message: impl fmt::Display) {
        if self.room == 0 {
            return;
        }
        let place = path::shown(&self.path);
        let problem = if place.is_empty() { message.to_string() } else { format!("{place}: {message}") };
        self.room = self.room.saturating_sub(problem.len());
        self.problems.push(problem);
    }

    fn scalar(&mut self, scalar: Scalar, value: &Value) {
        match (scalar, value) {
            (Scalar::Numeric, Value::Number(_))
            | (Scalar::String, Value::String(_))
            | (Scalar::Boolean, Value::Bool(_))
            | (Scalar::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => {}
            (Scalar::Numeric, other) => self.mismatch("numeric (int or float)", other),
            (Scalar::String, other) => self.mismatch("string", other),
            (Scalar::Boolean, other) => self.mismatch("boolean", other),
            (Scalar::Untyped, other) => self.mismatch("any scalar", other),
        }
    }

    fn list(&mut self, list: ListShape<'_>, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (index, value) in (0..).zip(items) {
            let step = if matches!(list.identity, ItemIdentity::Atomic) {
                PathElement::Index(index)
            } else {
                match item::element(list, value) {
                    Ok(step) => step,
                    // An item without an identity ends the validation of its list.
                    Err(problem) => return self.problem(format!("element {index}: {problem}")),
                }
            };
            if self.duplicates == Duplicates::Refused && !seen.insert(step.clone()) {
                self.problem(format!("duplicate entries for key {step}"));
            }
            self.path.push(step);
            self.visit(list.items, value);
            self.path.pop();
        }
    }

    fn map(&mut self, map: MapShape<'_>, fields: &Map<String, Value>) {
        for (name, value) in fields {
            self.path.push(PathElement::field(name));
            let shape = map.child(name);
            match shape {
                Some(shape) => self.visit(shape, value),
                None => self.problem("field not declared in schema"),
            }
            self.path.pop();
            // An undeclared field ends the validation of its map.
            if shape.is_none() {
                return;
            }
        }
    }
}
