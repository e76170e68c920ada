#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Checks, PatchError, Structure, merge, strategic_merge_patch};
use crate::{
    kinds::{Kind, builtin},
    store::Revision,
};

fn kind(name: &str) -> Kind {
    builtin::kinds(Revision(0)).into_iter().find(|kind| kind.kind == name).unwrap()
}

fn patched(name: &str, before: &Value, patch: &Value) -> Result<Value, PatchError> {
    let patch = patch.to_string();
    let mut after = strategic_merge_patch(&kind(name), before.clone(), patch.as_bytes(), Checks::On)?.value;
    let fields = after.as_object_mut().unwrap();
    fields.remove("apiVersion");
    fields.remove("kind");
    Ok(after)
}

fn owner(uid: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
}

#[test]
fn maps_are_merged_and_nulls_remove_fields() {
    let before = json!({"data": {"a": "1", "b": "2"}, "immutable": true});
    let cases = [
        (
            json!({"data": {"b": "3", "c": "4"}}),
            json!({"data": {"a": "1", "b": "3", "c": "4"}, "immutable": true}),
        ),
        (json!({"data": {"a": null, "x": null}, "immutable": null}), json!({"data": {"b": "2"}})),
        (json!({"data": null, "immutable": false}), json!({"immutable": false})),
        (
            json!({"binaryData": {"a": null, "b": "eA=="}}),
            json!({"binaryData": {"b": "eA=="}, "data": {"a": "1", "b": "2"}, "immutable": true}),
        ),
        (json!({"data": "text"}), json!({"data": "text", "immutable": true})),
        (json!({}), before.clone()),
    ];
    for (patch, after) in cases {
        assert_eq!(patched("ConfigMap", &before, &patch), Ok(after), "{patch}");
    }
}

#[test]
fn directives_replace_and_empty_objects() {
    let before = json!({"data": {"a": "1", "b": "2"}, "immutable": true});
    let cases = [
        (json!({"data": {"$patch": "replace", "c": "3"}}), json!({"data": {"c": "3"}, "immutable": true})),
        (json!({"data": {"$patch": "delete"}}), json!({"data": {}, "immutable": true})),
        (json!({"binaryData": {"$patch": "delete"}}), before.clone()),
        (json!({"$patch": "replace", "data": {"d": "4"}}), json!({"data": {"d": "4"}})),
        (json!({"$patch": "delete"}), json!({})),
        (json!({"$retainKeys": ["data"], "data": {"a": "5"}}), json!({"data": {"a": "5", "b": "2"}})),
        (json!({"$retainKeys": ["data"], "immutable": null}), json!({"data": {"a": "1", "b": "2"}})),
    ];
    for (patch, after) in cases {
        assert_eq!(patched("ConfigMap", &before, &patch), Ok(after), "{patch}");
    }
}

