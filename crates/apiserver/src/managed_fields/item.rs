//! Path element of a list item.

use serde_json::Value;

use super::path::PathElement;
use super::shape::{ItemIdentity, ListShape};

/// Path element of an item of a set or map list, or the error in the item.
pub(super) fn element(list: ListShape<'_>, item: &Value) -> Result<PathElement, String> {
    match list.identity {
        ItemIdentity::Atomic => Err("invalid indexing of non-associative list".into()),
        ItemIdentity::Keys(keys) if !keys.is_empty() => by_keys(list, keys, item),
        ItemIdentity::Keys(_) | ItemIdentity::Value => by_value(item),
    }
}

fn by_keys(list: ListShape<'_>, keys: &[String], item: &Value) -> Result<PathElement, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".into()),
        _ => return Err("associative list with keys may not have non-map elements".into()),
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        // A key without a value or default is omitted, which distinguishes the item from one that has it.
        let value = match fields.get(key) {
            Some(value) => Some(value),
            None => default(list, key)?,
        };
        found.extend(value.map(|value| (key.clone(), value.clone())));
    }
    if found.is_empty() {
        let keys: Vec<_> = keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] \
             (and doesn't have default values for any key fields)",
            keys.join(" ")
        ));
    }
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    Ok(PathElement::Key(found))
}

fn default<'s>(list: ListShape<'s>, key: &str) -> Result<Option<&'s Value>, String> {
    match list.items.map() {
        Some(map) => Ok(map.field(key).and_then(|field| field.default)),
        None => {
            Err(format!("couldn't find default value for {key}: associative list may not have non-map types"))
        }
    }
}

fn by_value(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
        scalar => Ok(PathElement::Value(scalar.clone())),
    }
}
