//! Removal of the fields that a schema does not declare.

use std::fmt::Write as _;

use serde_json::Value;

use super::Schema;

/// Fields of every object, which are never removed from an object or an embedded one.
pub(super) const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes the unknown fields of a value; returns their paths, sorted: `spec.bogus`, `spec.ports[0].x`. A whole resource
/// keeps `apiVersion`, `kind` and `metadata`.
pub(crate) fn prune(schema: &Schema, value: &mut Value, is_resource: bool) -> Vec<String> {
    let mut pruning = Pruning { path: String::new(), removed: Vec::new() };
    pruning.prune(value, Some(schema), is_resource || schema.embedded_resource);
    pruning.removed.sort_unstable();
    pruning.removed
}

struct Pruning {
    path: String,
    removed: Vec<String>,
}

impl Pruning {
    fn prune(&mut self, value: &mut Value, schema: Option<&Schema>, is_resource: bool) {
        let preserve = schema.is_some_and(|schema| schema.preserve_unknown == Some(true));
        match value {
            Value::Object(fields) => fields.retain(|name, field| {
                if is_resource && OBJECT_FIELDS.contains(&name.as_str()) {
                    return true;
                }
                match child(schema, name) {
                    Child::Known(schema) => {
                        let length = self.enter(name);
                        let is_resource = schema.is_some_and(|schema| schema.embedded_resource);
                        self.prune(field, schema, is_resource);
                        self.path.truncate(length);
                        true
                    }
                    Child::Unknown if preserve => true,
                    Child::Unknown => {
                        let length = self.enter(name);
                        self.removed.push(self.path.clone());
                        self.path.truncate(length);
                        false
                    }
                }
            }),
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                if preserve && schema.is_none() {
                    return;
                }
                let is_resource = schema.is_some_and(|schema| schema.embedded_resource);
                for (index, item) in items.iter_mut().enumerate() {
                    let length = self.path.len();
                    // Writing to a String cannot fail.
                    let _ = write!(self.path, "[{index}]");
                    if preserve {
                        self.prune_preserved(item, schema, is_resource);
                    } else {
                        self.prune(item, schema, is_resource);
                    }
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Prunes an item of a list that preserves unknown fields: the item preserves them too, but declared fields in it
    /// are pruned.
    fn prune_preserved(&mut self, value: &mut Value, schema: Option<&Schema>, is_resource: bool) {
        let Some(schema) = schema else { return };
        if schema.preserve_unknown == Some(true) {
            return self.prune(value, Some(schema), is_resource);
        }
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    if is_resource && OBJECT_FIELDS.contains(&name.as_str()) {
                        continue;
                    }
                    if let Child::Known(schema) = child(Some(schema), name) {
                        let length = self.enter(name);
                        self.prune(field, schema, schema.is_some_and(|schema| schema.embedded_resource));
                        self.path.truncate(length);
                    }
                }
            }
            Value::Array(items) => {
                let schema = schema.items.as_deref();
                for (index, item) in items.iter_mut().enumerate() {
                    let length = self.path.len();
                    // Writing to a String cannot fail.
                    let _ = write!(self.path, "[{index}]");
                    self.prune_preserved(item, schema, schema.is_some_and(|schema| schema.embedded_resource));
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Appends a field to the path; returns the previous length of the path.
    fn enter(&mut self, name: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        length
    }
}

enum Child<'a> {
    Known(Option<&'a Schema>),
    Unknown,
}

fn child<'a>(schema: Option<&'a Schema>, name: &str) -> Child<'a> {
    let Some(schema) = schema else { return Child::Unknown };
    match schema.property(name) {
        Some(property) => Child::Known(Some(property)),
        None if schema.additional_properties.is_some() => Child::Known(schema.values()),
        None => Child::Unknown,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_are_removed_and_reported() {
        let schema: Schema = serde_json::from_value(json!({"type": "object", "properties": {"spec": {
            "type": "object", "properties": {
                "ports": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                        "properties": {"closed": {"type": "object"}}},
                "map": {"type": "object", "additionalProperties": true},
                "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}
        }}}}))
        .unwrap();
        let mut object = json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"x": 1}, "status": {}, "spec": {
            "bogus": 1,
            "ports": [{"name": "a", "x": 1}],
            "labels": {"a": "b"},
            "any": {"x": {"y": 1}, "closed": {"z": 1}},
            "map": {"a": {"b": 1}, "c": [{"d": 1}]},
            "embedded": {"apiVersion": "v1", "kind": "A", "metadata": {}, "spec": {"e": 1}, "status": {}}
        }});
        let removed = prune(&schema, &mut object, true);
        assert_eq!(
            removed,
            [
                "spec.any.closed.z",
                "spec.bogus",
                "spec.embedded.spec.e",
                "spec.embedded.status",
                "spec.map.a.b",
                "spec.map.c[0].d",
                "spec.ports[0].x",
                "status"
            ]
        );
        assert_eq!(
            object,
            json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"x": 1}, "spec": {
                "ports": [{"name": "a"}],
                "labels": {"a": "b"},
                "any": {"x": {"y": 1}, "closed": {}},
                "map": {"a": {}, "c": [{}]},
                "embedded": {"apiVersion": "v1", "kind": "A", "metadata": {}, "spec": {}}
            }})
        );
    }
}
