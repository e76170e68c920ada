//! The two writes on whole objects.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap fails the test")]
#![allow(clippy::needless_pass_by_value, reason = "a literal reads better without a reference")]

use serde_json::{Value, json};

use super::{Actor, FieldsError, apply, equal_but_times, update};
use crate::schema::Schema;

const NO_RESET: &[&[&str]] = &[];
const STATUS: &[&[&str]] = &[&["status"]];

fn schema() -> Schema {
    let text = json!({"type": "string"});
    let port = json!({"type": "object", "properties": {
        "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": text}});
    serde_json::from_value(json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "a": text, "b": text, "n": {"type": "integer"}, "on": {"type": "boolean"},
            "map": {"type": "object", "additionalProperties": text},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "list": {"type": "array", "items": text},
            "ports": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"], "items": port},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "any": {"x-kubernetes-int-or-string": true}}},
        "status": {"type": "object", "properties": {"phase": text}}}}))
    .unwrap()
}

fn actor(manager: &'static str) -> Actor<'static> {
    Actor {
        manager,
        api_version: "test/v1",
        kind: "Thing",
        subresource: "",
        now: "2026-01-01T00:00:00Z",
        blank: None,
    }
}

fn later(manager: &'static str) -> Actor<'static> {
    Actor { now: "2026-01-01T00:01:00Z", ..actor(manager) }
}

fn thing(spec: Value) -> Value {
    json!({"apiVersion": "test/v1", "kind": "Thing", "metadata": {"name": "x", "namespace": "ns"}, "spec": spec})
}

fn stored(mut object: Value) -> Value {
    object["metadata"]["uid"] = json!("1");
    object
}

fn created(manager: &'static str, spec: Value) -> Value {
    stored(update(&schema(), NO_RESET, None, thing(spec), &actor(manager)))
}

fn applied(live: Option<&Value>, manager: &'static str, spec: Value) -> Value {
    stored(apply(&schema(), NO_RESET, live, &thing(spec), &actor(manager), false).unwrap())
}

fn refused(live: Option<&Value>, manager: &'static str, spec: Value) -> FieldsError {
    apply(&schema(), NO_RESET, live, &thing(spec), &actor(manager), false).unwrap_err()
}

/// The managers of an object: name, operation and the fields of the spec.
fn owners(object: &Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            let fields = &entry["fieldsV1"];
            json!([entry["manager"], entry["operation"], fields.get("f:spec").unwrap_or(fields)])
        })
        .collect()
}

#[test]
fn a_create_owns_the_fields_it_sets() {
    let object =
        created("m", json!({"a": "x", "map": {"k": "v"}, "ports": [{"port": 80, "protocol": "TCP"}]}));
    assert_eq!(
        object["metadata"]["managedFields"],
        json!([{"manager": "m", "operation": "Update", "apiVersion": "test/v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {".": {}, "f:a": {}, "f:map": {".": {}, "f:k": {}},
                "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}":
                    {".": {}, "f:port": {}, "f:protocol": {}}}}}}])
    );
}

#[test]
fn a_create_does_not_own_the_fields_of_a_blank_object() {
    let blank = json!({"metadata": {}, "spec": {"map": {}, "set": null}});
    let actor = Actor { blank: Some(&blank), ..actor("m") };
    let spec = json!({"map": {"k": "v"}, "set": ["a"], "list": []});
    let object = update(&schema(), NO_RESET, None, thing(spec.clone()), &actor);
    let fields = json!({"f:list": {}, "f:map": {"f:k": {}}, "f:set": {"v:\"a\"": {}}});
    assert_eq!(owners(&object), json!([["m", "Update", fields]]));
    let object = apply(&schema(), NO_RESET, None, &thing(spec), &actor, false).unwrap();
    assert_eq!(owners(&object), json!([["m", "Apply", fields]]));
}

