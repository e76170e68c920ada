//! Published schema of a custom kind.
//!
//! The schema of the CRD with three additions that clients rely on: an int-or-string lists its types, an embedded
//! resource has the fields of every object, and the object itself has `apiVersion`, `kind` and `metadata` with the
//! texts of the API.

use serde_json::{Map, Value, json};

use super::names;
use crate::kinds::Kind;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// The component of a kind.
pub(super) fn object(kind: &Kind) -> Value {
    let mut root = match serde_json::to_value(&*kind.schema) {
        Ok(Value::Object(root)) => root,
        _ => Map::new(),
    };
    publish(&mut root);
    add_properties(
        &mut root,
        [("apiVersion", api_version()), ("kind", type_name()), ("metadata", metadata())],
    );
    identify(&mut root, kind, &kind.kind);
    let mut root = Value::Object(root);
    plain_numbers(&mut root);
    root
}

/// The component of the lists of a kind; `item` is the component name of the kind.
pub(super) fn list(kind: &Kind, item: &str) -> Value {
    let mut root = Map::new();
    root.insert("description".to_owned(), json!(format!("{} is a list of {}", kind.list_kind, kind.kind)));
    root.insert("type".to_owned(), json!("object"));
    root.insert("required".to_owned(), json!(["items"]));
    root.insert(
        "properties".to_owned(),
        json!({
            "apiVersion": api_version(),
            "items": {
                "description": format!("List of {}. More info: {CONVENTIONS}", kind.plural),
                "type": "array",
                "items": { "$ref": names::reference(item) },
            },
            "kind": type_name(),
            "metadata": {
                "description": format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds"),
                "allOf": [{ "$ref": names::reference(LIST_META) }],
            },
        }),
    );
    identify(&mut root, kind, &kind.list_kind);
    Value::Object(root)
}

/// Adds the group, version and kind of a component, and its selectable fields.
fn identify(root: &mut Map<String, Value>, kind: &Kind, name: &str) {
    root.insert(
        "x-kubernetes-group-version-kind".to_owned(),
        json!([{ "group": kind.group, "version": kind.version, "kind": name }]),
    );
    if !kind.selectable.is_empty() {
        let fields: Vec<Value> = kind
            .selectable
            .iter()
            .map(|path| json!({ "fieldPath": path.strip_prefix('.').unwrap_or(path) }))
            .collect();
        root.insert("x-kubernetes-selectable-fields".to_owned(), Value::Array(fields));
    }
}

fn api_version() -> Value {
    json!({
        "description": format!(
            "APIVersion defines the versioned schema of this representation of an object. Servers should convert \
             recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
             {CONVENTIONS}#resources"
        ),
        "type": "string",
    })
}

fn type_name() -> Value {
    json!({
        "description": format!(
            "Kind is a string value representing the REST resource this object represents. Servers may infer this \
             from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
             {CONVENTIONS}#types-kinds"
        ),
        "type": "string",
    })
}

fn metadata() -> Value {
    json!({
        "description": format!("Standard object's metadata. More info: {CONVENTIONS}#metadata"),
        "allOf": [{ "$ref": names::reference(OBJECT_META) }],
    })
}

/// Converts a node, and all value schemas below it, to the published form.
fn publish(node: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = node.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(publish);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = node.get_mut(key) {
            publish(below);
        }
    }
    if is_true(node, "x-kubernetes-int-or-string") {
        list_int_or_string_types(node);
    }
    if is_true(node, "x-kubernetes-embedded-resource") {
        embed(node);
    }
    if node.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        node.remove("x-kubernetes-preserve-unknown-fields");
    }
}

fn is_true(node: &Map<String, Value>, key: &str) -> bool {
    node.get(key) == Some(&Value::Bool(true))
}

fn add_properties(node: &mut Map<String, Value>, added: [(&str, Value); 3]) {
    if let Value::Object(properties) = node.entry("properties").or_insert_with(|| json!({})) {
        properties.extend(added.map(|(name, schema)| (name.to_owned(), schema)));
    }
}

/// Adds the types of an int-or-string: as `anyOf`, or in `allOf` if there are other alternatives.
fn list_int_or_string_types(node: &mut Map<String, Value>) {
    let types = json!([{ "type": "integer" }, { "type": "string" }]);
    let condition = json!({ "anyOf": types });
    let is_listed = node.get("anyOf") == Some(&types)
        || node.get("allOf").and_then(|all| all.get(0)).and_then(|first| first.get("anyOf")) == Some(&types);
    if is_listed {
        return;
    }
    if node.contains_key("anyOf") {
        let conditions = node.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(conditions) = conditions {
            conditions.insert(0, condition);
        }
    } else {
        node.insert("anyOf".to_owned(), types);
    }
}

/// Adds the fields of every object to an embedded resource, and requires apiVersion and kind.
fn embed(node: &mut Map<String, Value>) {
    let api_version = json!({
        "description": format!(
            "apiVersion defines the versioned schema of this representation of an object. More info: \
             {CONVENTIONS}#resources"
        ),
        "type": "string",
    });
    let type_name = json!({
        "description": format!(
            "kind is a string value representing the type of this object. In CamelCase. More info: \
             {CONVENTIONS}#types-kinds"
        ),
        "type": "string",
    });
    add_properties(node, [("apiVersion", api_version), ("kind", type_name), ("metadata", metadata())]);
    if let Value::Array(required) = node.entry("required").or_insert_with(|| json!([])) {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|one| one == name) {
                required.push(json!(name));
            }
        }
    }
}

/// Writes whole numbers without a fraction, regardless of the CRD.
fn plain_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(plain_numbers),
        Value::Object(fields) => fields.values_mut().for_each(plain_numbers),
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().and_then(whole) {
                *value = json!(whole);
            }
        }
        _ => {}
    }
}

/// Integer value of a float, if it is exact.
#[allow(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64)
}
