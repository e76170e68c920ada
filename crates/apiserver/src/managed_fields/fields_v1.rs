//! Wire format of field sets: the `FieldsV1` of `metadata.managedFields`.

use serde_json::{Deserializer, Map, Value};

use super::path::PathElement;
use super::set::Set;
use super::value;
use crate::json;

/// A set as `FieldsV1`.
pub(super) fn encode(set: &Set) -> Value {
    Value::Object(encode_node(set))
}

fn encode_node(set: &Set) -> Map<String, Value> {
    let mut out = Map::new();
    for (step, child) in set.children() {
        let mut below = encode_node(child);
        if set.has_member(step) && !below.is_empty() {
            below.insert(".".into(), Value::Object(Map::new()));
        }
        out.insert(step_to_text(step), Value::Object(below));
    }
    for step in set.members().filter(|step| set.child(step).is_none()) {
        out.insert(step_to_text(step), Value::Object(Map::new()));
    }
    out
}

/// A set from `FieldsV1`; the error is for people.
pub(super) fn decode(fields: &Value) -> Result<Set, String> {
    decode_node(fields).map(|node| node.below.unwrap_or_default())
}

/// Decoded node: its membership and its children.
struct Node {
    member: bool,
    below: Option<Set>,
}

fn decode_node(fields: &Value) -> Result<Node, String> {
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => return Ok(Node { member: true, below: None }),
        other => return Err(format!("expected an object, got {}", json::kind_of(other))),
    };
    let mut member = false;
    let mut below: Option<Set> = None;
    for (text, child) in fields {
        if text == "." {
            member = true;
            continue;
        }
        // Steps of an unknown kind belong to a later version of the format and are dropped.
        let Some(step) = step_from_text(text)? else { continue };
        let child = decode_node(child)?;
        let set = below.get_or_insert_default();
        if child.member {
            set.insert_member(step.clone());
        }
        if let Some(grandchildren) = child.below {
            set.insert_child(step, grandchildren);
        }
    }
    Ok(Node { member: member || below.is_none(), below })
}

fn step_to_text(step: &PathElement) -> String {
    match step {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Key(fields) => {
            format!("k:{}", json::text(&fields.iter().cloned().collect()))
        }
        PathElement::Value(value) => format!("v:{}", json::text(value)),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

fn step_from_text(text: &str) -> Result<Option<PathElement>, String> {
    if text.len() < 2 {
        return Err("key must be 2 characters long:".into());
    }
    let Some((kind, content)) = text.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
        return Err(format!("missing colon: {text}"));
    };
    Ok(Some(match kind {
        "f" => PathElement::field(content),
        "v" => PathElement::Value(json_from_text(content)?),
        "k" => PathElement::Key(match json_from_text(content)? {
            Value::Object(fields) => fields.into_iter().collect(),
            Value::Null => Vec::new(),
            _ => return Err(format!("expected an object: {text}")),
        }),
        "i" => PathElement::Index(content.parse().map_err(|_| format!("expected a number: {text}"))?),
        _ => return Ok(None),
    }))
}

/// The first JSON value of a text, with its numbers as floats.
fn json_from_text(text: &str) -> Result<Value, String> {
    match Deserializer::from_str(text).into_iter::<Value>().next() {
        Some(Ok(parsed)) => Ok(value::with_floats(&parsed)),
        Some(Err(error)) => Err(error.to_string()),
        None => Err(format!("expected a value: {text}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn encoding_and_decoding_a_set_round_trips() {
        let table = [
            json!({"f:a": {}, "f:b": {".": {}, "f:c": {}}, "f:d": {"f:e": {}}}),
            json!({"f:l": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}),
            json!({"f:s": {"v:\"a\"": {}, "v:1.5": {}, "v:true": {}, "v:\"<\"": {}}, "i:3": {}}),
            json!({}),
        ];
        for fields in table {
            assert_eq!(encode(&decode(&fields).unwrap()), fields);
        }
    }

    #[test]
    fn decoding_is_as_lenient_as_the_real_server() {
        let table = [
            (json!({"f:a": null}), json!({"f:a": {}})),
            (json!({"x:future": {}, "f:a": {"x:future": {}}}), json!({"f:a": {}})),
            (json!({"f:a": {".": {}}}), json!({"f:a": {}})),
            (json!({"k:{\"b\":2,\"a\":1}": {}}), json!({"k:{\"a\":1,\"b\":2}": {}})),
        ];
        for (read, written) in table {
            assert_eq!(encode(&decode(&read).unwrap()), written);
        }
    }

    #[test]
    fn malformed_sets_are_refused() {
        for fields in [
            json!({"a": {}}),
            json!({"abc": {}}),
            json!({"f:a": 1}),
            json!({"v:{": {}}),
            json!({"v:": {}}),
            json!({"k:[]": {}}),
            json!({"i:x": {}}),
            json!("f"),
        ] {
            assert!(decode(&fields).is_err(), "{fields}");
        }
    }
}