#[test]
fn an_update_takes_over_the_fields_it_changes() {
    let live = created("m", json!({"a": "x", "b": "y", "n": 1}));
    let mut new = live.clone();
    new["spec"] = json!({"a": "z", "n": 1, "on": true});
    let object = update(&schema(), NO_RESET, Some(&live), new, &later("o"));
    assert_eq!(
        owners(&object),
        json!([["m", "Update", {".": {}, "f:n": {}}], ["o", "Update", {"f:a": {}, "f:on": {}}]])
    );
}

#[test]
fn an_update_that_changes_nothing_keeps_the_times() {
    let live = created("m", json!({"a": "x"}));
    assert_eq!(update(&schema(), NO_RESET, Some(&live), live.clone(), &later("m")), live);
}

#[test]
fn an_endpoint_ignores_the_fields_it_resets() {
    let mut new = thing(json!({"a": "x"}));
    new["status"] = json!({"phase": "p"});
    let object = update(&schema(), STATUS, None, new.clone(), &actor("m"));
    assert_eq!(owners(&object), json!([["m", "Update", {".": {}, "f:a": {}}]]));
    let object = apply(&schema(), STATUS, None, &new, &actor("m"), false).unwrap();
    assert_eq!(owners(&object), json!([["m", "Apply", {"f:a": {}}]]));
}

#[test]
fn a_client_may_replace_the_managers() {
    let live = created("m", json!({"a": "x"}));
    let entry = json!({"manager": "z", "operation": "Apply", "apiVersion": "test/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:b": {}}}});
    let unreadable =
        json!({"manager": "z", "operation": "Bogus", "apiVersion": "test/v1", "fieldsType": "FieldsV1"});
    let table = [
        (json!([entry]), json!([["z", "Apply", {"f:b": {}}]])),
        (json!([unreadable]), owners(&live)),
        (json!("nonsense"), owners(&live)),
        (json!(null), owners(&live)),
        (json!([]), json!([])),
        (json!([{}]), json!([])),
    ];
    for (sent, expected) in table {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = sent.clone();
        assert_eq!(owners(&update(&schema(), NO_RESET, Some(&live), new, &actor("m"))), expected, "{sent}");
    }
}

#[test]
fn a_subresource_does_not_replace_the_managers() {
    let live = created("m", json!({"a": "x"}));
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([{}]);
    let status = Actor { subresource: "status", ..actor("m") };
    assert_eq!(
        owners(&update(&schema(), &[&["metadata"], &["spec"]], Some(&live), new, &status)),
        owners(&live)
    );
}

#[test]
fn an_object_without_managers_gets_none_until_an_apply() {
    let live = stored(thing(json!({"a": "x", "b": "y"})));
    let mut new = live.clone();
    new["spec"]["a"] = json!("z");
    assert_eq!(update(&schema(), NO_RESET, Some(&live), new.clone(), &actor("m")), new);
    let object = applied(Some(&live), "m", json!({"a": "x"}));
    assert_eq!(
        owners(&object),
        json!([["m", "Apply", {"f:a": {}}], ["before-first-apply", "Update", {".": {}, "f:a": {}, "f:b": {}}]])
    );
}

#[test]
fn a_malformed_object_gets_no_managers() {
    assert_eq!(owners(&update(&schema(), NO_RESET, None, thing(json!({"a": 1})), &actor("m"))), json!([]));
}

#[test]
fn the_oldest_updates_are_merged_when_there_are_too_many() {
    let entry = |index: usize| {
        json!({"manager": format!("u{index:02}"), "operation": "Update",
        "apiVersion": "test/v1", "fieldsType": "FieldsV1", "time": format!("2025-01-01T00:00:{index:02}Z"),
        "fieldsV1": {"f:spec": {"f:map": {format!("f:{index}"): {}}}}})
    };
    let mut live = stored(thing(json!({"a": "x"})));
    live["metadata"]["managedFields"] = (0..11).map(entry).collect();
    let mut new = live.clone();
    new["spec"]["a"] = json!("y");
    let object = update(&schema(), NO_RESET, Some(&live), new, &actor("m"));
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], "ancient-changes");
    assert_eq!(entries[0]["time"], "2025-01-01T00:00:02Z");
    assert_eq!(entries[0]["fieldsV1"], json!({"f:spec": {"f:map": {"f:0": {}, "f:1": {}, "f:2": {}}}}));
}

