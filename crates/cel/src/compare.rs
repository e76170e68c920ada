//! Equality and order of values.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::escape;
use crate::value::{Fail, Identity, Items, List, Map, Val};

/// True if two values are equal. Numbers of different types are compared by value.
pub(crate) fn equal<'a>(left: &Val<'a>, right: &Val<'a>) -> Result<bool, Fail> {
    match (left, right) {
        (Val::Null, other) | (other, Val::Null) => {
            Ok(matches!(other, Val::Null) && matches!(left, Val::Null))
        }
        (Val::List(left), Val::List(right)) => equal_lists(left, right),
        (Val::List(list), _) if list.identity != Identity::Computed => Err(Fail::no_such_overload()),
        (Val::Map(left), Val::Map(right)) => equal_maps(left, right),
        (Val::Map(Map::Data(..)), _) => Err(Fail::no_such_overload()),
        (Val::Unknown(left), Val::Unknown(right)) => Ok(left == right),
        _ => Ok(same_scalar(left, right)),
    }
}

/// True if two values that are neither lists nor maps are equal.
pub(crate) fn same_scalar(left: &Val<'_>, right: &Val<'_>) -> bool {
    match (left, right) {
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::String(a), Val::String(b)) => a == b,
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a.nanos() == b.nanos(),
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::Url(a), Val::Url(b)) => a == b,
        _ => numbers(left, right) == Some(Ordering::Equal),
    }
}

/// The order of two values.
pub(crate) fn order(left: &Val<'_>, right: &Val<'_>) -> Result<Ordering, Fail> {
    if let (Val::Double(number), _) | (_, Val::Double(number)) = (left, right)
        && number.is_nan()
        && matches!(left, Val::Double(_) | Val::Int(_) | Val::Uint(_))
    {
        return Err(Fail::error("NaN values cannot be ordered"));
    }
    Ok(match (left, right) {
        (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
        (Val::String(a), Val::String(b)) => a.cmp(b),
        (Val::Bytes(a), Val::Bytes(b)) => a.cmp(b),
        (Val::Timestamp(a), Val::Timestamp(b)) => a.nanos().cmp(&b.nanos()),
        (Val::Duration(a), Val::Duration(b)) => a.cmp(b),
        _ => return numbers(left, right).ok_or(Fail::Overload),
    })
}

fn numbers(left: &Val<'_>, right: &Val<'_>) -> Option<Ordering> {
    match (left, right) {
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), b) => whole(b).and_then(|b| double_and_whole(*a, b)),
        (a, Val::Double(b)) => whole(a).and_then(|a| double_and_whole(*b, a)).map(Ordering::reverse),
        (a, b) => Some(whole(a)?.cmp(&whole(b)?)),
    }
}

fn whole(number: &Val<'_>) -> Option<i128> {
    match number {
        Val::Int(number) => Some(i128::from(*number)),
        Val::Uint(number) => Some(i128::from(*number)),
        _ => None,
    }
}

#[allow(clippy::cast_precision_loss, reason = "the real server compares doubles with integers in this way")]
fn double_and_whole(double: f64, whole: i128) -> Option<Ordering> {
    double.partial_cmp(&(whole as f64))
}

fn equal_lists<'a>(left: &List<'a>, right: &List<'a>) -> Result<bool, Fail> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left.identity {
        Identity::Computed | Identity::Place => {
            for (left, right) in left.iter().zip(right.iter()) {
                if !equal(&left?, &right?)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Identity::Value => {
            let known = stored_texts(left);
            for item in right.iter() {
                if !known.contains(&text_of(&item?)) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Identity::Keys(keys) => {
            let mut by_key = HashMap::new();
            for item in left.iter() {
                let item = item?;
                by_key.insert(key_of(&item, keys), item);
            }
            for item in right.iter() {
                let item = item?;
                let Some(other) = by_key.get(&key_of(&item, keys)) else { return Ok(false) };
                if !equal(other, &item)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// `left + right` for sets, which keep every value once, and map lists, which merge by key.
pub(crate) fn merged<'a>(left: &List<'a>, right: &List<'a>) -> Result<Vec<Val<'a>>, Fail> {
    let mut items = left.all()?;
    match left.identity {
        Identity::Computed | Identity::Place => items.extend(right.all()?),
        Identity::Value => {
            let mut known = stored_texts(left);
            for item in right.iter() {
                let item = item?;
                if known.insert(text_of(&item)) {
                    items.push(item);
                }
            }
        }
        Identity::Keys(keys) => {
            let places: HashMap<String, usize> =
                items.iter().enumerate().map(|(place, item)| (key_of(item, keys), place)).collect();
            for item in right.iter() {
                let item = item?;
                match places.get(&key_of(&item, keys)) {
                    Some(place) => items[*place] = item,
                    None => items.push(item),
                }
            }
        }
    }
    Ok(items)
}

/// Items of a set as stored: a whole number in a set of doubles differs from the double that is read from it.
fn stored_texts(list: &List<'_>) -> HashSet<String> {
    match &list.items {
        Items::Data(items, _) => items.iter().map(Value::to_string).collect(),
        Items::Made(items) => items.iter().map(text_of).collect(),
    }
}

fn text_of(item: &Val<'_>) -> String {
    match item {
        Val::String(text) => Value::String(text.to_string()).to_string(),
        Val::Int(number) => number.to_string(),
        Val::Bool(value) => value.to_string(),
        Val::Double(number) => Value::from(*number).to_string(),
        other => format!("{other:?}"),
    }
}

/// Key of an item of a map list. A real server looks the fields up by their escaped names.
fn key_of(item: &Val<'_>, keys: &[String]) -> String {
    let Val::Map(Map::Data(entries, _)) = item else { return String::new() };
    let found: Vec<Option<&Value>> = keys
        .iter()
        .map(|key| escape::escape(key).map_or_else(|| entries.get(key), |escaped| entries.get(&escaped)))
        .collect();
    serde_json::to_string(&found).unwrap_or_default()
}

fn equal_maps<'a>(left: &Map<'a>, right: &Map<'a>) -> Result<bool, Fail> {
    if left.len() != right.len() {
        return Ok(false);
    }
    let (entries, schema) = match left {
        Map::Made(entries) => {
            for (key, value) in entries.iter() {
                match right.get(key)? {
                    Some(other) if equal(value, &other)? => {}
                    _ => return Ok(false),
                }
            }
            return Ok(true);
        }
        Map::Data(entries, schema) => (entries, schema),
    };
    for (name, value) in *entries {
        if Map::entry_schema(schema, name).is_some() {
            let key = Val::String(name.as_str().into());
            let same = match (left.get(&key)?, right.get(&key)?) {
                (Some(left), Some(right)) => equal(&left, &right)?,
                (None, None) => true,
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        } else if let Map::Data(others, _) = right {
            // Fields that are invisible to rules count, too.
            if others.get(name).is_some_and(|other| other != value) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
