#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn apply(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    json_patch(document, patch.to_string().as_bytes(), Checks::On).map(|patched| patched.value)
}

fn merge(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    merge_patch(document.clone(), patch.to_string().as_bytes(), Checks::On).map(|patched| patched.value)
}

#[test]
fn the_examples_of_rfc_6902_hold() {
    for (document, patch, result) in [
        (
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/baz", "value": "qux"}]),
            json!({"baz": "qux", "foo": "bar"}),
        ),
        (
            json!({"foo": ["bar", "baz"]}),
            json!([{"op": "add", "path": "/foo/1", "value": "qux"}]),
            json!({"foo": ["bar", "qux", "baz"]}),
        ),
        (
            json!({"baz": "qux", "foo": "bar"}),
            json!([{"op": "remove", "path": "/baz"}]),
            json!({"foo": "bar"}),
        ),
        (
            json!({"foo": ["bar", "qux", "baz"]}),
            json!([{"op": "remove", "path": "/foo/1"}]),
            json!({"foo": ["bar", "baz"]}),
        ),
        (
            json!({"baz": "qux", "foo": "bar"}),
            json!([{"op": "replace", "path": "/baz", "value": "boo"}]),
            json!({"baz": "boo", "foo": "bar"}),
        ),
        (
            json!({"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}),
            json!([{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]),
            json!({"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}),
        ),
        (
            json!({"foo": ["all", "grass", "cows", "eat"]}),
            json!([{"op": "move", "from": "/foo/1", "path": "/foo/3"}]),
            json!({"foo": ["all", "cows", "eat", "grass"]}),
        ),
        (
            json!({"baz": "qux", "foo": ["a", 2, "c"]}),
            json!([{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}]),
            json!({"baz": "qux", "foo": ["a", 2, "c"]}),
        ),
        (
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/child", "value": {"grandchild": {}}}]),
            json!({"foo": "bar", "child": {"grandchild": {}}}),
        ),
        (
            json!({"/": 9, "~1": 10}),
            json!([{"op": "test", "path": "/~01", "value": 10}]),
            json!({"/": 9, "~1": 10}),
        ),
        (
            json!({"foo": ["bar"]}),
            json!([{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]),
            json!({"foo": ["bar", ["abc", "def"]]}),
        ),
        (json!({"a": 1}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"a": 1, "b": 1})),
    ] {
        assert_eq!(apply(&document, &patch), Ok(result), "{patch}");
    }
}

#[test]
fn deviations_from_the_rfc_are_those_of_the_real_server() {
    let document = json!({"l": [1, 2, 3], "n": null, "o": {}});
    for (patch, result) in [
        // A test for null passes on an absent field.
        (json!([{"op": "test", "path": "/o/x", "value": null}]), document.clone()),
        (json!([{"op": "test", "path": "/n", "value": null}]), document.clone()),
        // A replaced field may be absent.
        (
            json!([{"op": "replace", "path": "/o/x", "value": 1}]),
            json!({"l": [1, 2, 3], "n": null, "o": {"x": 1}}),
        ),
        // Indices count from the end.
        (json!([{"op": "remove", "path": "/l/-1"}]), json!({"l": [1, 2], "n": null, "o": {}})),
        (json!([{"op": "add", "path": "/l/-1", "value": 4}]), json!({"l": [1, 2, 3, 4], "n": null, "o": {}})),
        // A copy of an absent field is null.
        (
            json!([{"op": "copy", "from": "/o/x", "path": "/o/y"}]),
            json!({"l": [1, 2, 3], "n": null, "o": {"y": null}}),
        ),
        // Text before the first slash is ignored.
        (json!([{"op": "remove", "path": "x/n"}]), json!({"l": [1, 2, 3], "o": {}})),
        (json!([{"op": "add", "path": "/o/x"}]), json!({"l": [1, 2, 3], "n": null, "o": {"x": null}})),
        (json!([{"op": "replace", "path": "", "value": {"a": 1}}]), json!({"a": 1})),
    ] {
        assert_eq!(apply(&document, &patch), Ok(result), "{patch}");
    }
    assert_eq!(json_patch(&document, b"null", Checks::On).unwrap().value, document);
}

#[test]
fn a_failed_operation_rejects_the_whole_patch() {
    let document = json!({"l": [1], "o": {"x": 1}});
    for operation in [
        json!({"op": "test", "path": "/o/x", "value": 2}),
        json!({"op": "test", "path": "/o/x"}),
        json!({"op": "test", "path": "/gone/x", "value": null}),
        json!({"op": "remove", "path": "/gone"}),
        json!({"op": "remove", "path": ""}),
        json!({"op": "remove", "path": "/l/1"}),
        json!({"op": "remove", "path": "/l/-2"}),
        json!({"op": "replace", "path": "/l/1", "value": 1}),
        json!({"op": "replace", "path": "", "value": 1}),
        json!({"op": "replace", "path": ""}),
        json!({"op": "add", "path": "/l/3", "value": 1}),
        json!({"op": "add", "path": "/l/x", "value": 1}),
        json!({"op": "add", "path": "/gone/x", "value": 1}),
        json!({"op": "add", "path": "", "value": {}}),
        json!({"op": "add", "value": 1}),
        json!({"op": "move", "from": "/o", "path": "/o/x"}),
        json!({"op": "move", "from": "/gone", "path": "/x"}),
        json!({"op": "copy", "from": "/gone/x", "path": "/x"}),
        json!({"op": "unknown", "path": "/o"}),
        json!({}),
        json!(null),
    ] {
        assert_eq!(apply(&document, &json!([operation])), Err(PatchError::rejected()), "{operation}");
    }
}

#[test]
fn a_test_compares_values_not_their_notation() {
    let document = json!({"text": "<", "number": 1.5});
    for (value, is_equal) in [
        (r#""/text","value":"\u003c""#, true),
        (r#""/number","value":1.50"#, true),
        (r#""/number","value":1.51"#, false),
    ] {
        let patch = format!(r#"[{{"op":"test","path":{value}}}]"#);
        assert_eq!(json_patch(&document, patch.as_bytes(), Checks::On).is_ok(), is_equal, "{value}");
    }
}

#[test]
fn a_malformed_json_patch_is_a_bad_request() {
    for patch in ["", "{}", "[1]"] {
        for checks in [Checks::On, Checks::Off] {
            let error = json_patch(&json!({}), patch.as_bytes(), checks).unwrap_err();
            assert_eq!((error.code, error.causes), (400, None), "{patch}");
        }
    }
    let patch = br#"[{"op":1,"path":"/a"}]"#;
    assert_eq!(
        json_patch(&json!({}), patch, Checks::On).unwrap_err().message,
        "error decoding patch: [0].op: expected string, got number"
    );
    assert_eq!(json_patch(&json!({}), patch, Checks::Off), Err(PatchError::rejected()));
}

#[test]
fn unknown_and_duplicate_fields_of_an_operation_are_reported() {
    let patch = br#"[{"op":"add","path":"/q","value":{"a":1,"a":2},"x":1,"op":"add"}]"#;
    assert_eq!(
        json_patch(&json!({}), patch, Checks::On).unwrap().notes,
        [
            r#"json patch duplicate field "[0].value.a""#,
            r#"json patch duplicate field "[0].op""#,
            r#"json patch unknown field "[0].x""#,
        ]
    );
}

#[test]
fn the_error_of_a_strict_request_shows_the_patched_document() {
    let error = PatchError::strict(&json!({"a": 1}), &["duplicate field \"a\"".to_owned()]);
    assert_eq!(
        error.message,
        " \"\" is invalid: patch: Invalid value: \"{\\\"a\\\":1}\": strict decoding error: duplicate field \"a\""
    );
    assert_eq!((error.code, error.reason, error.causes.unwrap().len()), (422, "Invalid", 1));
}

#[test]
fn patches_are_bounded() {
    let many = vec![json!({"op": "test", "path": "/x", "value": null}); 10_001];
    let error = apply(&json!({}), &json!(many)).unwrap_err();
    assert_eq!(error.code, 413);
    assert_eq!(
        error.message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );

    let doubling: Vec<Value> =
        (0..40).flat_map(|_| [json!({"op": "copy", "from": "/l", "path": "/l/-"})]).collect();
    assert_eq!(apply(&json!({"l": ["x"]}), &json!(doubling)), Err(PatchError::rejected()));

    let mut deeper = Vec::new();
    for level in 0..200 {
        deeper.push(json!({"op": "add", "path": "/a".repeat(level + 1), "value": {}}));
    }
    assert_eq!(apply(&json!({}), &json!(deeper)), Err(PatchError::rejected()));

    let long = json!({"l": vec![0; 200_000]});
    let shifts = vec![json!({"op": "remove", "path": "/l/0"}); 9_999];
    assert_eq!(apply(&long, &json!(shifts)), Err(PatchError::rejected()));
}

#[test]
fn the_examples_of_rfc_7396_hold_for_objects() {
    for (document, patch, result) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
    ] {
        assert_eq!(merge(&document, &patch), Ok(result), "{patch}");
    }
}

#[test]
fn null_items_are_kept_and_null_fields_of_items_removed() {
    let patch = json!({"a": [{"d": null}, null]});
    assert_eq!(merge(&json!({}), &patch), Ok(json!({"a": [{}, null]})));
    assert_eq!(merge(&json!({"a": 1}), &patch), Ok(json!({"a": [{}, null]})));
    assert_eq!(merge(&json!({"a": {"x": 1}}), &patch), Ok(json!({"a": [{"d": null}, null]})));
}

#[test]
fn a_malformed_merge_patch_is_a_bad_request() {
    for patch in ["", "{} x", "null", "1", "\"x\""] {
        for checks in [Checks::On, Checks::Off] {
            let error = merge_patch(json!({}), patch.as_bytes(), checks).unwrap_err();
            assert_eq!((error.code, error.causes), (400, None), "{patch}");
        }
    }
    assert_eq!(merge_patch(json!({}), b"[]", Checks::On).unwrap_err().code, 400);
    assert_eq!(merge_patch(json!({}), b"[]", Checks::Off).unwrap_err().code, 422);
}

#[test]
fn duplicates_in_a_merge_patch_are_reported() {
    let patched = merge_patch(json!({}), br#"{"s":{"a":1,"a":2}}"#, Checks::On).unwrap();
    assert_eq!(patched.value, json!({"s": {"a": 2}}));
    assert_eq!(patched.notes, [r#"duplicate field "s.a""#]);
}

fn any_object() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<i8>().prop_map(Value::from), "[a-c]{0,2}".prop_map(Value::from)];
    let value = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    proptest::collection::btree_map("[a-c]", value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #[test]
    fn a_merge_patch_sets_removes_and_keeps_fields(document in any_object(), patch in any_object()) {
        let merged = merge(&document, &patch).unwrap();
        for key in ["a", "b", "c"] {
            match patch.get(key) {
                None => prop_assert_eq!(merged.get(key), document.get(key)),
                Some(Value::Null) => prop_assert_eq!(merged.get(key), None),
                Some(Value::Object(_)) => prop_assert!(merged[key].is_object()),
                Some(Value::Array(list)) => prop_assert_eq!(merged[key].as_array().map(Vec::len), Some(list.len())),
                scalar => prop_assert_eq!(merged.get(key), scalar),
            }
        }
    }

    #[test]
    fn an_empty_patch_changes_nothing(document in any_object()) {
        prop_assert_eq!(&merge(&document, &json!({})).unwrap(), &document);
        prop_assert_eq!(apply(&document, &json!([])).unwrap(), document);
    }

    #[test]
    fn an_added_value_is_at_its_path(document in any_object(), key in "[a-d/~]{1,3}", value in any_object()) {
        let path = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        let patch = json!([
            {"op": "add", "path": path, "value": value},
            {"op": "test", "path": path, "value": value},
        ]);
        prop_assert_eq!(&apply(&document, &patch).unwrap()[&key], &value);
    }
}
