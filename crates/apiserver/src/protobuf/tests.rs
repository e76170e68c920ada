#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use std::{collections::BTreeSet, sync::LazyLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Malformed, decode};
use crate::json::with_integers;

/// Object as a client of Go writes it in both formats.
#[derive(serde::Deserialize)]
struct Encoded {
    json: Value,
    protobuf: String,
}

/// Every kind with all its fields, and with none but its name. Made by `fixtures/encode.go`.
static OBJECTS: LazyLock<Vec<(Value, Vec<u8>)>> = LazyLock::new(|| {
    let all: Vec<Encoded> = serde_json::from_str(include_str!("fixtures/objects.json")).unwrap();
    all.into_iter().map(|object| (object.json, STANDARD.decode(object.protobuf).unwrap())).collect()
});

fn decoded(body: &[u8], object: &Value) -> Result<Value, Malformed> {
    decode(body, object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap())
}

/// Value without the fields that a client of Go writes as null or as an empty list, which mean absent.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| !value.is_null() || matches!(name.as_str(), "default" | "example"))
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// Field with a length: its number, and its bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap());
    out.extend_from_slice(bytes);
    out
}

/// Body with this message.
fn body(message: &[u8]) -> Vec<u8> {
    [b"k8s\0".as_slice(), &field(2, message)].concat()
}

#[test]
fn every_kind_decodes_to_the_json_of_the_same_client() {
    for (object, body) in &*OBJECTS {
        let value = decoded(body, object).unwrap();
        // A float of the wire is written as an integer if it is one.
        let value = without_nulls(&with_integers(&value));
        assert_eq!(value, without_nulls(object), "{}", object["kind"]);
    }
}

#[test]
fn every_kind_has_an_object_with_all_fields_and_one_with_none() {
    let kinds = |sparse: bool| {
        let of = OBJECTS.iter().filter(|(object, _)| {
            let none =
                object["metadata"].is_null() && object.as_object().is_some_and(|fields| fields.len() == 2);
            sparse == (none || object["metadata"]["name"] == "sparse")
        });
        of.map(|(object, _)| format!("{}/{}", object["apiVersion"], object["kind"])).collect::<BTreeSet<_>>()
    };
    assert_eq!(kinds(true), kinds(false));
    assert_eq!(kinds(true).len(), 20);
}

#[test]
fn an_object_of_another_kind_keeps_only_its_type() {
    let (secret, body) = OBJECTS.iter().find(|(object, _)| object["kind"] == "Secret").unwrap();
    let value = decode(body, "v1", "ConfigMap").unwrap();
    assert_eq!(value, json!({"apiVersion": secret["apiVersion"], "kind": "Secret"}));
}

#[test]
fn a_kind_without_a_message_is_named_as_such() {
    assert_eq!(decode(&body(&[]), "score.dev/v1b1", "Workload"), Err(Malformed::UnknownKind));
}

#[test]
fn a_body_without_the_prefix_or_without_content_is_malformed() {
    assert_eq!(decode(b"", "v1", "ConfigMap"), Err(Malformed::NoMagic));
    assert_eq!(decode(b"{}", "v1", "ConfigMap"), Err(Malformed::NoMagic));
    assert_eq!(decode(b"k8s\0", "v1", "ConfigMap"), Err(Malformed::Truncated));
}

#[test]
fn unknown_fields_and_groups_are_skipped() {
    let groups = [0x7b, 0x0b, 0x08, 0x01, 0x0c, 0x7c];
    let numbers = [0x70, 0xff, 0x01, 0x71, 0, 0, 0, 0, 0, 0, 0, 0, 0x75, 0, 0, 0, 0];
    let message = [groups.as_slice(), &numbers, &field(1, &field(1, b"a")), &field(15, b"x")].concat();
    assert_eq!(decode(&body(&message), "v1", "ConfigMap"), Ok(json!({"metadata": {"name": "a"}})));
}

