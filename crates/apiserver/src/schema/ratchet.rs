//! Ratcheting: an invalid value that does not change is tolerated, so that a stricter schema does not lock existing
//! objects.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::node::{Node, Values};

/// Items of an old list, by their keys.
pub(super) struct OldItems<'a> {
    keys: &'a [String],
    items: HashMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    /// None if the list has no keys.
    pub(super) fn new(node: &'a Node, old: &'a Value) -> Option<Self> {
        let keys = node.item_keys.as_slice();
        let (false, Value::Array(old)) = (keys.is_empty(), old) else { return None };
        let mut items = HashMap::with_capacity(old.len());
        for item in old {
            if let Some(key) = item.as_object().and_then(|item| key_of(item, keys)) {
                items.entry(key).or_insert(item);
            }
        }
        Some(Self { keys, items })
    }

    /// The old item with the same keys.
    pub(super) fn of(&self, item: &Value) -> Option<&'a Value> {
        let key = key_of(item.as_object()?, self.keys)?;
        self.items.get(&key).copied()
    }
}

fn key_of(item: &Map<String, Value>, keys: &[String]) -> Option<String> {
    let mut text = String::new();
    for key in keys {
        let value = item.get(key)?;
        if value.is_null() || value.is_array() || value.is_object() {
            return None;
        }
        // Integers and floating-point numbers are different keys.
        let kind = if value.is_f64() { "\0f" } else { "\0" };
        text.push_str(kind);
        text.push_str(&value.to_string());
    }
    Some(text)
}

/// True if a value is unchanged. Map lists may have another order; objects with unknown fields count as changed.
pub(super) fn unchanged(node: &Node, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(old_list)) => {
            if new.len() != old_list.len() {
                return false;
            }
            match (OldItems::new(node, old), &node.items) {
                (Some(old_items), Some(items)) => {
                    new.iter().all(|item| old_items.of(item).is_some_and(|old| unchanged(items, item, old)))
                }
                _ => new == old_list,
            }
        }
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(name, field)| {
                    let node = node.property(name).or(match &node.values {
                        Values::Of(values) => Some(values.as_ref()),
                        _ => None,
                    });
                    node.zip(old.get(name)).is_some_and(|(node, old)| unchanged(node, field, old))
                })
        }
        _ => new == old,
    }
}
