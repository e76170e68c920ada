//! Removal of values that differ between runs from responses.

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::{
    recording::{Answer, Content, Recording},
    replay::Transcript,
    tokens::{Tokens, is_collection, own_version},
};

/// Recording of a transcript.
pub fn normalise(transcript: &Transcript) -> Result<Recording, regex_lite::Error> {
    let mut tokens = Tokens::new()?;
    for (index, answer) in transcript.answers.iter().enumerate() {
        match &answer.content {
            Content::Body(body) => tokens.register(index + 1, body),
            Content::Events(events) => tokens.register(index + 1, &Value::Array(events.clone())),
            Content::Text(_) | Content::Watch(_) => {}
        }
    }
    let normaliser = Normaliser { tokens, age: Regex::new(r"^(\d+(s|m|h|d|y))+$")? };
    let steps = transcript.answers.iter().map(|answer| normaliser.answer(answer)).collect();
    Ok(Recording { steps, versions: normaliser.tokens.versions() })
}

struct Normaliser {
    tokens: Tokens,
    age: Regex,
}

impl Normaliser {
    fn answer(&self, answer: &Answer) -> Answer {
        let mut answer = answer.clone();
        for (name, values) in &mut answer.headers {
            for value in values {
                *value = if name == "etag" { "<etag>".to_owned() } else { self.tokens.message(value) };
            }
        }
        match &mut answer.content {
            Content::Body(body) => *body = self.value("", body),
            Content::Events(events) => {
                for event in events {
                    *event = self.value("", event);
                }
            }
            Content::Text(text) => *text = self.tokens.message(text),
            Content::Watch(_) => {}
        }
        answer
    }

    fn value(&self, place: &str, value: &Value) -> Value {
        // A step that compares only some JSON pointers has them as keys.
        let key = place.rsplit('/').next().unwrap_or_default();
        match value {
            Value::String(text) => Value::String(match key {
                "continue" if !text.is_empty() => "<continue>".to_owned(),
                "message" => self.tokens.message(text),
                _ => self.tokens.text(text),
            }),
            Value::Array(cells) if key == "cells" => cells.iter().map(|cell| self.cell(cell)).collect(),
            Value::Array(items) => {
                let mut items: Vec<_> = items.iter().map(|item| self.value("", item)).collect();
                if key == "managedFields" {
                    items.sort_by_key(owner);
                }
                Value::Array(items)
            }
            Value::Object(fields) => {
                let mut new: Map<_, _> = fields
                    .iter()
                    .map(|(key, field)| (self.tokens.text(key), self.value(key, field)))
                    .collect();
                if let Some(version) = own_version(value)
                    && let Some(metadata) = new.get_mut("metadata")
                {
                    metadata["resourceVersion"] = Value::String(if is_collection(value) {
                        self.tokens.covering(version)
                    } else {
                        self.tokens.version(version)
                    });
                }
                sort_causes(&mut new);
                Value::Object(new)
            }
            other => other.clone(),
        }
    }

    fn cell(&self, cell: &Value) -> Value {
        match cell.as_str() {
            Some(text) if self.age.is_match(text) => Value::String("<age>".to_owned()),
            _ => self.value("", cell),
        }
    }
}

/// Servers sort managers by the second of their last write, which varies between runs.
fn owner(entry: &Value) -> String {
    let part = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    ["operation", "manager", "apiVersion", "subresource"].map(part).join("\n")
}

/// Servers iterate over maps in random order, so the causes of an error have no order.
fn sort_causes(status: &mut Map<String, Value>) {
    let Some(Value::Array(causes)) = status.get_mut("details").and_then(|details| details.get_mut("causes"))
    else {
        return;
    };
    let text = |cause: &Value| {
        let part = |key: &str| cause[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", part("field"), part("message"))
    };
    causes.sort_by_key(text);
    let mut texts: Vec<_> = causes.iter().map(text).collect();
    texts.dedup();
    if let Some(Value::String(message)) = status.get_mut("message")
        && let Some((start, listed)) = message.split_once(" is invalid: [")
        && texts.iter().all(|text| listed.contains(text))
    {
        *message = format!("{start} is invalid: [{}]", texts.join(", "));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn bodies(bodies: &[Value]) -> Recording {
        let answer = |body: &Value| Answer {
            step: String::new(),
            request: String::new(),
            status: Some(200),
            headers: BTreeMap::new(),
            content: Content::Body(body.clone()),
        };
        let answers = bodies.iter().map(answer).collect();
        normalise(&Transcript { answers, failures: Vec::new() }).unwrap()
    }

    fn body(recording: &Recording, step: usize) -> Value {
        serde_json::to_value(&recording.steps[step]).unwrap()["body"].clone()
    }

    #[test]
    fn versions_are_named_after_the_step_of_their_first_occurrence() {
        let object = |version: &str| json!({"metadata": {"name": "a", "resourceVersion": version}});
        let recording = bodies(&[object("20"), object("20"), object("12")]);
        assert_eq!(body(&recording, 1)["metadata"]["resourceVersion"], "rv:1");
        assert_eq!(body(&recording, 2)["metadata"]["resourceVersion"], "rv:3");
        assert_eq!(recording.versions, ["rv:3", "rv:1"]);
    }

    #[test]
    fn a_list_is_named_after_the_last_write_that_it_covers() {
        let object = json!({"metadata": {"name": "a", "resourceVersion": "20"}});
        let list = |version: &str| json!({"items": [], "metadata": {"resourceVersion": version}});
        let recording = bodies(&[object, list("25"), list("7")]);
        assert_eq!(body(&recording, 1)["metadata"]["resourceVersion"], ">=rv:1");
        assert_eq!(body(&recording, 2)["metadata"]["resourceVersion"], ">=0");
    }

    #[test]
    fn times_of_scripts_stay_and_those_of_servers_are_replaced() {
        let times = json!({"old": "2020-01-01T00:00:00Z", "new": "2026-01-01T00:00:00.000001Z"});
        let expected = json!({"old": "2020-01-01T00:00:00Z", "new": "<time, 6 digits>"});
        assert_eq!(body(&bodies(&[times]), 0), expected);
    }

    #[test]
    fn causes_are_sorted() {
        let causes = json!([{"field": "b", "message": "y"}, {"field": "a", "message": "x"}]);
        let status = json!({"details": {"causes": causes}, "message": "K \"n\" is invalid: [b: y, a: x]"});
        let status = body(&bodies(&[status]), 0);
        assert_eq!(status["message"], "K \"n\" is invalid: [a: x, b: y]");
        assert_eq!(status["details"]["causes"][0]["field"], "a");
    }
}
