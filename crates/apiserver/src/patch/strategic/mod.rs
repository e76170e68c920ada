//! Strategic merge patch: a merge patch that knows the lists of a kind, and has directives.
//!
//! The schema of a kind names the lists that are merged, and the key of their items; all other lists are replaced.
//! Directives are fields of the patch:
//!
//! | directive | meaning |
//! |---|---|
//! | `$patch: replace`, `$patch: delete` | replaces or empties this object, or replaces the list or deletes the item of this item |
//! | `$retainKeys: […]` | removes all other fields of this object |
//! | `$deleteFromPrimitiveList/LIST: […]` | removes these items from a list of scalars |
//! | `$setElementOrder/LIST: […]` | order of the items of a list that is merged |

mod lists;
mod strategies;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::{
    lists::{merge_list, ordered},
    strategies::{Strategy, Structure},
};
use super::{Checks, PatchError, Patched};
use crate::{
    json::{decode, kind_of},
    kinds::Kind,
};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_ITEMS: &str = "$deleteFromPrimitiveList";
const ORDER: &str = "$setElementOrder";

type Fields = Map<String, Value>;

/// Applies a strategic merge patch to an object of a built-in kind.
pub(crate) fn strategic_merge_patch(
    kind: &Kind,
    document: Value,
    patch: &[u8],
    checks: Checks,
) -> Result<Patched, PatchError> {
    let decoded =
        decode(patch).map_err(|error| PatchError::malformed(format!("error decoding patch: {error}")))?;
    let changes = match decoded.value {
        Value::Object(changes) => changes,
        Value::Null => Fields::new(),
        other => {
            let why = format!("error decoding patch: expected an object, got {}", kind_of(&other));
            return Err(PatchError::malformed(why));
        }
    };
    let fields = match document {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    };
    let mut merged = merge(fields, changes, strategies::of(kind))?;
    // The type of an object does not depend on the patch.
    merged.insert("apiVersion".to_owned(), Value::String(kind.api_version()));
    merged.insert("kind".to_owned(), Value::String(kind.kind.clone()));
    let notes = if checks == Checks::Off { Vec::new() } else { decoded.duplicates };
    Ok(Patched { value: Value::Object(merged), notes })
}

/// Merges a patch into the fields of an object.
fn merge(mut fields: Fields, mut patch: Fields, structure: Structure<'_>) -> Result<Fields, PatchError> {
    match patch.remove(DIRECTIVE) {
        None => {}
        Some(directive) if directive == "replace" => return Ok(patch),
        Some(directive) if directive == "delete" => return Ok(Fields::new()),
        Some(directive) => return Err(unknown_directive(&directive)),
    }
    retain_keys(&mut fields, &mut patch)?;
    order_lists(&mut fields, &mut patch, structure)?;
    for (name, change) in patch {
        let (name, deletes_items) = match directive_target(&name, DELETE_ITEMS)? {
            Some(list) => (list.to_owned(), true),
            None => (name, false),
        };
        match (fields.get_mut(&name), change) {
            (_, Value::Null) => {
                fields.remove(&name);
            }
            (Some(Value::Object(old)), Value::Object(change)) => {
                let (strategy, inner) = structure.field(&name)?;
                *old = match strategy {
                    Strategy::Replace => change,
                    Strategy::Default | Strategy::Merge(_) => merge(std::mem::take(old), change, inner)?,
                };
            }
            (Some(Value::Array(old)), Value::Array(change)) => {
                let (strategy, items) = structure.list(&name)?;
                *old = match strategy {
                    Strategy::Default | Strategy::Replace if !deletes_items => change,
                    _ => merge_list(std::mem::take(old), change, strategy.key(), items, deletes_items)?,
                };
            }
            (_, _) if deletes_items => {}
            (_, change) => {
                match without_directives(without_nulls(change)) {
                    Some(change) => fields.insert(name, change),
                    None => fields.remove(&name),
                };
            }
        }
    }
    Ok(fields)
}

/// Applies `$retainKeys`, which must have all fields of the patch.
fn retain_keys(fields: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    const WHY: &str = "invalid patch format of retainKeys";
    let retained = match patch.remove(RETAIN_KEYS) {
        None => return Ok(()),
        Some(Value::Array(retained)) => retained,
        Some(_) => return Err(PatchError::malformed(WHY)),
    };
    let is_retained = |name: &str| retained.iter().any(|retained| retained == name);
    let complete = patch.iter().all(|(name, change)| {
        let is_directive = name.starts_with(DELETE_ITEMS) || name.starts_with(ORDER);
        change.is_null() || is_directive || is_retained(name)
    });
    if !complete {
        return Err(PatchError::malformed(WHY));
    }
    fields.retain(|name, _| is_retained(name));
    Ok(())
}

/// Merges the lists with a `$setElementOrder`, and takes them from the patch.
fn order_lists(fields: &mut Fields, patch: &mut Fields, structure: Structure<'_>) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(ORDER)).cloned().collect();
    for directive in directives {
        let Some(Value::Array(order)) = patch.remove(&directive) else {
            return Err(PatchError::internal("expected an array in $setElementOrder"));
        };
        let Some(name) = directive_target(&directive, ORDER)? else { continue };
        let old = list(fields.get(name))?.map(<[Value]>::to_vec);
        let change = list(patch.get(name))?.map(<[Value]>::to_vec);
        let (strategy, items) = structure.list(name)?;
        let key = strategy.key();
        lists::check_order(change.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (&old, &change) {
            (None, None) => continue,
            (Some(old), None) => old.clone(),
            (None, Some(change)) => change.iter().cloned().filter_map(without_directives).collect(),
            (Some(old), Some(change)) if matches!(strategy, Strategy::Merge(_)) => {
                merge_list(old.clone(), change.clone(), key, items, false)?
            }
            (Some(_), Some(change)) => change.clone(),
        };
        let old = old.unwrap_or_default();
        let merged = ordered(merged, &order, &old, key)?;
        fields.insert(name.to_owned(), Value::Array(merged));
        patch.remove(name);
    }
    Ok(())
}

/// A list, if there is a value.
fn list(value: Option<&Value>) -> Result<Option<&[Value]>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(PatchError::internal(format!("expected an array, got {}", kind_of(other)))),
    }
}

/// Name of the list that a directive is about; none if the field is not this directive.
fn directive_target<'n>(name: &'n str, directive: &str) -> Result<Option<&'n str>, PatchError> {
    let Some(rest) = name.strip_prefix(directive) else { return Ok(None) };
    let list = if directive == DELETE_ITEMS { "primitive list" } else { "setElementOrder list" };
    rest.strip_prefix('/')
        .map(Some)
        .ok_or_else(|| PatchError::malformed(format!("invalid patch format of {list}")))
}

fn unknown_directive(directive: &Value) -> PatchError {
    PatchError::internal(format!("unknown patch type: {directive}"))
}

/// Value without its null fields.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        scalar => scalar,
    }
}

/// Value without the objects in it that have a `$patch`; none if it is such an object.
fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => return None,
        Value::Object(fields) => {
            fields.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?))).collect()
        }
        Value::Array(items) => items.into_iter().filter_map(without_directives).collect(),
        scalar => scalar,
    })
}
