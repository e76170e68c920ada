//! Objects against schemas, with the answers of a real server.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]
#![allow(clippy::needless_pass_by_value, reason = "literals of JSON are handed over")]

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::{Checker, ScalePaths, Schema, embedded};

fn checker(spec: Value) -> Checker {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    Checker::new(&serde_json::from_value::<Schema>(schema).unwrap())
}

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn created(spec: Value, value: Value) -> Vec<String> {
    texts(&checker(spec).validate(&json!({"spec": value}), None, Vec::new()).errors)
}

fn updated(spec: Value, old: Value, new: Value) -> Vec<String> {
    texts(&checker(spec).validate(&json!({"spec": new}), Some(&json!({"spec": old})), Vec::new()).errors)
}

#[test]
fn each_keyword_is_validated() {
    for (schema, value, expected) in [
        (
            json!({"type": "integer"}),
            json!("a"),
            "spec: Invalid value: \"string\": spec in body must be of type integer: \"string\"",
        ),
        (
            json!({"type": "string", "maxLength": 1}),
            json!("ab"),
            "spec: Too long: may not be more than 1 bytes",
        ),
        (
            json!({"type": "string", "minLength": 3}),
            json!("é"),
            "spec: Invalid value: \"é\": spec in body should be at least 3 chars long",
        ),
        (
            json!({"type": "string", "pattern": "^a"}),
            json!("b"),
            "spec: Invalid value: \"b\": spec in body should match '^a'",
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!("b"),
            "spec: Invalid value: \"b\": spec in body must be of type date: \"b\"",
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            "spec: Unsupported value: \"c\": supported values: \"a\", \"b\"",
        ),
        (
            json!({"type": "integer", "minimum": 2}),
            json!(1),
            "spec: Invalid value: 1: spec in body should be greater than or equal to 2",
        ),
        (
            json!({"type": "number", "maximum": 1e6, "exclusiveMaximum": true}),
            json!(1e6),
            "spec: Invalid value: 1000000.0: spec in body should be less than 1000000",
        ),
        (
            json!({"type": "integer", "multipleOf": 2}),
            json!(3),
            "spec: Invalid value: 3: spec in body should be a multiple of 2",
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_i64),
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec",
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 1}),
            json!([]),
            "spec: Invalid value: 0: spec in body should have at least 1 items",
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}, "maxItems": 1}),
            json!([1, 2]),
            "spec: Too many: 2: must have at most 1 items",
        ),
        (json!({"type": "object", "required": ["a"]}), json!({}), "spec.a: Required value"),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"a": 1}),
            "spec: Invalid value: \"a\": spec.a in body is a forbidden property",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 0}),
            json!({"a": "b"}),
            "spec: Too many: 1: must have at most 0 items",
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            "spec: Invalid value: \"boolean\": spec in body must be of type integer,string: \"boolean\"",
        ),
        (
            json!({"type": "object", "not": {"required": ["a"]}}),
            json!({"a": 1}),
            "<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)",
        ),
    ] {
        assert_eq!(created(schema, value), [expected]);
    }
}

#[test]
fn valid_values_pass() {
    for (schema, value) in [
        (json!({"type": "integer"}), json!(1.0)),
        (json!({"type": "number"}), json!(1)),
        (json!({"type": "string", "nullable": true}), json!(null)),
        (json!({"type": "string", "format": "uint16"}), json!("x")),
        (json!({"x-kubernetes-int-or-string": true}), json!("5%")),
        (json!({"x-kubernetes-preserve-unknown-fields": true}), json!({"a": [null]})),
        (json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({"a": 1})),
    ] {
        assert_eq!(created(schema, value), [""; 0]);
    }
}

#[test]
fn the_best_of_several_failed_alternatives_is_reported() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}},
        "oneOf": [{"required": ["q", "r"]}, {"required": ["x"], "properties": {"x": {"minimum": 3}}}]});
    assert_eq!(
        created(schema, json!({"x": 1})),
        [
            "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found none valid",
            "spec.x: Invalid value: 1: spec.x in body should be greater than or equal to 3",
        ]
    );
}

