#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

fn thing(schema: Value) -> Kind {
    Kind {
        group: "score.dev".to_owned(),
        version: "v1".to_owned(),
        plural: "things".to_owned(),
        kind: "Thing".to_owned(),
        list_kind: "ThingList".to_owned(),
        namespaced: true,
        status: true,
        custom: true,
        schema: std::sync::Arc::new(serde_json::from_value(schema).unwrap()),
        ..Kind::default()
    }
}

fn builtin(group: &str, plural: &str, kind: &str, namespaced: bool) -> Kind {
    Kind {
        group: group.to_owned(),
        plural: plural.to_owned(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        namespaced,
        custom: false,
        ..thing(json!({}))
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The published form of one field of a custom kind.
fn published(field: &Value) -> Value {
    let kind = thing(json!({ "type": "object", "properties": { "field": field } }));
    let document = document("score.dev", "v1", &[&kind]);
    document["components"]["schemas"]["dev.score.v1.Thing"]["properties"]["field"].clone()
}

fn references(node: &Value, found: &mut BTreeSet<String>) {
    match node {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn the_index_names_each_document_with_its_hash() {
    let index = index(&[("apis/score.dev/v1".to_owned(), "AB".to_owned())]);
    let url = "/openapi/v3/apis/score.dev/v1?hash=AB";
    assert_eq!(index, json!({ "paths": { "apis/score.dev/v1": { "serverRelativeURL": url } } }));
}

#[test]
fn a_namespaced_kind_has_paths_with_and_without_a_namespace() {
    let paths = document("score.dev", "v1", &[&thing(json!({}))])["paths"].clone();
    assert_eq!(
        keys(&paths),
        [
            "/apis/score.dev/v1/namespaces/{namespace}/things",
            "/apis/score.dev/v1/namespaces/{namespace}/things/{name}",
            "/apis/score.dev/v1/namespaces/{namespace}/things/{name}/status",
            "/apis/score.dev/v1/things",
        ]
    );
    let object = &paths["/apis/score.dev/v1/namespaces/{namespace}/things/{name}"];
    assert_eq!(keys(object), ["delete", "get", "parameters", "patch", "put"]);
    assert_eq!(keys(&paths["/apis/score.dev/v1/things"]), ["get", "parameters"]);
}

#[test]
fn a_cluster_scoped_kind_without_status_has_two_paths() {
    let kind = Kind { namespaced: false, status: false, ..thing(json!({})) };
    let paths = document("score.dev", "v1", &[&kind])["paths"].clone();
    assert_eq!(keys(&paths), ["/apis/score.dev/v1/things", "/apis/score.dev/v1/things/{name}"]);
    assert_eq!(keys(&paths["/apis/score.dev/v1/things"]), ["delete", "get", "parameters", "post"]);
}

#[test]
fn only_built_in_kinds_list_strategic_merge_patch() {
    let patches = |kind: &Kind, path: &str| {
        let patch = document(&kind.group, "v1", &[kind])["paths"][path]["patch"].clone();
        assert!(patch["parameters"].as_array().unwrap().iter().any(|one| one["name"] == "fieldValidation"));
        patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_some()
    };
    let path = "/apis/score.dev/v1/namespaces/{namespace}/things/{name}";
    assert!(!patches(&thing(json!({})), path));
    let path = "/api/v1/namespaces/{namespace}/configmaps/{name}";
    assert!(patches(&builtin("", "configmaps", "ConfigMap", true), path));
}

#[test]
fn namespaces_have_no_delete_collection() {
    let kind = builtin("", "namespaces", "Namespace", false);
    let paths = document("", "v1", &[&kind])["paths"].clone();
    assert_eq!(keys(&paths["/api/v1/namespaces"]), ["get", "parameters", "post"]);
}

#[test]
fn every_reference_in_a_document_resolves() {
    for kind in [
        thing(json!({})),
        builtin("", "secrets", "Secret", true),
        builtin("events.k8s.io", "events", "Event", true),
        builtin("coordination.k8s.io", "leases", "Lease", true),
        builtin("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", false),
    ] {
        let document = document(&kind.group, "v1", &[&kind]);
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 10);
        for reference in found {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
    }
}

#[test]
fn a_document_has_only_the_built_in_components_it_needs() {
    let kind = builtin("", "configmaps", "ConfigMap", true);
    let document = document("", "v1", &[&kind]);
    let names = keys(&document["components"]["schemas"]);
    assert!(names.contains(&"io.k8s.api.core.v1.ConfigMapList"));
    assert!(!names.contains(&"io.k8s.api.core.v1.Secret"));
}

#[test]
fn an_int_or_string_lists_its_types() {
    let types = json!([{ "type": "integer" }, { "type": "string" }]);
    let alternatives = json!([{ "minimum": 1 }, { "pattern": "a" }]);
    for (given, any_of, all_of) in [
        (json!({}), &types, Value::Null),
        (json!({ "anyOf": types }), &types, Value::Null),
        (json!({ "anyOf": alternatives }), &alternatives, json!([{ "anyOf": types }])),
        (json!({ "allOf": [{ "anyOf": types }] }), &Value::Null, json!([{ "anyOf": types }])),
    ] {
        let mut field = given.clone();
        field["x-kubernetes-int-or-string"] = json!(true);
        let published = published(&field);
        assert_eq!((&published["anyOf"], &published["allOf"]), (any_of, &all_of), "{given}");
    }
}

#[test]
fn an_embedded_resource_has_the_fields_of_every_object() {
    let published = published(&json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "required": ["spec"],
        "properties": { "spec": { "type": "object" } },
    }));
    assert_eq!(keys(&published["properties"]), ["apiVersion", "kind", "metadata", "spec"]);
    assert_eq!(published["required"], json!(["spec", "kind", "apiVersion"]));
}

#[test]
fn whole_numbers_have_no_fraction() {
    let published =
        published(&json!({ "type": "number", "default": 1.0, "enum": [1.0, 2.5], "minimum": 0.0 }));
    assert_eq!(published, json!({ "type": "number", "default": 1, "enum": [1, 2.5], "minimum": 0 }));
}

#[test]
fn metadata_has_the_descriptions_of_the_api() {
    let kind = Kind {
        selectable: vec![".spec.name".to_owned()],
        ..thing(
            json!({ "type": "object", "properties": { "metadata": { "type": "object", "description": "mine" } } }),
        )
    };
    let document = document("score.dev", "v1", &[&kind]);
    let schema = &document["components"]["schemas"]["dev.score.v1.Thing"];
    let reference = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(schema["properties"]["metadata"]["allOf"], json!([{ "$ref": reference }]));
    assert_eq!(schema["x-kubernetes-selectable-fields"], json!([{ "fieldPath": "spec.name" }]));
    assert_eq!(
        schema["x-kubernetes-group-version-kind"],
        json!([{ "group": "score.dev", "version": "v1", "kind": "Thing" }])
    );
}
