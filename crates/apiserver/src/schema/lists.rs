//! Duplicates in lists that are sets or maps.

use std::collections::HashMap;

use orchestra_cel::FieldError;
use serde_json::{Map, Value};

use super::Schema;
use super::path::Path;

/// The duplicates in an object and everything below.
pub(super) fn duplicates(schema: &Schema, value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if let Some(values) = schema.values() {
                for (name, field) in fields {
                    duplicates(values, field, &path.key(name), errors);
                }
            }
            for (name, field) in fields {
                if let Some(property) = schema.property(name) {
                    duplicates(property, field, &path.field(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type.as_deref() {
                Some("set") => report(items, path, errors),
                Some("map") => check_keys(&schema.list_map_keys, items, path, errors),
                _ => {}
            }
            if let Some(item_schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    duplicates(item_schema, item, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

/// True if a schema has sets or map lists.
pub(super) fn has_sets_or_maps(schema: &Schema) -> bool {
    matches!(schema.list_type.as_deref(), Some("set" | "map"))
        || schema.declared().any(has_sets_or_maps)
        || schema.values().is_some_and(has_sets_or_maps)
        || schema.items.as_deref().is_some_and(has_sets_or_maps)
}

fn check_keys(keys: &[String], items: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let stranger = items.iter().position(|item| !item.is_null() && !item.is_object());
    if let Some((index, item)) = stranger.and_then(|index| items.get(index).map(|item| (index, item))) {
        let place = path.index(index).bracketed();
        return errors.push(FieldError::invalid(
            place,
            item,
            "must be an object for an array of list-type map",
        ));
    }
    let found: Vec<Value> = items.iter().map(|item| key_of(keys, item)).collect();
    report(&found, path, errors);
}

/// The keys of an item as an object.
fn key_of(keys: &[String], item: &Value) -> Value {
    let present = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(present.collect::<Map<_, _>>())
}

/// Reports the second occurrence of every value.
fn report(values: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if values.len() <= 1 {
        return;
    }
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            errors.push(FieldError::duplicate(path.index(index).bracketed(), value));
        }
    }
}
