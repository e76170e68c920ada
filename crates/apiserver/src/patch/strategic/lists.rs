//! Merge of lists by the keys of their items, and their order.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{DIRECTIVE, PatchError, merge, strategies::Structure, unknown_directive};
use crate::json::kind_of;

/// Merges a patch into a list: objects by `key`, scalars as a set. With `deletes` the patch lists scalars to remove.
pub(super) fn merge_list(
    old: Vec<Value>,
    patch: Vec<Value>,
    key: Option<&str>,
    items: Structure<'_>,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    if old.is_empty() && patch.is_empty() {
        return Ok(old);
    }
    if are_scalars(old.iter().chain(&patch))? {
        let mut known: HashSet<String> = HashSet::new();
        if deletes {
            known.extend(patch.iter().map(Value::to_string));
            return Ok(old.into_iter().filter(|item| !known.contains(&item.to_string())).collect());
        }
        let both = old.iter().chain(&patch);
        let merged = both.filter(|item| known.insert(item.to_string())).cloned().collect();
        return ordered(merged, &patch, &old, None);
    }
    let Some(key) = key else {
        return Err(PatchError::internal("cannot merge lists without merge key"));
    };
    let (mut old, patch) = apply_directives(old, patch, key)?;
    let mut places = places(&old, |item| item.get(key).cloned().unwrap_or_default());
    let kept = old.len();
    for item in &patch {
        let place = *places.entry(key_of(item, key)?.to_string()).or_insert(old.len());
        match old.get_mut(place) {
            Some(known) => {
                if let (Value::Object(fields), Value::Object(change)) = (known.take(), item.clone()) {
                    *known = Value::Object(merge(fields, change, items)?);
                }
            }
            None => old.push(item.clone()),
        }
    }
    let merged = old.clone();
    old.truncate(kept);
    ordered(merged, &patch, &old, Some(key))
}

/// True if the items are scalars, false if they are objects. They must be of one type.
fn are_scalars<'v>(mut items: impl Iterator<Item = &'v Value>) -> Result<bool, PatchError> {
    let type_of = |item: &Value| (kind_of(item), item.is_f64());
    match items.next() {
        Some(Value::Array(_)) => Err(PatchError::rejected()),
        None | Some(Value::Null) => Err(PatchError::internal("no elements in any of the given slices")),
        Some(first) if items.any(|item| type_of(item) != type_of(first)) => {
            Err(PatchError::internal("list element types are not identical"))
        }
        Some(first) => Ok(!first.is_object()),
    }
}

/// Applies the `$patch` of items: deletes items of the old list, or all of them. Returns the list, and the other items of
/// the patch.
fn apply_directives(
    mut old: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut left = Vec::with_capacity(patch.len());
    let mut deleted = HashSet::new();
    let mut replaces = false;
    for item in patch {
        let Some(directive) = item.get(DIRECTIVE) else {
            left.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                deleted.insert(key_of(&item, key)?.to_string());
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(PatchError::internal("merging lists cannot yet be specified in the patch"));
            }
            _ => return Err(unknown_directive(directive)),
        }
    }
    if replaces {
        return Ok((left, Vec::new()));
    }
    old.retain(|item| item.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    Ok((old, left))
}

fn key_of<'v>(item: &'v Value, key: &str) -> Result<&'v Value, PatchError> {
    item.get(key)
        .ok_or_else(|| PatchError::internal(format!("map does not contain declared merge key: {key}")))
}

/// First place of each identity in a list.
fn places(list: &[Value], identity: impl Fn(&Value) -> Value) -> HashMap<String, usize> {
    let mut places = HashMap::new();
    for (place, item) in list.iter().enumerate() {
        places.entry(identity(item).to_string()).or_insert(place);
    }
    places
}

/// Sorts a merged list: items of the patch in the order of the patch, the others in that of the old list, which also
/// decides between the two where it has both.
pub(super) fn ordered(
    merged: Vec<Value>,
    order: &[Value],
    old: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    if let Some(key) = key {
        merged.iter().chain(order).chain(old).try_for_each(|item| key_of(item, key).map(drop))?;
    }
    let identity = |item: &Value| match key {
        Some(key) => item.get(key).cloned().unwrap_or_default(),
        None => item.clone(),
    };
    let (order, before) = (places(order, identity), places(old, identity));
    let (mut patched, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let identity = identity(&item).to_string();
        let old = before.get(&identity).copied();
        match order.get(&identity) {
            Some(&place) => patched.push((place, old, item)),
            None => others.push((old.unwrap_or(usize::MAX), old, item)),
        }
    }
    patched.sort_by_key(|(place, ..)| *place);
    others.sort_by_key(|(place, ..)| *place);
    let mut sorted = Vec::with_capacity(patched.len() + others.len());
    let (mut patched, mut others) = (patched.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let next = match (others.peek(), patched.peek()) {
            (None, None) => return Ok(sorted),
            (Some((_, Some(other), _)), Some((_, Some(item), _))) if other < item => others.next(),
            (_, Some(_)) => patched.next(),
            (Some(_), None) => others.next(),
        };
        sorted.extend(next.map(|(.., item)| item));
    }
}

/// Checks that the items of a patch are in an order, in the same sequence.
pub(super) fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut places = order.iter();
    for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let mut found = false;
        for place in places.by_ref() {
            found = match key {
                Some(key) => key_of(item, key)? == key_of(place, key)?,
                None => item == place,
            };
            if found {
                break;
            }
        }
        if !found {
            let why = "the order in patch list doesn't match $setElementOrder list";
            return Err(PatchError::internal(why));
        }
    }
    Ok(())
}
