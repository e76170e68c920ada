//! `Namespace`: created active, with the finalizer that keeps it until it is empty.

use orchestra_cel::FieldError;
use serde_json::{Map, Value, json};

use super::Rules;

pub(super) const RULES: Rules =
    Rules { defaults, on_create, decode: super::accept_all, validate, warnings: super::no_warnings };

/// The label by which selectors find a namespace by name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

fn defaults(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata")
        && name.is_string()
        && let Value::Object(labels) = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()))
    {
        labels.insert(NAME_LABEL.to_owned(), name);
    }
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.entry("lastTransitionTime").or_insert(Value::Null);
    }
}

fn on_create(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("spec".to_owned(), json!({"finalizers": ["kubernetes"]}));
        fields.insert("status".to_owned(), json!({"phase": "Active"}));
    }
}

/// Finalizers of a namespace have a domain, or are those of the cluster.
fn validate(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    let finalizers = object["spec"]["finalizers"].as_array().into_iter().flatten();
    finalizers
        .enumerate()
        .filter(|(_, name)| {
            let name = name.as_str().unwrap_or_default();
            !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion")
        })
        .map(|(at, name)| {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            FieldError::invalid(format!("spec.finalizers[{at}]"), name, why)
        })
        .collect()
}
