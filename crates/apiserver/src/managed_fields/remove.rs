//! Removal of fields from an object.

use serde_json::{Map, Value};

use super::item;
use super::path::PathElement;
use super::set::Set;
use super::shape::{ItemIdentity, ListShape, MapShape, Reading, Shape};

/// Value without the fields of a set; null if nothing is left. A leaf stays unless its parent removes it or the set
/// has paths below it.
pub(super) fn without(shape: Shape<'_>, value: &Value, fields: &Set) -> Value {
    match (shape.reading(value), value) {
        (Reading::Scalar(_), value) => value.clone(),
        (Reading::List(list), Value::Array(items)) if !matches!(list.identity, ItemIdentity::Atomic) => {
            without_items(list, items, fields)
        }
        (Reading::Map(map @ MapShape { atomic: false, .. }), Value::Object(children)) => {
            without_fields(map, children, fields)
        }
        (Reading::List(_) | Reading::Map(_), _) => Value::Null,
    }
}

fn without_items(list: ListShape<'_>, items: &[Value], fields: &Set) -> Value {
    let left: Vec<Value> = items
        .iter()
        .filter_map(|value| match item::element(list, value) {
            Ok(step) => child_without(list.items, &step, value, fields),
            Err(_) => Some(value.clone()),
        })
        .collect();
    if left.is_empty() { Value::Null } else { Value::Array(left) }
}

fn without_fields(map: MapShape<'_>, children: &Map<String, Value>, fields: &Set) -> Value {
    let left: Map<String, Value> = children
        .iter()
        .filter_map(|(name, value)| {
            let shape = map.child(name).unwrap_or(Shape::Untyped);
            child_without(shape, &PathElement::field(name), value, fields).map(|value| (name.clone(), value))
        })
        .collect();
    if left.is_empty() { Value::Null } else { Value::Object(left) }
}

fn child_without(shape: Shape<'_>, step: &PathElement, value: &Value, fields: &Set) -> Option<Value> {
    if fields.has_member(step) {
        return None;
    }
    Some(match fields.child(step).filter(|below| !below.is_empty()) {
        Some(below) => without(shape, value, below),
        None => value.clone(),
    })
}
