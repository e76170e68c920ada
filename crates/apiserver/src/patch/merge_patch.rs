//! Merge patch: a partial object whose fields replace those of the old one, and whose nulls remove them.

use serde_json::{Map, Value};

use super::{Checks, PatchError, Patched};
use crate::json::{decode, kind_of};

/// Applies a merge patch to an object.
pub(crate) fn merge_patch(document: Value, patch: &[u8], checks: Checks) -> Result<Patched, PatchError> {
    let decoded = decode(patch).map_err(|error| match checks {
        Checks::Off => PatchError::malformed(NO_PATCH),
        Checks::On => PatchError::malformed(format!("error decoding patch: {error}")),
    })?;
    let notes = match checks {
        Checks::Off => Vec::new(),
        Checks::On => decoded.duplicates,
    };
    match (decoded.value, document) {
        (Value::Object(changes), Value::Object(mut map)) => {
            merge(&mut map, changes);
            Ok(Patched { value: Value::Object(map), notes })
        }
        (Value::Object(mut changes), _) => {
            prune_map(&mut changes);
            Ok(Patched { value: Value::Object(changes), notes })
        }
        (Value::Null, _) => Err(PatchError::malformed(NO_PATCH)),
        (other, _) if checks == Checks::On => Err(PatchError::malformed(format!(
            "error decoding patch: expected an object, got {}",
            kind_of(&other)
        ))),
        (Value::Array(mut list), _) => {
            list.iter_mut().for_each(prune);
            Err(PatchError::no_object(&Value::Array(list)))
        }
        _ => Err(PatchError::malformed(NO_PATCH)),
    }
}

const NO_PATCH: &str = "Invalid JSON Patch";

fn merge(map: &mut Map<String, Value>, changes: Map<String, Value>) {
    for (key, mut change) in changes {
        match (map.get_mut(&key), &mut change) {
            (_, Value::Null) => {
                map.remove(&key);
            }
            (Some(Value::Object(old)), Value::Object(changes)) => merge(old, std::mem::take(changes)),
            // A value that replaces a whole object keeps the nulls inside its lists.
            (Some(Value::Object(_)), _) => {
                map.insert(key, change);
            }
            _ => {
                prune(&mut change);
                map.insert(key, change);
            }
        }
    }
}

/// Removes null fields, but not null items.
fn prune(value: &mut Value) {
    match value {
        Value::Object(map) => prune_map(map),
        Value::Array(list) => list.iter_mut().for_each(prune),
        _ => {}
    }
}

fn prune_map(map: &mut Map<String, Value>) {
    map.retain(|_, value| !value.is_null());
    map.values_mut().for_each(prune);
}
