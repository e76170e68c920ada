//! Merge patch: a partial object whose fields replace those of the old one, and whose nulls remove them.

use serde_json::{Map, Value};

use super::{Checks, PatchError, Patched};
use crate::json::{DecodeError, decode, kind_of};

/// Applies a merge patch to an object.
pub(crate) fn merge_patch(document: Value, patch: &[u8], checks: Checks) -> Result<Patched, PatchError> {
    let decoded = decode(patch).map_err(|error| malformed(&error, checks))?;
    let notes = match checks {
        Checks::Off => Vec::new(),
        Checks::On => decoded.duplicates.errors(),
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
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
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

fn malformed(error: &DecodeError, checks: Checks) -> PatchError {
    match (checks, error) {
        (Checks::Off, DecodeError::Syntax(_)) => PatchError::malformed(NO_PATCH),
        _ => PatchError::malformed(format!("error decoding patch: {error}")),
    }
}

fn merge(map: &mut Map<String, Value>, changes: Map<String, Value>) {
    for (key, mut change) in changes {
        match (map.get_mut(&key), &mut change) {
            (_, Value::Null) => {
                map.remove(&key);
            }
            (Some(Value::Object(old)), Value::Object(changes)) => merge(old, std::mem::take(changes)),
            // What takes the place of a whole object keeps the nulls inside of its lists.
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

/// Takes away the fields that are null, and leaves the items.
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
