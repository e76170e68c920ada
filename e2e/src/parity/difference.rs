//! Comparison of two recordings.

use std::fmt;

use serde_json::{Map, Value};

use super::{Recording, wording};

/// Strictness of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parity {
    /// Codes, reasons, causes, field paths and objects, and the texts that clients match on.
    Semantic,
    /// Everything: a recording and the server that it was made on.
    Verbatim,
}

/// Difference between the responses of two servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Topic of the script.
    pub topic: String,
    /// Name of the step; empty for the order of versions.
    pub step: String,
    /// JSON pointer into the response.
    pub place: String,
    /// Recorded value, if present.
    pub expected: Option<Value>,
    /// Value of the replayed server, if present.
    pub got: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "(absent)".to_owned(), ToString::to_string);
        writeln!(out, "{} | {} | {}", self.topic, self.step, self.place)?;
        writeln!(out, "    expected {}", show(&self.expected))?;
        write!(out, "    got      {}", show(&self.got))
    }
}

/// Differences between a recorded and a replayed script.
pub fn compare(
    topic: &str,
    expected: &Recording,
    got: &Recording,
    parity: Parity,
) -> serde_json::Result<Vec<Difference>> {
    let mut differences = Vec::new();
    let count = expected.steps.len().max(got.steps.len());
    for index in 0..count {
        let (old, new) = (expected.steps.get(index), got.steps.get(index));
        let step = old.or(new).map(|answer| answer.step.clone()).unwrap_or_default();
        let (mut old, mut new) = (serde_json::to_value(old)?, serde_json::to_value(new)?);
        if parity == Parity::Semantic {
            wording::strip(&mut old, &mut new);
        }
        let mut found = Finder { topic, step: &step, differences: &mut differences };
        found.values("", Some(&old), Some(&new));
    }
    if differences.is_empty() && expected.versions != got.versions {
        differences.push(Difference {
            topic: topic.to_owned(),
            step: String::new(),
            place: "/versions".to_owned(),
            expected: Some(serde_json::to_value(&expected.versions)?),
            got: Some(serde_json::to_value(&got.versions)?),
        });
    }
    Ok(differences)
}

struct Finder<'a> {
    topic: &'a str,
    step: &'a str,
    differences: &'a mut Vec<Difference>,
}

impl Finder<'_> {
    fn values(&mut self, place: &str, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => self.objects(place, old, new),
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                for index in 0..old.len().max(new.len()) {
                    self.values(&format!("{place}/{index}"), old.get(index), new.get(index));
                }
            }
            (old, new) if old == new => {}
            (old, new) => self.differences.push(Difference {
                topic: self.topic.to_owned(),
                step: self.step.to_owned(),
                place: place.to_owned(),
                expected: old.cloned(),
                got: new.cloned(),
            }),
        }
    }

    fn objects(&mut self, place: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let below = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
            self.values(&below, old.get(key), new.get(key));
        }
    }
}
