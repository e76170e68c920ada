//! Definitions, with the answers of a real server.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]
#![allow(clippy::needless_pass_by_value, reason = "literals of JSON are handed over")]

use std::cell::RefCell;

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::{RulePlace, RuleTask, decode, fill_defaults, validate, warnings};

fn crd(schema: Value) -> Value {
    let mut crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    fill_defaults(&mut crd);
    crd
}

fn with(mut crd: Value, pointer: &str, value: Value) -> Value {
    *crd.pointer_mut(pointer).unwrap() = value;
    crd
}

fn no_rules(_: &RulePlace<'_>) -> Vec<FieldError> {
    Vec::new()
}

fn problems(crd: &Value, old: Option<&Value>) -> Vec<String> {
    validate(crd, old, &no_rules).iter().map(ToString::to_string).collect()
}

fn of_field(field: Value) -> Vec<String> {
    let found = problems(&crd(json!({"type": "object", "properties": {"a": field}})), None);
    let prefix = "spec.validation.openAPIV3Schema.properties[a]";
    found.iter().map(|text| text.replacen(prefix, "a", 1)).collect()
}

#[test]
fn valid_definitions_have_no_errors() {
    for field in [
        json!({"type": "string", "pattern": "^[a-z]+$", "default": "a"}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}}),
        json!({"type": "object", "properties": {"x": {"type": "integer"}}, "oneOf": [{"required": ["x"]}],
            "default": {"x": 1}}),
        json!({"type": null, "x-kubernetes-preserve-unknown-fields": true}),
    ] {
        assert_eq!(of_field(field), [""; 0]);
    }
}

#[test]
fn invalid_schemas_are_refused_with_the_path_of_the_keyword() {
    for (field, expected) in [
        (json!({}), "a.type: Required value: must not be empty for specified object fields"),
        (json!({"type": "array"}), "a.items: Required value: must be specified"),
        (
            json!({"type": "object", "allOf": [{"type": "string"}]}),
            "a.allOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            json!({"type": "string", "pattern": "a(?=b)"}),
            "a.pattern: Invalid value: \"a(?=b)\": must be a valid regular expression, but isn't: invalid regular expression: invalid or unsupported Perl syntax",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}, "properties": {"x": {"type": "string"}}}),
            "a.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            json!({"type": "object", "patternProperties": {"x": {}}}),
            "a.patternProperties: Forbidden: patternProperties is not supported",
        ),
        (json!({"type": "string", "$ref": "#/x"}), "a.$ref: Forbidden: $ref is not supported"),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            "a.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            json!({"type": "integer", "default": "x"}),
            "a.default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
        ),
        (
            json!({"type": "object", "default": {"x": 1}}),
            "a.default: Invalid value: {\"x\":1}: must not have unknown fields",
        ),
        (
            json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}),
            "a.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}}),
            "a.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
        (
            json!({"type": "string", "x-kubernetes-map-type": "atomic"}),
            "a.type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
        ),
        (
            json!({"type": "object", "x-kubernetes-validations": [{"rule": " "}]}),
            "a.x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
    ] {
        assert_eq!(of_field(field), [expected]);
    }
}