#[test]
fn invalid_but_unchanged_values_are_tolerated() {
    let minimum = json!({"type": "object", "properties": {"x": {"type": "integer", "minimum": 5}, "y": {"type": "string"}}});
    let good: [&str; 0] = [];
    assert_eq!(updated(minimum.clone(), json!({"x": 1, "y": "a"}), json!({"x": 1, "y": "b"})), good);
    assert_eq!(updated(minimum, json!({"x": 1}), json!({"x": 2})).len(), 1);

    let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "integer", "minimum": 2}}}});
    let old = json!([{"name": "a", "v": 1}, {"name": "b", "v": 0}]);
    assert_eq!(updated(list.clone(), old.clone(), json!([{"name": "c"}, {"name": "b", "v": 0}])), good);
    assert_eq!(updated(list, old, json!([{"name": "a", "v": 0}])).len(), 1);

    let atomic = json!({"type": "array", "items": {"type": "integer", "minimum": 5}});
    assert_eq!(updated(atomic.clone(), json!([1]), json!([1])), good);
    assert_eq!(updated(atomic, json!([1]), json!([1, 9])).len(), 1);
}

#[test]
fn items_of_sets_and_keys_of_maps_are_unique() {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    assert_eq!(created(set.clone(), json!(["a", "a", "a", "b"])), ["spec[1]: Duplicate value: \"a\""]);
    assert_eq!(updated(set, json!(["a", "a"]), json!(["b", "b"])), [""; 0]);
    let map = json!({"type": "object", "additionalProperties": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["n", "p"], "items": {"type": "object", "additionalProperties": {"type": "integer"}}}});
    assert_eq!(
        created(map, json!({"k": [{"n": 1, "p": 2}, {"n": 1, "p": 3}, {"n": 1, "p": 2}]})),
        ["spec[k][2]: Duplicate value: {\"n\":1,\"p\":2}"]
    );
}

#[test]
fn embedded_resources_need_a_type_and_valid_metadata() {
    let schema = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(
        created(schema.clone(), json!({})),
        ["spec.apiVersion: Required value", "spec.kind: Required value"]
    );
    let checker = checker(schema);
    let resource =
        |metadata: Value| json!({"spec": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}});
    let mut object = resource(json!({"name": "a/b", "bogus": 1, "labels": {}}));
    assert_eq!(embedded::coerce_embedded(checker.schema(), &mut object).unwrap(), ["spec.metadata.bogus"]);
    assert_eq!(object, resource(json!({"name": "a/b"})));
    assert_eq!(
        texts(&checker.validate(&object, None, Vec::new()).errors),
        ["spec.metadata.name: Invalid value: \"a/b\": may not contain '/'"]
    );
    let problem = embedded::coerce_embedded(checker.schema(), &mut resource(json!({"name": 5}))).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "spec.metadata: Invalid value: {\"name\":5}: spec.metadata.name: expected string, got number"
    );
}

#[test]
fn rules_are_evaluated_unless_a_value_is_missing_or_of_a_wrong_type() {
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": "true"}],
        "properties": {"a": {"type": "string", "pattern": "^a"}}});
    let checker = checker(schema);
    let validation = |value: Value| checker.validate(&json!({"spec": value}), None, Vec::new());
    assert!(validation(json!({"a": "b"})).cel);
    let blocked = validation(json!({"a": 5}));
    assert!(!blocked.cel);
    assert_eq!(
        texts(&blocked.errors)[1],
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the \
         existing errors to complete validation"
    );
}

#[test]
fn a_status_is_validated_alone() {
    let schema: Schema = serde_json::from_value(json!({"type": "object", "properties": {
        "spec": {"type": "integer"}, "status": {"type": "object", "properties": {"n": {"type": "integer"}}}}}))
    .unwrap();
    let checker = Checker::new(&schema);
    let object = json!({"spec": "wrong", "status": {"n": "x"}});
    assert_eq!(
        texts(&checker.validate_status(&object, &json!({}), Vec::new()).errors),
        ["status.n: Invalid value: \"string\": n in body must be of type integer: \"string\""]
    );
}

#[test]
fn the_scale_subresource_needs_numbers() {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let scale = ScalePaths {
        spec_replicas: ".spec.n".to_owned(),
        status_replicas: ".status.n".to_owned(),
        label_selector: None,
    };
    let checker = checker(schema).with_scale(scale);
    for (value, expected) in [
        (json!({"n": 1}), vec![]),
        (json!({"n": -1}), vec![".spec.n: Invalid value: -1: should be a non-negative integer"]),
        (json!({"n": "x"}), vec![".spec.n: Invalid value: 0: expected integer, got string"]),
        (json!(5), vec![".spec.n: Invalid value: 0: expected object, got number"]),
    ] {
        let errors = checker.validate(&json!({"spec": value}), None, Vec::new()).errors;
        let found: Vec<String> =
            errors.iter().filter(|error| error.field == ".spec.n").map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }
}
