#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use serde_json::{Value, json};

use super::{
    rules::{dns1035_label, dns1123_label, dns1123_subdomain, path_segment_name, path_segment_prefix},
    shape::ObjectMeta,
    *,
};

fn validate(meta: &Value) -> Vec<String> {
    validate_object_meta(meta, true, NameRule::Dns1123Subdomain, "metadata")
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn validate_update(new: &Value, old: &Value) -> Vec<String> {
    validate_object_meta_update(new, old, "metadata").iter().map(ToString::to_string).collect()
}

fn decoded(meta: Value) -> Result<ObjectMeta, String> {
    decode_object_meta(meta, MetaOf::Custom, "metadata")
}

/// A valid object with some fields replaced.
fn with(fields: Value) -> Value {
    let mut meta = json!({"name": "a", "namespace": "n", "resourceVersion": "1"});
    if let (Value::Object(meta), Value::Object(fields)) = (&mut meta, fields) {
        meta.extend(fields);
    }
    meta
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                         '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
                         for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
                    is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

#[test]
fn names_are_validated_by_their_rule() {
    assert_eq!(dns1123_subdomain("a.b-c.1"), [""; 0]);
    assert_eq!(dns1123_subdomain("A"), [SUBDOMAIN]);
    assert_eq!(dns1123_subdomain(&"a".repeat(254)), ["must be no more than 253 characters"]);
    assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
    assert_eq!(dns1123_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
    assert!(dns1035_label("1a")[0].starts_with("a DNS-1035 label must consist of"));
    assert_eq!(dns1035_label("a1"), [""; 0]);
    assert_eq!(path_segment_name(".."), ["may not be '..'"]);
    assert_eq!(path_segment_name("a/b%"), ["may not contain '/'", "may not contain '%'"]);
    assert_eq!(path_segment_prefix(".."), [""; 0]);
}

#[test]
fn qualified_names_are_checked_in_both_parts() {
    assert_eq!(qualified_name("example.com/My_Name"), [""; 0]);
    assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
    assert_eq!(qualified_name("A/a"), [format!("prefix part {SUBDOMAIN}")]);
    assert_eq!(qualified_name(""), ["name part must be non-empty".to_owned(), format!("name part {NAME}")]);
    assert_eq!(qualified_name(&"a".repeat(64)), ["name part must be no more than 63 bytes"]);
    assert!(qualified_name("a/b/c")[0].starts_with("a valid label key must consist of"));
    assert_eq!(label_value(""), [""; 0]);
    assert_eq!(label_value(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    assert!(label_value("a b")[0].starts_with("a valid label must be an empty string or consist of"));
}

#[test]
fn a_prefix_may_end_with_a_dash() {
    for rule in [NameRule::Dns1123Subdomain, NameRule::Dns1123Label] {
        assert_eq!(rule.check_prefix("ab-"), [""; 0]);
        assert_eq!(rule.check_prefix("-").len(), 1);
        assert_eq!(rule.check("ab-").len(), 1);
    }
    assert_eq!(NameRule::PathSegment.check_prefix("."), [""; 0]);
}

#[test]
fn metadata_of_a_new_object_is_validated() {
    assert_eq!(validate(&with(json!({}))), [""; 0]);
    for (fields, message) in [
        (json!({"name": ""}), "metadata.name: Required value: name or generateName is required".to_owned()),
        (json!({"name": "A"}), format!("metadata.name: Invalid value: \"A\": {SUBDOMAIN}")),
        (json!({"generateName": "A_"}), format!("metadata.generateName: Invalid value: \"A_\": {SUBDOMAIN}")),
        (json!({"namespace": ""}), "metadata.namespace: Required value".to_owned()),
        (
            json!({"namespace": "a.b"}),
            "metadata.namespace: Invalid value: \"a.b\": must not contain dots".to_owned(),
        ),
        (
            json!({"generation": -1}),
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0".to_owned(),
        ),
        (json!({"labels": {"_": ""}}), format!("metadata.labels: Invalid value: \"_\": name part {NAME}")),
        (
            json!({"annotations": {"_": ""}}),
            format!("metadata.annotations: Invalid value: \"_\": name part {NAME}"),
        ),
        (
            json!({"annotations": {"a": "x".repeat(262_144)}}),
            "metadata.annotations: Too long: may not be more than 262144 bytes".to_owned(),
        ),
        (
            json!({"finalizers": ["_"]}),
            format!("metadata.finalizers: Invalid value: \"_\": name part {NAME}"),
        ),
        (
            json!({"finalizers": ["orphan", "foregroundDeletion"]}),
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and \
             foregroundDeletion cannot be both set"
                .to_owned(),
        ),
        (
            json!({"managedFields": [{"operation": "X"}]}),
            "metadata.managedFields[0].operation: Invalid value: \"X\": must be `Apply` or `Update`"
                .to_owned(),
        ),
        (
            json!({"managedFields": [{"operation": "Apply", "manager": "m".repeat(129)}]}),
            "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes".to_owned(),
        ),
    ] {
        assert_eq!(validate(&with(fields.clone())), [message], "{fields}");
    }
    let cluster = validate_object_meta(&with(json!({})), false, NameRule::PathSegment, "metadata");
    assert_eq!(cluster[0].to_string(), "metadata.namespace: Forbidden: not allowed on this type");
}

#[test]
fn the_case_of_annotation_keys_does_not_matter() {
    assert_eq!(validate(&with(json!({"annotations": {"Example.com/A": ""}}))), [""; 0]);
    assert_eq!(validate(&with(json!({"labels": {"Example.com/A": ""}}))).len(), 1);
}

#[test]
fn owner_references_are_validated() {
    let owner = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": "u", "controller": true});
    assert_eq!(validate(&with(json!({"ownerReferences": [owner("Pod", "p")]}))), [""; 0]);
    assert_eq!(
        validate(&with(json!({"ownerReferences": [{}]}))),
        [
            "metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty",
            "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
            "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
            "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
        ]
    );
    assert_eq!(
        validate(&with(json!({"ownerReferences": [owner("A", "a"), owner("B", "b")]}))),
        [
            "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"A\",\"name\":\"a\",\
          \"uid\":\"u\"},{\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"B\",\"name\":\"b\",\"uid\":\"u\"}]: \
          Only one reference can have Controller set to true. Found \"true\" in references for A/a and B/b"
        ]
    );
    assert_eq!(
        validate(&with(json!({"ownerReferences": [owner("Event", "e")]}))),
        [
            "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"Event\",\
          \"name\":\"e\",\"uid\":\"u\"}: /v1, Kind=Event is disallowed from being an owner"
        ]
    );
}

#[test]
fn an_update_cannot_change_the_identity() {
    let old = with(json!({"uid": "u", "generation": 2, "creationTimestamp": "2024-01-01T00:00:00Z"}));
    assert_eq!(validate_update(&old, &old), [""; 0]);
    for (field, value, message) in [
        ("name", json!("b"), "metadata.name: Invalid value: \"b\": field is immutable"),
        ("namespace", json!("b"), "metadata.namespace: Invalid value: \"b\": field is immutable"),
        ("uid", json!("b"), "metadata.uid: Invalid value: \"b\": field is immutable"),
        (
            "creationTimestamp",
            Value::Null,
            "metadata.creationTimestamp: Invalid value: null: field is immutable",
        ),
        (
            "deletionTimestamp",
            json!("2024-01-01T00:00:00Z"),
            "metadata.deletionTimestamp: Invalid value: \"2024-01-01T00:00:00Z\": field is immutable",
        ),
        (
            "deletionGracePeriodSeconds",
            json!(5),
            "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
        ),
        ("generation", json!(1), "metadata.generation: Invalid value: 1: must not be decremented"),
        (
            "resourceVersion",
            json!(""),
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
        ),
    ] {
        let mut new = old.clone();
        new[field] = value;
        assert_eq!(validate_update(&new, &old), [message]);
    }
}

#[test]
fn finalizers_cannot_be_added_to_a_terminating_object() {
    let live = with(json!({"finalizers": ["a/b"]}));
    let added = with(json!({"finalizers": ["a/b", "y/y", "x/x"]}));
    assert_eq!(validate_update(&added, &live), [""; 0]);
    let deleting = |mut meta: Value| {
        meta["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
        meta
    };
    assert_eq!(
        validate_update(&deleting(added), &deleting(live.clone())),
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
          finalizers \"x/x\", \"y/y\""
        ]
    );
    assert_eq!(validate_update(&deleting(with(json!({}))), &deleting(live)), [""; 0]);
}

#[test]
fn unknown_fields_of_metadata_are_dropped_and_reported() {
    let meta = decoded(json!({
        "name": "a", "foo": 1, "Labels": {}, "labels": {"x": null}, "annotations": {}, "generation": 1.0,
        "creationTimestamp": "2024-01-01T02:00:00+02:00", "deletionGracePeriodSeconds": 0,
        "ownerReferences": [{"apiVersion": "v1", "bar": 1}], "managedFields": [{"fieldsV1": {}, "time": null}],
    }))
    .unwrap();
    assert_eq!(
        meta.value,
        json!({
            "name": "a", "labels": {"x": ""}, "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 0, "managedFields": [{"fieldsV1": {}}],
            "ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}],
        })
    );
    assert_eq!(meta.unknown, ["metadata.Labels", "metadata.foo", "metadata.ownerReferences[0].bar"]);
    assert_eq!(decoded(Value::Null).unwrap().value, json!({}));
}

#[test]
fn a_wrong_type_is_refused_with_its_path() {
    for (meta, problem) in [
        (json!({"labels": {"a": 1}}), "metadata.labels: expected string, got number"),
        (json!({"labels": []}), "metadata.labels: expected object, got array"),
        (json!({"uid": 5}), "metadata.uid: expected string, got number"),
        (json!({"finalizers": [1]}), "metadata.finalizers: expected string, got number"),
        (
            json!({"deletionGracePeriodSeconds": 1.5}),
            "metadata.deletionGracePeriodSeconds: expected integer, got 1.5",
        ),
        (
            json!({"managedFields": [{"manager": 1}]}),
            "metadata.managedFields[0].manager: expected string, got number",
        ),
        (json!({"creationTimestamp": "x"}), "metadata.creationTimestamp: \"x\" is not an RFC 3339 time"),
        (json!("x"), "metadata: expected object, got string"),
    ] {
        assert_eq!(decoded(meta).unwrap_err(), problem);
    }
    assert_eq!(
        decode_object_meta(json!({"generation": 1.0}), MetaOf::BuiltIn, "metadata").unwrap_err(),
        "metadata.generation: expected integer, got 1.0"
    );
}

#[test]
fn times_are_stored_in_utc_and_whole_seconds() {
    for (text, utc) in [
        ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"),
        ("2024-03-01T00:30:00.999+01:00", "2024-02-29T23:30:00Z"),
        ("2023-12-31T23:00:00-02:30", "2024-01-01T01:30:00Z"),
    ] {
        assert_eq!(parse_time(text), Ok(Some(utc.to_owned())));
    }
    assert_eq!(parse_time("0001-01-01T00:00:00Z"), Ok(None));
}