#[test]
fn lists_of_objects_are_merged_by_their_key() {
    let before =
        json!({"metadata": {"ownerReferences": [owner("1", "a"), owner("2", "b"), owner("3", "c")]}});
    let references = |patch: Value| {
        let after = patched("ConfigMap", &before, &json!({"metadata": patch}))?;
        let list = after["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        Ok::<_, PatchError>(
            list.iter()
                .map(|one| format!("{}{}", one["uid"].as_str().unwrap(), one["name"].as_str().unwrap_or("-")))
                .collect::<Vec<_>>(),
        )
    };
    let patch = |items: Value| json!({"ownerReferences": items});
    assert_eq!(references(patch(json!([owner("2", "x")]))).unwrap(), ["1a", "2x", "3c"]);
    assert_eq!(references(patch(json!([{"uid": "2", "name": null}]))).unwrap(), ["1a", "2-", "3c"]);
    assert_eq!(
        references(patch(json!([owner("4", "d"), owner("1", "a")]))).unwrap(),
        ["4d", "1a", "2b", "3c"]
    );
    assert_eq!(references(patch(json!([{"$patch": "delete", "uid": "2"}]))).unwrap(), ["1a", "3c"]);
    assert_eq!(references(patch(json!([{"$patch": "replace"}, owner("5", "e")]))).unwrap(), ["5e"]);
    assert_eq!(references(patch(json!([]))).unwrap(), ["1a", "2b", "3c"]);
    let order = json!([{"uid": "3"}, {"uid": "1"}, {"uid": "2"}]);
    let ordered = json!({"$setElementOrder/ownerReferences": order, "ownerReferences": [owner("1", "y")]});
    assert_eq!(references(ordered).unwrap(), ["3c", "1y", "2b"]);
    let only_order = json!({"$setElementOrder/ownerReferences": [{"uid": "3"}, {"uid": "2"}]});
    assert_eq!(references(only_order).unwrap(), ["1a", "3c", "2b"]);
    assert_eq!(references(patch(json!([{"name": "x"}]))).unwrap_err().code, 500);
    assert_eq!(references(patch(json!(["x"]))).unwrap_err().code, 500);
    assert_eq!(references(patch(json!([{"$patch": "merge", "uid": "1"}]))).unwrap_err().code, 500);
}

#[test]
fn lists_of_scalars_are_sets() {
    let before = json!({"metadata": {"finalizers": ["a/a", "b/b", "c/c"]}});
    let cases = [
        (json!({"finalizers": ["d/d", "b/b"]}), json!(["d/d", "a/a", "b/b", "c/c"])),
        (json!({"$deleteFromPrimitiveList/finalizers": ["a/a", "x/x"]}), json!(["b/b", "c/c"])),
        (
            json!({"$setElementOrder/finalizers": ["c/c", "d/d", "a/a"], "finalizers": ["d/d"]}),
            json!(["b/b", "c/c", "d/d", "a/a"]),
        ),
        (
            json!({"$deleteFromPrimitiveList/finalizers": ["b/b"], "$setElementOrder/finalizers": ["c/c", "a/a"]}),
            json!(["c/c", "a/a"]),
        ),
    ];
    for (patch, after) in cases {
        let result = patched("ConfigMap", &before, &json!({"metadata": patch})).unwrap();
        assert_eq!(result["metadata"]["finalizers"], after, "{patch}");
    }
    let added = patched(
        "ConfigMap",
        &json!({"metadata": {}}),
        &json!({"metadata": {"$setElementOrder/finalizers": ["b/b", "a/a"], "finalizers": ["a/a", "b/b"]}}),
    );
    assert_eq!(added.unwrap_err().code, 500, "the order differs from that of the list");
}

#[test]
fn other_lists_are_replaced() {
    let before = json!({"imagePullSecrets": [{"name": "a"}, {"name": "b"}], "secrets": [{"name": "s"}]});
    let patch = json!({"imagePullSecrets": [{"name": "c"}], "secrets": [{"name": "t"}]});
    let after = patched("ServiceAccount", &before, &patch).unwrap();
    assert_eq!(after["imagePullSecrets"], json!([{"name": "c"}]));
    assert_eq!(after["secrets"], json!([{"name": "t"}, {"name": "s"}]));
}