#[test]
fn an_apply_gives_up_omitted_fields() {
    let first =
        applied(None, "m", json!({"a": "x", "b": "y", "map": {"k": "v", "l": "v"}, "set": ["p", "q"]}));
    let shared = applied(Some(&first), "o", json!({"b": "y", "set": ["q"]}));
    let object = applied(Some(&shared), "m", json!({"map": {"l": "v"}}));
    assert_eq!(object["spec"], json!({"b": "y", "map": {"l": "v"}, "set": ["q"]}));
    assert_eq!(
        owners(&object),
        json!([["o", "Apply", {"f:b": {}, "f:set": {"v:\"q\"": {}}}], ["m", "Apply", {"f:map": {"f:l": {}}}]])
    );
}

#[test]
fn an_apply_conflicts_with_fields_of_other_managers() {
    let live = applied(Some(&created("u", json!({"a": "x", "b": "y"}))), "m", json!({"n": 1}));
    let FieldsError::Conflicts(conflicts) = refused(Some(&live), "o", json!({"a": "z", "b": "z", "n": 2}))
    else {
        panic!("not a conflict");
    };
    assert_eq!(
        conflicts.message(),
        "Apply failed with 3 conflicts: conflicts with \"m\":\n- .spec.n\n\
         conflicts with \"u\" using test/v1:\n- .spec.a\n- .spec.b"
    );
    let causes: Vec<_> = conflicts.causes().into_iter().map(|cause| (cause.message, cause.field)).collect();
    assert_eq!(causes[0], ("conflict with \"m\"".into(), ".spec.n".into()));
    assert_eq!(causes[2], ("conflict with \"u\" using test/v1".into(), ".spec.b".into()));
    assert_eq!(
        refused(Some(&live), "o", json!({"n": 2})).to_string(),
        "Apply failed with 1 conflict: conflict with \"m\": .spec.n"
    );

    let patch = thing(json!({"a": "z", "b": "y"}));
    let forced = apply(&schema(), NO_RESET, Some(&live), &patch, &actor("o"), true).unwrap();
    assert_eq!(forced["spec"], json!({"a": "z", "b": "y", "n": 1}));
    assert_eq!(
        owners(&forced),
        json!([["m", "Apply", {"f:n": {}}], ["o", "Apply", {"f:a": {}, "f:b": {}}],
            ["u", "Update", {".": {}, "f:b": {}}]])
    );
}

#[test]
fn a_conflict_names_the_keys_of_its_item() {
    let live = applied(None, "m", json!({"ports": [{"port": 1_000_000, "name": "a"}]}));
    assert_eq!(
        refused(Some(&live), "o", json!({"ports": [{"port": 1_000_000, "name": "b"}]})).to_string(),
        "Apply failed with 1 conflict: conflict with \"m\": .spec.ports[port=1000000,protocol=\"TCP\"].name"
    );
}

#[test]
fn an_identical_apply_changes_nothing() {
    let live = applied(None, "m", json!({"a": "x", "list": ["p"]}));
    let again =
        apply(&schema(), NO_RESET, Some(&live), &thing(json!({"a": "x", "list": ["p"]})), &later("m"), false);
    assert_eq!(again.unwrap(), live);
    let other =
        apply(&schema(), NO_RESET, Some(&live), &thing(json!({"a": "x"})), &later("o"), false).unwrap();
    assert!(!equal_but_times(&live, &other));
    assert_eq!(other["metadata"]["managedFields"][0]["manager"], "o");
    assert_eq!(other["metadata"]["managedFields"][0].get("time"), None);
}