#[test]
fn metadata_may_only_restrict_names() {
    let of = |metadata: Value| {
        problems(&crd(json!({"type": "object", "properties": {"metadata": metadata}})), None)
    };
    assert!(
        of(json!({"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}})).is_empty()
    );
    assert_eq!(
        of(json!({"type": "object", "properties": {"labels": {"type": "object"}}})),
        [
            "spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and \
          generateName, but metadata is implicitly specified"
        ]
    );
}

#[test]
fn the_parts_beside_the_schema_are_validated() {
    let good = crd(
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"s": {"type": "string"}}}}}),
    );
    for (pointer, value, expected) in [
        (
            "/metadata/name",
            json!("x.example.com"),
            "metadata.name: Invalid value: \"x.example.com\": must be spec.names.plural+\".\"+spec.group",
        ),
        (
            "/spec/scope",
            json!("Global"),
            "spec.scope: Unsupported value: \"Global\": supported values: \"Cluster\", \"Namespaced\"",
        ),
        (
            "/spec/conversion/strategy",
            json!("Webhook"),
            "spec.conversion.strategy: Forbidden: this server does not call conversion webhooks, use None",
        ),
        (
            "/spec/names/listKind",
            json!("Foo"),
            "spec.names.listKind: Invalid value: \"Foo\": kind and listKind may not be the same",
        ),
    ] {
        assert_eq!(problems(&with(good.clone(), pointer, value), None), [expected]);
    }
    for (field, value, expected) in [
        (
            "subresources",
            json!({"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".status.n"}}),
            "spec.subresources.scale.specReplicasPath: Invalid value: \".x\": should be a json path under .spec",
        ),
        (
            "additionalPrinterColumns",
            json!([{"name": "a", "type": "text", "jsonPath": ".a"}]),
            "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string",
        ),
        (
            "selectableFields",
            json!([{"jsonPath": ".spec.x"}]),
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec.x\": is an invalid path: does not refer to a valid field",
        ),
        (
            "deprecationWarning",
            json!("old"),
            "spec.versions[0].deprecationWarning: Invalid value: \"old\": can only be set for deprecated versions",
        ),
    ] {
        let mut changed = good.clone();
        changed["spec"]["versions"][0][field] = value;
        assert_eq!(problems(&changed, None), [expected]);
    }
}

#[test]
fn exactly_one_version_is_stored() {
    let mut two = crd(json!({"type": "object"}));
    two["spec"]["versions"][0]["storage"] = json!(false);
    assert_eq!(
        problems(&two, None),
        [
            "spec.versions: Invalid value: must have exactly one version marked as storage version",
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ]
    );
}

#[test]
fn protected_groups_need_approval() {
    let mut protected = crd(json!({"type": "object"}));
    protected["spec"]["group"] = json!("x.k8s.io");
    protected["metadata"]["name"] = json!("foos.x.k8s.io");
    let missing = problems(&protected, None);
    assert!(
        missing[0].starts_with(
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups"
        )
    );
    assert!(problems(&protected, Some(&protected)).is_empty());
    protected["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    assert!(problems(&protected, None).is_empty());
}

#[test]
fn established_names_and_stored_versions_are_immutable() {
    let mut old = crd(json!({"type": "object"}));
    old["status"] =
        json!({"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]});
    assert_eq!(
        problems(&with(old.clone(), "/spec/scope", json!("Cluster")), Some(&old)),
        ["spec.scope: Invalid value: \"Cluster\": field is immutable"]
    );
    let renamed = problems(&with(old.clone(), "/spec/versions/0/name", json!("v2")), Some(&old));
    assert_eq!(renamed.len(), 1);
    assert!(
        renamed[0].starts_with(
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was"
        )
    );
}

#[test]
fn a_wrong_type_cannot_be_decoded() {
    for (schema, expected) in [
        (
            json!({"type": ["string"]}),
            "spec.versions.schema.openAPIV3Schema.type: expected string, got array",
        ),
        (
            json!({"properties": {"a": {"minLength": 1.5}}}),
            "spec.versions.schema.openAPIV3Schema.properties.minLength: expected integer, got 1.5",
        ),
        (json!({"additionalProperties": 5}), "boolean or JSON schema expected"),
    ] {
        assert_eq!(decode(&crd(schema)).unwrap_err(), expected);
    }
}

#[test]
fn rules_are_checked_with_their_path() {
    let rule = json!([{"rule": "self.size() < 5"}]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "maxItems": 3, "items":
        {"type": "object", "maxProperties": 4, "additionalProperties": {"type": "string", "default": "x", "x-kubernetes-validations": rule}}}},
        "x-kubernetes-validations": [{"rule": "true"}]});
    let seen = RefCell::new(Vec::new());
    let ask = |place: &RulePlace<'_>| {
        if let RuleTask::Compile = place.task {
            seen.borrow_mut().push((place.path.len(), place.uncorrelatable.map(str::to_owned)));
        }
        vec![FieldError::required(place.path, "asked")]
    };
    let found = validate(&crd(schema), None, &ask);
    let root = "spec.validation.openAPIV3Schema";
    let deep = format!("{root}.properties[a].items.additionalProperties");
    assert_eq!(*seen.borrow(), [(deep.len(), Some(format!("{root}.properties[a]"))), (root.len(), None),]);
    assert_eq!(found.iter().map(|error| error.field.clone()).collect::<Vec<_>>(), [deep, root.to_owned()]);
}

#[test]
fn an_unknown_format_causes_one_warning() {
    let new = crd(json!({"type": "object", "properties": {
        "a": {"type": "integer", "format": "uint16"}, "b": {"type": "integer", "format": "uint16"},
        "c": {"type": "string", "format": "date"}}}));
    assert_eq!(warnings(&new, None), ["unrecognized format \"uint16\""]);
    assert!(warnings(&new, Some(&new)).is_empty());
}
