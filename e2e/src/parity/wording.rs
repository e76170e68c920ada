//! Message texts that are part of the API.
//!
//! Parity is of codes, reasons, causes, field paths and semantics (ADR 0005). The wording of a message is compared only
//! where a client matches on it, or where it names a field that no other part of the answer names.

use serde_json::{Map, Value};

/// Phrases that clients match on, or that precede the only mention of a field. Texts that contain one are compared exactly.
const MATCHED: &[&str] = &[
    // Helm, Flux and Argo CD replace an object whose update fails with this.
    "field is immutable",
    // Retry loops that see only the text of an error.
    "the object has been modified",
    "already exists",
    "not found",
    "the server could not find the requested resource",
    // client-go lists again without a version.
    "Too large resource version",
    "too old resource version",
    // kubectl explains conflicts by these lines; they name the managers.
    "Apply failed with",
    // kubectl and controllers wait for the deletion of a namespace.
    "because it is being terminated",
    // The only places that name the fields.
    "strict decoding error: ",
    "unknown field \"",
    "field not declared in schema",
    // Written by the author of a CRD.
    "failed rule: ",
    " is deprecated",
];

/// True if a text is compared exactly.
pub(crate) fn is_matched(text: &str) -> bool {
    MATCHED.iter().any(|phrase| text.contains(phrase))
}

/// Removes the wording that is not compared from a recorded answer and the answer to compare with it.
pub(super) fn strip(recorded: &mut Value, replayed: &mut Value) {
    match (recorded, replayed) {
        (Value::Object(recorded), Value::Object(replayed)) => {
            if is_status(recorded) && is_status(replayed) {
                strip_status(recorded, replayed);
            }
            for (key, recorded) in recorded {
                if let Some(replayed) = replayed.get_mut(key) {
                    match key.as_str() {
                        "warning" => strip_texts(recorded, replayed),
                        "text" => read_yaml(recorded, replayed),
                        _ => {}
                    }
                    strip(recorded, replayed);
                }
            }
        }
        (Value::Array(recorded), Value::Array(replayed)) => {
            recorded.iter_mut().zip(replayed).for_each(|(recorded, replayed)| strip(recorded, replayed));
        }
        _ => {}
    }
}

/// Parses texts that are YAML documents, to ignore their formatting.
fn read_yaml(recorded: &mut Value, replayed: &mut Value) {
    let read = |value: &Value| -> Option<Value> {
        serde_saphyr::from_str(value.as_str()?).ok().filter(Value::is_object)
    };
    if let (Some(first), Some(second)) = (read(recorded), read(replayed)) {
        (*recorded, *replayed) = (first, second);
    }
}

fn is_status(object: &Map<String, Value>) -> bool {
    object.get("kind").is_some_and(|kind| kind == "Status")
}

fn strip_status(recorded: &mut Map<String, Value>, replayed: &mut Map<String, Value>) {
    strip_message(recorded, replayed);
    let (Some(recorded), Some(replayed)) = (causes(recorded), causes(replayed)) else { return };
    for list in [&mut *recorded, &mut *replayed] {
        list.sort_by_key(|cause| {
            ["field", "reason"].map(|key| cause[key].as_str().unwrap_or_default().to_owned())
        });
    }
    for (recorded, replayed) in recorded.iter_mut().zip(replayed) {
        if let (Value::Object(recorded), Value::Object(replayed)) = (recorded, replayed) {
            strip_message(recorded, replayed);
        }
    }
}

fn causes(status: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    status.get_mut("details")?.get_mut("causes")?.as_array_mut()
}

fn strip_message(recorded: &mut Map<String, Value>, replayed: &mut Map<String, Value>) {
    if let (Some(recorded), Some(replayed)) = (recorded.get_mut("message"), replayed.get_mut("message")) {
        strip_text(recorded, replayed);
    }
}

fn strip_texts(recorded: &mut Value, replayed: &mut Value) {
    if let (Value::Array(recorded), Value::Array(replayed)) = (recorded, replayed) {
        recorded.iter_mut().zip(replayed).for_each(|(recorded, replayed)| strip_text(recorded, replayed));
    }
}

fn strip_text(recorded: &mut Value, replayed: &mut Value) {
    if let (Value::String(recorded), Value::String(replayed)) = (recorded, replayed)
        && !is_matched(recorded)
        && !replayed.is_empty()
    {
        replayed.clone_from(recorded);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same(recorded: &Value, replayed: &Value) -> bool {
        let (mut recorded, mut replayed) = (recorded.clone(), replayed.clone());
        strip(&mut recorded, &mut replayed);
        recorded == replayed
    }

    fn refusal(message: &str, field: &str, reason: &str) -> Value {
        let cause = json!({"field": field, "reason": reason, "message": message});
        json!({"body": {"kind": "Status", "message": message, "details": {"causes": [cause]}}})
    }

    #[test]
    fn other_wording_of_the_same_cause_is_not_a_difference() {
        let recorded = refusal("json: cannot unmarshal number", "spec.a", "FieldValueInvalid");
        assert!(same(&recorded, &refusal("expected string, got number", "spec.a", "FieldValueInvalid")));
        assert!(!same(&recorded, &refusal("expected string, got number", "spec.b", "FieldValueInvalid")));
        assert!(!same(&recorded, &refusal("expected string, got number", "spec.a", "FieldValueRequired")));
        assert!(!same(&recorded, &refusal("", "spec.a", "FieldValueInvalid")));
    }

    #[test]
    fn texts_that_clients_match_on_are_compared_exactly() {
        let recorded = refusal("field is immutable", "spec.a", "FieldValueInvalid");
        assert!(!same(&recorded, &refusal("may not change", "spec.a", "FieldValueInvalid")));
        let warning = |text: &str| json!({"headers": {"warning": [text]}});
        assert!(!same(&warning("unknown field \"a\""), &warning("unknown field \"b\"")));
        assert!(same(&warning("line 7: key \"a\" already set in map"), &warning("duplicate field \"a\"")));
    }

    #[test]
    fn a_yaml_document_is_compared_by_its_values() {
        let text = |text: &str| json!({"text": text});
        assert!(same(&text("a: 'b'\nc: 1\n"), &text("c: 1\na: b\n")));
        assert!(!same(&text("a: 'b'\n"), &text("a: c\n")));
        assert!(!same(&text("404 page not found\n"), &text("404\n")));
    }

    #[test]
    fn the_message_of_an_object_is_data() {
        let event = |message: &str| json!({"body": {"kind": "Event", "message": message}});
        assert!(!same(&event("a"), &event("b")));
    }
}
