//! Field paths: a field of a map, an item of a list by its keys, by its value or by its index.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::value;
use crate::json;

/// One step of a path.
#[derive(Clone, Debug)]
pub(super) enum PathElement {
    /// A field of a map or a struct.
    Field(String),
    /// The item of a list that has these key fields, sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set.
    Value(Value),
    /// The item at a position.
    Index(i64),
}

impl PathElement {
    /// The field of that name.
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => value::first_difference(
                left.iter()
                    .zip(right)
                    .map(|((a, left), (b, right))| a.cmp(b).then_with(|| value::order(left, right))),
                left.len().cmp(&right.len()),
            ),
            (Self::Value(left), Self::Value(right)) => value::order(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|(name, value)| format!("{name}={}", json::text(value))).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", json::text(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Text of a path: `.spec.ports[name="http"].port`.
pub(super) fn shown(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_reads_like_an_expression() {
        let path = [
            PathElement::field("spec"),
            PathElement::Key(vec![("port".into(), json!(80)), ("protocol".into(), json!("TCP"))]),
            PathElement::Value(json!("a")),
            PathElement::Index(3),
        ];
        assert_eq!(shown(&path), r#".spec[port=80,protocol="TCP"][="a"][3]"#);
    }

    #[test]
    fn fields_come_before_keys_before_values_before_indices() {
        let mut path = vec![
            PathElement::Index(0),
            PathElement::Value(json!("a")),
            PathElement::Key(vec![("b".into(), json!(1))]),
            PathElement::Key(vec![("a".into(), json!(2))]),
            PathElement::field("z"),
        ];
        path.sort();
        assert_eq!(shown(&path), r#".z[a=2][b=1][="a"][0]"#);
    }
}