#[test]
fn a_difference_in_manager_times_alone_is_ignored() {
    let object = created("m", json!({"a": "x"}));
    let mut other = object.clone();
    other["metadata"]["managedFields"][0]["time"] = json!("2030-01-01T00:00:00Z");
    assert!(equal_but_times(&object, &other));
    other["spec"]["a"] = json!("y");
    assert!(!equal_but_times(&object, &other));
}

#[test]
fn lists_merge_by_their_keys_in_the_order_of_the_applier() {
    let table = [
        (json!(["a", "b", "c"]), json!(["c", "a"]), json!(["b", "c", "a"])),
        (json!(["a", "b"]), json!(["b", "d", "a"]), json!(["b", "d", "a"])),
        (json!(["x", "a", "y", "b"]), json!(["a", "n", "b"]), json!(["x", "a", "y", "n", "b"])),
        (json!(["x"]), json!([]), json!(["x"])),
    ];
    for (live, patch, expected) in table {
        let object = applied(Some(&created("u", json!({"set": live}))), "m", json!({"set": patch}));
        assert_eq!(object["spec"]["set"], expected, "{live} {patch}");
    }
}

#[test]
fn a_map_list_matches_an_item_by_the_default_of_its_key() {
    let live =
        created("u", json!({"ports": [{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}]}));
    let object = applied(Some(&live), "m", json!({"ports": [{"port": 1, "name": "n"}]}));
    assert_eq!(
        object["spec"]["ports"],
        json!([{"name": "n", "port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}])
    );
}

#[test]
fn atomic_values_are_replaced_as_a_whole() {
    let live = created(
        "u",
        json!({"list": ["a"], "whole": {"k": "v"}, "free": {"l": [1], "m": {"k": 1}}, "any": 1}),
    );
    let patch =
        thing(json!({"list": ["b"], "whole": {"l": "v"}, "free": {"l": [2], "m": {"l": 1}}, "any": "1"}));
    let object = apply(&schema(), NO_RESET, Some(&live), &patch, &actor("m"), true).unwrap();
    assert_eq!(
        object["spec"],
        json!({"list": ["b"], "whole": {"l": "v"}, "free": {"l": [2], "m": {"k": 1, "l": 1}}, "any": "1"})
    );
    assert_eq!(
        owners(&object)[0],
        json!(["m", "Apply", {"f:any": {}, "f:free": {"f:l": {}, "f:m": {"f:l": {}, ".": {}}}, "f:list": {},
            "f:whole": {}}])
    );
}

#[test]
fn a_field_that_became_atomic_is_owned_as_a_whole() {
    let mut live = stored(thing(json!({"whole": {"k": "v"}, "list": ["a"]})));
    live["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Apply", "apiVersion": "test/v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:whole": {"f:k": {}}, "f:list": {".": {}, "v:\"a\"": {}}}}}]);
    let object = applied(Some(&live), "o", json!({"a": "x"}));
    assert_eq!(owners(&object)[0], json!(["m", "Apply", {"f:list": {}, "f:whole": {}}]));
}

#[test]
fn a_malformed_configuration_is_refused() {
    let table = [
        (json!({"a": 1}), ".spec.a: expected string, got number"),
        (json!({"n": "1"}), ".spec.n: expected numeric (int or float), got string"),
        (json!({"on": [1]}), ".spec.on: expected boolean, got array"),
        (json!({"set": {"a": 1}}), ".spec.set: expected list, got object"),
        (json!({"map": "x"}), ".spec.map: expected map, got string"),
        (json!({"c": 1}), ".spec.c: field not declared in schema"),
        (json!({"set": ["a", "a"]}), ".spec.set: duplicate entries for key [=\"a\"]"),
        (
            json!({"set": [null]}),
            ".spec.set: element 0: associative list without keys has an element that's an explicit null",
        ),
        (
            json!({"a": 1, "n": "1"}),
            "errors:\n  .spec.a: expected string, got number\n  \
            .spec.n: expected numeric (int or float), got string",
        ),
    ];
    for (spec, problem) in table {
        assert_eq!(
            refused(None, "m", spec),
            FieldsError::Internal(format!(
                "failed to create typed patch object (ns/x; test/v1, Kind=Thing): {problem}"
            ))
        );
    }
}

