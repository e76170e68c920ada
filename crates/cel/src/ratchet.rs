//! Ratcheting of rules: a rule that fails on an unchanged part of an object only warns.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use crate::schema::Schema;

/// Part of an object, and its old version.
pub(crate) struct PartChange<'a> {
    new: &'a Value,
    old: &'a Value,
    schema: &'a Schema,
    same: OnceCell<bool>,
}

impl<'a> PartChange<'a> {
    /// Part of an object, and its old version.
    pub(crate) fn new(new: &'a Value, old: &'a Value, schema: &'a Schema) -> Self {
        Self { new, old, schema, same: OnceCell::new() }
    }

    /// True if nothing changed. Unknown fields count as changed.
    pub(crate) fn is_none(&self) -> bool {
        *self.same.get_or_init(|| unchanged(self.new, self.old, self.schema))
    }
}

fn unchanged(new: &Value, old: &Value, schema: &Schema) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(old)) => {
            if new.len() != old.len() {
                return false;
            }
            let Some(items) = schema.items.as_deref().filter(|_| schema.list_type.as_deref() == Some("map"))
            else {
                return new == old;
            };
            let known = OldItems::new(old, schema);
            new.iter().all(|item| known.get(item).is_some_and(|old| unchanged(item, old, items)))
        }
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(name, value)| {
                    let schema = schema.property(name).or_else(|| schema.values());
                    old.get(name).zip(schema).is_some_and(|(old, schema)| unchanged(value, old, schema))
                })
        }
        _ => new == old,
    }
}

/// Old items of a map list, by their keys.
pub(crate) struct OldItems<'a> {
    keys: &'a [String],
    items: HashMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    /// Items of a list; empty if it is not a map list.
    pub(crate) fn new(items: &'a [Value], schema: &'a Schema) -> Self {
        let keys = schema.list_map_keys.as_slice();
        let mut known = Self { keys, items: HashMap::new() };
        if schema.list_type.as_deref() == Some("map") && !keys.is_empty() {
            for item in items {
                if let Some(key) = known.key(item) {
                    known.items.entry(key).or_insert(item);
                }
            }
        }
        known
    }

    /// Old version of an item.
    pub(crate) fn get(&self, item: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&self.key(item)?).copied()
    }

    fn key(&self, item: &Value) -> Option<String> {
        let values: Option<Vec<&Value>> = self
            .keys
            .iter()
            .map(|key| {
                item.get(key).filter(|value| !value.is_null() && !value.is_array() && !value.is_object())
            })
            .collect();
        serde_json::to_string(&values?).ok()
    }
}