#[test]
fn malformed_patches_are_bad_requests_and_unfitting_ones_errors_of_the_server() {
    let before = json!({"metadata": {"finalizers": ["a/a"], "labels": {"a": "b"}}, "data": {"a": "b"}});
    let code = |patch: &str| {
        strategic_merge_patch(&kind("ConfigMap"), before.clone(), patch.as_bytes(), Checks::On)
            .map(drop)
            .unwrap_err()
            .code
    };
    for (patch, expected) in [
        ("{", 400),
        ("[]", 400),
        ("1", 400),
        (r#"{"$retainKeys": "data"}"#, 400),
        (r#"{"$retainKeys": ["data"], "immutable": true}"#, 400),
        (r#"{"metadata": {"$setElementOrder": []}}"#, 400),
        (r#"{"metadata": {"$deleteFromPrimitiveList": []}}"#, 400),
        (r#"{"data": {"$patch": "remove"}}"#, 500),
        (r#"{"metadata": {"$setElementOrder/finalizers": "x"}}"#, 500),
        (r#"{"metadata": {"$setElementOrder/unknown": ["x"]}}"#, 500),
        (r#"{"metadata": {"$setElementOrder/finalizers": ["a/a"], "finalizers": ["b/b"]}}"#, 500),
        (r#"{"metadata": {"finalizers": [["a"]]}}"#, 500),
    ] {
        assert_eq!(code(patch), expected, "{patch}");
    }
}

#[test]
fn a_merge_of_lists_of_lists_is_rejected() {
    let before = json!({"metadata": {"finalizers": []}});
    let error = patched("ConfigMap", &before, &json!({"metadata": {"finalizers": [["a"]]}})).unwrap_err();
    assert_eq!((error.code, error.reason), (422, "Invalid"));
}

#[test]
fn the_type_of_an_object_does_not_depend_on_the_patch() {
    let before = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let patch = br#"{"kind": "Secret", "apiVersion": null}"#;
    let after = strategic_merge_patch(&kind("ConfigMap"), before.clone(), patch, Checks::On).unwrap();
    assert_eq!(after.value, before);
}

/// Objects and patches of a service account, which has lists of every sort.
fn accounts(directives: bool) -> impl Strategy<Value = Value> {
    let name = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let names =
        || prop::collection::btree_set(name(), 1..4).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    let directive = prop::option::of(prop::sample::select(vec!["delete", "replace", "merge"]));
    let items = names().prop_map(|names| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>());
    let order = prop::option::of(prop::collection::vec(name(), 0..4));
    (prop::option::of(items), prop::option::of(names()), directive, order, any::<bool>()).prop_map(
        move |(items, finalizers, directive, order, flag)| {
            let mut account = json!({"metadata": {"labels": {"x": "y"}}});
            if let Some(items) = &items {
                account["secrets"] = json!(items);
                account["imagePullSecrets"] = json!(items);
            }
            if let Some(finalizers) = finalizers {
                account["metadata"]["finalizers"] = json!(finalizers);
            }
            if directives {
                if let (Some(directive), Some(item)) = (directive, account["secrets"].get_mut(0)) {
                    item["$patch"] = json!(directive);
                }
                if let Some(order) = order {
                    account["metadata"]["$setElementOrder/finalizers"] = json!(order);
                }
                if flag {
                    account["automountServiceAccountToken"] = Value::Null;
                }
            }
            account
        },
    )
}

proptest! {
    #[test]
    fn a_patch_is_idempotent_and_leaves_no_directive(before in accounts(false), patch in accounts(true)) {
        if let Ok(after) = patched("ServiceAccount", &before, &patch) {
            prop_assert!(!after.to_string().contains('$'), "{after}");
            if let Ok(again) = patched("ServiceAccount", &after, &patch) {
                prop_assert_eq!(again, after);
            }
        }
    }

    #[test]
    fn an_object_is_a_patch_that_changes_nothing(before in accounts(false)) {
        prop_assert_eq!(patched("ServiceAccount", &before, &before).unwrap(), before);
    }

    #[test]
    fn arbitrary_patches_never_panic(text in "[\\[\\]{}:,\"$a-z/]{0,60}") {
        let _ = strategic_merge_patch(&kind("ConfigMap"), json!({"data": {}}), text.as_bytes(), Checks::On);
    }
}

#[test]
fn an_undeclared_object_cannot_be_merged() {
    let fields = |value: Value| value.as_object().cloned().unwrap();
    let merged = merge(fields(json!({"x": {"a": 1}})), fields(json!({"x": {"b": 1}})), Structure::default());
    assert_eq!(merged.unwrap_err().code, 500);
}
