//! Set of the fields of a configuration, which its applier owns.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::item;
use super::path::PathElement;
use super::set::{Branch, Set};
use super::shape::{ItemIdentity, ListShape, MapShape, Reading, Shape};

/// The fields of an object that has the shape.
pub(super) fn fields(shape: Shape<'_>, object: &Value) -> Set {
    branch(shape, object).below
}

fn branch(shape: Shape<'_>, value: &Value) -> Branch {
    match (shape.reading(value), value) {
        (
            Reading::Scalar(_)
            | Reading::List(ListShape { identity: ItemIdentity::Atomic, .. })
            | Reading::Map(MapShape { atomic: true, .. }),
            _,
        ) => Branch::leaf(),
        (Reading::List(list), Value::Array(items)) => Branch { member: false, below: of_items(list, items) },
        (Reading::Map(map), Value::Object(fields)) => Branch { member: false, below: of_fields(map, fields) },
        (Reading::List(_) | Reading::Map(_), _) => Branch::default(),
    }
}

fn of_items(list: ListShape<'_>, items: &[Value]) -> Set {
    let mut by_element: BTreeMap<PathElement, Option<&Value>> = BTreeMap::new();
    for value in items {
        let Ok(step) = item::element(list, value) else { continue };
        by_element.entry(step).and_modify(|first| *first = None).or_insert(Some(value));
    }
    let mut set = Set::default();
    for (step, value) in by_element {
        // Duplicate items are owned as a whole.
        let below = value.map(|value| branch(list.items, value).below).unwrap_or_default();
        set.attach(step, Branch { member: true, below });
    }
    set
}

fn of_fields(map: MapShape<'_>, fields: &Map<String, Value>) -> Set {
    let mut set = Set::default();
    for (name, value) in fields {
        let Some(shape) = map.child(name) else { continue };
        let mut branch = branch(shape, value);
        let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        branch.member |= empty || map.field(name).is_none();
        set.attach(PathElement::field(name), branch);
    }
    set
}
