//! Properties of every sequence of writes.
#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Actor, FieldsError, apply, equal_but_times, update};
use crate::schema::Schema;

fn schema() -> Schema {
    let ports = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "number": {"type": "integer"},
        }},
    });
    serde_json::from_value(json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "args": {"type": "array", "items": {"type": "string"}},
        "ports": ports,
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}}}))
    .unwrap()
}

fn actor(manager: &str) -> Actor<'_> {
    Actor {
        manager,
        api_version: "example.org/v1",
        kind: "Thing",
        subresource: "",
        now: "2020-01-01T00:00:00Z",
        blank: None,
    }
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec})
}

/// Specs that fit the schema.
fn specs() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["a", "b", "c"]);
    let size = prop::option::of(0..3i64);
    let labels = prop::option::of(prop::collection::btree_map(word(), word(), 1..3));
    let tags = prop::option::of(prop::collection::btree_set(word(), 1..3));
    let args = prop::option::of(prop::collection::vec(word(), 1..3));
    let ports = prop::option::of(prop::collection::btree_map(word(), 0..3i64, 1..3));
    let free = prop::option::of(prop::collection::btree_map(word(), 0..3i64, 1..3));
    (size, labels, tags, args, ports, free).prop_map(|(size, labels, tags, args, ports, free)| {
        let ports = ports.map(|ports| {
            ports.iter().map(|(name, number)| json!({"name": name, "number": number})).collect::<Vec<_>>()
        });
        let all = json!({
            "size": size, "labels": labels, "tags": tags, "args": args, "ports": ports, "free": free,
        });
        all.as_object()
            .into_iter()
            .flatten()
            .filter(|(_, value)| !value.is_null())
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    })
}

/// A write of a manager: applied, forced or plain.
fn writes() -> impl Strategy<Value = Vec<(u8, &'static str, Value)>> {
    let managers = prop::sample::select(vec!["alice", "bob", "carol"]);
    prop::collection::vec((0..3u8, managers, specs()), 1..8)
}

/// Arbitrary JSON.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z.:{}\"\\[]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let names = prop::sample::select(vec![
            "apiVersion",
            "kind",
            "metadata",
            "managedFields",
            "fieldsV1",
            "f:spec",
            "k:{\"name\":\"a\"}",
            "v:\"a\"",
            ".",
            "manager",
            "operation",
            "spec",
            "size",
            "labels",
            "tags",
            "args",
            "ports",
            "name",
            "free",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names, inner, 0..5)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn an_apply_is_idempotent(writes in writes()) {
        let schema = schema();
        let mut live: Option<Value> = None;
        for (how, manager, spec) in writes {
            let wanted = object(&spec);
            let next = match how {
                0 => update(&schema, &[], live.as_ref(), wanted, &actor(manager)),
                force => match apply(&schema, &[], live.as_ref(), &wanted, &actor(manager), force == 2) {
                    // A map whose last field is removed becomes null, which the schema refuses: the object stays.
                    Ok(next) if next.to_string().contains("null") => continue,
                    Ok(next) => {
                        let again = apply(&schema, &[], Some(&next), &wanted, &actor(manager), false).unwrap();
                        prop_assert!(equal_but_times(&next, &again), "{next}\n{again}");
                        next
                    }
                    // A conflict, or a duplicate item in the live object: the object stays.
                    Err(FieldsError::Conflicts(_) | FieldsError::Internal(_)) if force == 1 => continue,
                    Err(error) => return Err(TestCaseError::fail(error.to_string())),
                },
            };
            live = Some(next);
        }
    }

    #[test]
    fn a_forced_apply_sets_all_its_fields(before in writes(), spec in specs()) {
        let schema = schema();
        let mut live: Option<Value> = None;
        for (_, manager, spec) in before {
            live = Some(apply(&schema, &[], live.as_ref(), &object(&spec), &actor(manager), true).unwrap());
        }
        let merged = apply(&schema, &[], live.as_ref(), &object(&spec), &actor("dora"), true).unwrap();
        for field in ["size", "args"] {
            if let Some(wanted) = spec.get(field) {
                prop_assert_eq!(&merged["spec"][field], wanted);
            }
        }
        for (name, wanted) in spec["labels"].as_object().into_iter().flatten() {
            prop_assert_eq!(&merged["spec"]["labels"][name], wanted);
        }
        for tag in spec["tags"].as_array().into_iter().flatten() {
            prop_assert!(merged["spec"]["tags"].as_array().unwrap().contains(tag));
        }
    }

    #[test]
    fn no_object_causes_a_panic(live in anything(), wanted in anything(), force in any::<bool>()) {
        let schema = schema();
        let _ = apply(&schema, &[], Some(&live), &wanted, &actor("alice"), force);
        let _ = apply(&schema, &[&["spec"]], None, &wanted, &actor("alice"), force);
        let _ = update(&schema, &[], Some(&live), wanted.clone(), &actor("bob"));
        let _ = update(&schema, &[], None, wanted, &actor("bob"));
    }
}