#[test]
fn only_an_object_of_the_kind_can_be_applied() {
    let mut with_managers = thing(json!({}));
    with_managers["metadata"]["managedFields"] = json!([]);
    let table = [
        (json!({"apiVersion": "test/v1", "kind": "Other"}), "invalid object type: test/v1, Kind=Other"),
        (json!({"apiVersion": "v1", "kind": "Thing"}), "invalid object type: /v1, Kind=Thing"),
        (json!({"apiVersion": "a/b/c", "kind": "Thing"}), "invalid object type: /, Kind="),
        (with_managers, "metadata.managedFields must be nil"),
    ];
    for (patch, message) in table {
        let error = apply(&schema(), NO_RESET, None, &patch, &actor("m"), false).unwrap_err();
        assert_eq!(error, FieldsError::BadRequest(message.into()));
    }
}

#[test]
fn an_applier_keeps_its_identity_in_another_version() {
    let live = applied(None, "m", json!({"a": "x", "b": "y"}));
    let v2 = Actor { api_version: "test/v2", ..actor("m") };
    let mut patch = thing(json!({"b": "z"}));
    patch["apiVersion"] = json!("test/v2");
    let object = apply(&schema(), NO_RESET, Some(&live), &patch, &v2, false).unwrap();
    assert_eq!(object["spec"], json!({"b": "z"}));
    assert_eq!(object["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    assert_eq!(object["metadata"]["managedFields"][0]["apiVersion"], "test/v2");
}

#[test]
fn kubectl_takes_over_fields_of_its_client_side_apply() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let mut object = thing(json!({"a": "x", "b": "y"}));
    let text = thing(json!({"a": "x"})).to_string();
    object["metadata"]["annotations"] = json!({ANNOTATION: text});
    let live = stored(update(&schema(), NO_RESET, None, object, &actor("kubectl-client-side-apply")));

    let taken = applied(Some(&live), "kubectl", json!({"a": "<z"}));
    assert_eq!(taken["spec"], json!({"a": "<z", "b": "y"}));
    assert_eq!(
        taken["metadata"]["annotations"][ANNOTATION],
        "{\"apiVersion\":\"test/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\"},\
         \"spec\":{\"a\":\"<z\"}}\n"
    );
    for (manager, conflicts) in [("kubectl", ".spec.b"), ("other", ".spec.a")] {
        let error = refused(Some(&live), manager, json!({"a": "z", "b": "z"})).to_string();
        assert!(error.contains(conflicts), "{error}");
        assert_eq!(error.contains(".spec.a"), manager == "other", "{error}");
    }
}

#[test]
fn error_texts_about_hostile_objects_are_bounded() {
    let name = "n".repeat(100_000);
    let many: Value = (0..1000).map(|index| json!([index])).collect();
    let error = refused(None, "m", json!({"free": {"x": 1}, "map": {name.clone(): 1}, "set": many}));
    assert!(error.to_string().len() < 4 * 1024 * 1024);

    let fields =
        |value: &str| -> Value { (0..1000).map(|index| (format!("k{index}"), json!(value))).collect() };
    let live = applied(None, "m", json!({"free": {name.clone(): fields("a")}}));
    let error = refused(Some(&live), "o", json!({"free": {name: fields("b")}}));
    assert!(error.to_string().starts_with("Apply failed with 1000 conflicts: "));
    assert!(error.to_string().len() < 4 * 1024 * 1024);
}
