//! `JSONPath` of printer columns: `.spec.name`, `.status.conditions[?(@.type=="Ready")].status`, `..name`.
//!
//! The language is that of `kubectl -o jsonpath`, which differs from others of this name: an index out of bounds is an
//! error, a missing field is not, and `['a.b']` means the field `b` of the field `a`.

mod compare;
mod find;
mod parse;
mod unquote;

use std::borrow::Cow;

use serde_json::Value;

use compare::Operator;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath {
    steps: Vec<Step>,
}

/// One step of a path: from all values found so far to the next ones.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// `.name`
    Field(String),
    /// `.*`
    Wildcard,
    /// `..`
    Recursive,
    /// `[start:end:step]`, `[index]`, `[*]`
    Slice(Slice),
    /// `[a,b]`: each of these paths from here.
    Union(Vec<Vec<Self>>),
    /// `[?(left operator right)]`
    Filter { left: Vec<Self>, test: Option<(Operator, Vec<Self>)> },
    /// A number or a truth value instead of each value.
    Constant(Value),
    /// A text instead of all values.
    Text(String),
    /// Identifier without a meaning in a path.
    Word(String),
}

/// A range of positions; negative ones count from the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

/// End of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// With the first item: the range is an index.
    #[default]
    OfIndex,
    /// With the list.
    OfList,
    /// Before this position.
    At(i64),
}

impl JsonPath {
    /// Parses a path without the braces it has in templates: `.spec.replicas`.
    pub(crate) fn parse(path: &str) -> Result<Self, String> {
        Ok(Self { steps: parse::steps(path)? })
    }

    /// All values at the path; none if a field is missing.
    pub(crate) fn find<'a>(&'a self, object: &'a Value) -> Result<Vec<Cow<'a, Value>>, String> {
        find::find(object, &self.steps)
    }

    /// Value of a column: the first one, or none if the path does not match the object.
    pub(crate) fn first<'a>(&'a self, object: &'a Value) -> Option<Cow<'a, Value>> {
        self.find(object).ok()?.into_iter().next()
    }
}

#[cfg(test)]
mod tests;
