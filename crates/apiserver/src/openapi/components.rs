//! Component schemas of a document.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::{names, published};
use crate::kinds::Kind;

/// Types shared by all kinds, and query parameters of the API, with the texts of the API.
static META: LazyLock<Value> = LazyLock::new(|| parsed(include_str!("meta.json")));
/// Built-in kinds, with the texts of the API.
static BUILTIN: LazyLock<Value> = LazyLock::new(|| parsed(include_str!("builtin.json")));

/// Parses a data file of this module. A test checks that they are well-formed.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// A parameter of requests by its name in the data file.
pub(super) fn parameter(name: &str) -> Value {
    META["parameters"][name].clone()
}

/// The components of the document of these kinds.
pub(super) fn of_kinds(kinds: &[&Kind]) -> Value {
    let mut schemas = META["schemas"].as_object().cloned().unwrap_or_default();
    for kind in kinds {
        let (name, list) = (name(kind, &kind.kind), name(kind, &kind.list_kind));
        let parts = kind.subresources();
        let parts = parts.iter().filter_map(|part| part.objects);
        let parts = parts.filter_map(|(group, version, kind)| builtin_name(group, version, kind));
        if BUILTIN["schemas"].get(&name).is_some() {
            // Objects that are not stored have no lists.
            let list = Some(list).filter(|_| kind.review.is_none());
            add_builtin(&mut schemas, [name].into_iter().chain(list).chain(parts));
        } else {
            add_builtin(&mut schemas, parts);
            schemas.insert(list, published::list(kind, &name));
            schemas.insert(name, published::object(kind));
        }
    }
    let mut components = json!({ "schemas": schemas });
    if kinds.iter().any(|kind| !kind.custom) {
        components["securitySchemes"] = BUILTIN["securitySchemes"].clone();
    }
    components
}

/// The component name of a kind, or of the lists of a kind.
pub(super) fn name(kind: &Kind, of: &str) -> String {
    let builtin = if kind.custom { None } else { builtin_name(&kind.group, &kind.version, of) };
    builtin.unwrap_or_else(|| names::component(&kind.group, &kind.version, of))
}

fn builtin_name(group: &str, version: &str, kind: &str) -> Option<String> {
    let wanted = json!([{ "group": group, "version": version, "kind": kind }]);
    let mut schemas = BUILTIN["schemas"].as_object()?.iter();
    schemas
        .find(|(_, schema)| schema["x-kubernetes-group-version-kind"] == wanted)
        .map(|(name, _)| name.clone())
}

/// Adds built-in components and their references, recursively.
fn add_builtin(schemas: &mut Map<String, Value>, roots: impl Iterator<Item = String>) {
    let mut missing: BTreeSet<String> = roots.collect();
    while let Some(name) = missing.pop_first() {
        if schemas.contains_key(&name) {
            continue;
        }
        let schema = &BUILTIN["schemas"][&name];
        references(schema, &mut missing);
        schemas.insert(name, schema.clone());
    }
}

/// The components that a schema refers to.
fn references(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::String(text) => found.extend(text.strip_prefix(&names::reference("")).map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| references(field, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_files_are_well_formed() {
        assert!(META["schemas"].get("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").is_some());
        assert!(META["parameters"].get("fieldValidation").is_some());
        assert!(BUILTIN["schemas"].get("io.k8s.api.core.v1.ConfigMap").is_some());
    }

    #[test]
    fn every_reference_in_the_data_files_resolves() {
        for file in [&META, &BUILTIN] {
            let mut found = BTreeSet::new();
            references(&file["schemas"], &mut found);
            for name in found {
                assert!(META["schemas"].get(&name).or(BUILTIN["schemas"].get(&name)).is_some(), "{name}");
            }
        }
    }
}