#[test]
fn malformed_messages_are_refused() {
    let cases: [(&[u8], Malformed); 8] = [
        (&[0x0a], Malformed::Truncated),
        (&[0x0a, 0x05, 0x00], Malformed::Truncated),
        (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Malformed::Truncated),
        (&[0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Malformed::Overflow),
        (&[0x02, 0x00], Malformed::IllegalTag),
        (&[0x0c], Malformed::IllegalTag),
        (&[0x0f], Malformed::IllegalTag),
        (&[0x08, 0x01], Malformed::WrongType(1)),
    ];
    for (message, expected) in cases {
        assert_eq!(decode(&body(message), "v1", "ConfigMap"), Err(expected), "{message:x?}");
    }
    assert_eq!(decode(&body(&[0x7b, 0x08, 0x01]), "v1", "ConfigMap"), Err(Malformed::Truncated));
}

#[test]
fn of_two_values_the_last_one_counts_and_messages_are_merged() {
    let metadata = |number, text: &[u8]| field(1, &field(number, text));
    let message =
        [metadata(1, b"a"), metadata(3, b"n"), metadata(1, b"b"), metadata(5, b"u"), metadata(5, b"")];
    assert_eq!(
        decode(&body(&message.concat()), "v1", "ConfigMap"),
        Ok(json!({"metadata": {"name": "b", "namespace": "n"}}))
    );
}

#[test]
fn text_that_is_not_utf8_gets_replacement_characters() {
    let message = field(2, &[field(1, b"k"), field(2, b"a\xffb")].concat());
    assert_eq!(decode(&body(&message), "v1", "ConfigMap"), Ok(json!({"data": {"k": "a\u{fffd}b"}})));
}

#[test]
fn a_time_outside_of_the_calendar_is_refused() {
    // Field 8 of the metadata, with the largest number of seconds.
    let seconds = [[0x08].as_slice(), &[0xff; 8], &[0x7f]].concat();
    let message = field(1, &field(8, &seconds));
    assert_eq!(decode(&body(&message), "v1", "ConfigMap"), Err(Malformed::Time));
}

#[test]
fn a_message_cannot_nest_deeper_than_a_json_body() {
    const DEFINITION: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let nested = |levels: usize, innermost: Vec<u8>| {
        // `not` is field 28 of a schema: its tag has two bytes.
        let schema = (0..levels).fold(innermost, |schema, _| {
            let inner = field(0, &schema);
            [[0xe2, 0x01].as_slice(), &inner[1..]].concat()
        });
        body(&field(2, &field(7, &field(4, &field(1, &schema)))))
    };
    let decode = |body: &[u8]| decode(body, DEFINITION.0, DEFINITION.1).map(drop);
    assert_eq!(decode(&nested(100, Vec::new())), Ok(()));
    assert_eq!(decode(&nested(200, Vec::new())), Err(Malformed::TooDeep));
    assert_eq!(decode(&nested(100_000, Vec::new())), Err(Malformed::TooDeep));
    // A default is JSON of its own, which adds to the levels around it.
    let default = field(8, &field(1, format!("{}{}", "[".repeat(60), "]".repeat(60)).as_bytes()));
    assert_eq!(decode(&nested(10, default.clone())), Ok(()));
    assert_eq!(decode(&nested(100, default)), Err(Malformed::TooDeep));
}

/// Number of values, and bytes of text, in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_neither_panic_nor_grow(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for (object, _) in OBJECTS.iter().step_by(5) {
            if let Ok(value) = decoded(&body(&bytes), object) {
                prop_assert!(size(&value) <= 16 + 16 * bytes.len());
            }
            let _ = decoded(&[b"k8s\0".as_slice(), &bytes].concat(), object);
        }
    }

    #[test]
    fn a_damaged_body_never_panics(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let (object, intact) = which.get(&OBJECTS);
        let mut body = intact.clone();
        let place = at.index(body.len());
        body[place] = byte;
        if let Ok(value) = decoded(&body, object) {
            prop_assert!(size(&value) <= 16 + 16 * body.len());
        }
        body.truncate(cut.index(intact.len()));
        let _ = decoded(&body, object);
    }
}
