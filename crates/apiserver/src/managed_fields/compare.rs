//! Comparison of two objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::PathElement;
use super::set::{Branch, Set};
use super::shape::{ItemIdentity, ListShape, MapShape, Reading, Shape};
use super::{item, value};

/// The fields that changed.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Fields that only the old object has.
    pub(super) removed: Set,
    /// Fields with another value.
    pub(super) modified: Set,
    /// Fields that only the new object has.
    pub(super) added: Set,
}

impl Comparison {
    /// The comparison without some fields and all below them.
    pub(super) fn without(&self, fields: &Set) -> Self {
        Self {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }

    /// The fields that got a value.
    pub(super) fn set(&self) -> Set {
        self.modified.clone().union(&self.added)
    }

    /// The fields of a set that got a value.
    pub(super) fn set_among(&self, fields: &Set) -> Set {
        fields.intersection(&self.modified).union(&fields.intersection(&self.added))
    }

    /// A set without the changed fields.
    pub(super) fn taken_from(&self, fields: &Set) -> Set {
        fields.difference(&self.modified).difference(&self.added).difference(&self.removed)
    }
}

/// Compares two objects that have the shape.
pub(super) fn compare(shape: Shape<'_>, old: &Value, new: &Value) -> Comparison {
    let changes = visit(shape, Some(old), Some(new));
    Comparison {
        removed: changes.removed.below,
        modified: changes.modified.below,
        added: changes.added.below,
    }
}

/// The changes at one place and below it.
#[derive(Default)]
struct Changes {
    removed: Branch,
    modified: Branch,
    added: Branch,
}

impl Changes {
    /// The change of a place that is one leaf.
    fn of_leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        let mut changes = Self::default();
        match (old, new) {
            (None, _) => changes.added.member = true,
            (_, None) => changes.removed.member = true,
            (Some(old), Some(new)) => changes.modified.member = !value::same(old, new),
        }
        changes
    }

    fn attach(&mut self, step: &PathElement, below: Self) {
        self.removed.below.attach(step.clone(), below.removed);
        self.modified.below.attach(step.clone(), below.modified);
        self.added.below.attach(step.clone(), below.added);
    }
}

fn visit(shape: Shape<'_>, old: Option<&Value>, new: Option<&Value>) -> Changes {
    let Some(leading) = new.or(old) else { return Changes::default() };
    let reading = shape.reading(leading);
    let mut changes = read(reading, old, new);
    let Some(before) = old.filter(|_| new.is_some()).map(|old| shape.reading(old)) else { return changes };
    if std::mem::discriminant(&before) != std::mem::discriminant(&reading) {
        // The type of a free-form value changed: the old fields are removed, the new ones added.
        let gone = read(before, old, new);
        changes.removed.below = gone.removed.below;
        changes.modified.member |= gone.modified.member;
    }
    changes
}

/// Compares values of the same reading.
fn read(reading: Reading<'_>, old: Option<&Value>, new: Option<&Value>) -> Changes {
    let mut changes = match reading {
        Reading::Scalar(_) => return Changes::of_leaf(old, new),
        Reading::List(list) => {
            let (before, after) = (items(old), items(new));
            if matches!(list.identity, ItemIdentity::Atomic) || (before.is_empty() && after.is_empty()) {
                return Changes::of_leaf(old, new);
            }
            of_lists(list, before, after)
        }
        Reading::Map(map) => {
            let (before, after) = (fields(old), fields(new));
            if map.atomic || (before.is_none() && after.is_none()) {
                return Changes::of_leaf(old, new);
            }
            of_maps(map, before, after)
        }
    };
    changes.added.member = old.is_none();
    changes.removed.member = new.is_none();
    changes
}

fn of_maps(map: MapShape<'_>, old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>) -> Changes {
    let names: BTreeSet<&String> = [old, new].into_iter().flatten().flat_map(Map::keys).collect();
    let mut changes = Changes::default();
    for name in names {
        let shape = map.child(name).unwrap_or(Shape::Untyped);
        let below =
            visit(shape, old.and_then(|fields| fields.get(name)), new.and_then(|fields| fields.get(name)));
        changes.attach(&PathElement::field(name), below);
    }
    changes
}

fn of_lists(list: ListShape<'_>, old: &[Value], new: &[Value]) -> Changes {
    let mut pairs: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for value in old {
        let Ok(step) = item::element(list, value) else { continue };
        pairs.entry(step).or_default().0.push(value);
    }
    for value in new {
        let Ok(step) = item::element(list, value) else { continue };
        pairs.entry(step).or_default().1.push(value);
    }
    let mut changes = Changes::default();
    for (step, (old, new)) in pairs {
        changes.attach(&step, of_items(list, &old, &new));
    }
    changes
}

/// Compares the items of a list at one path element. Duplicate items count as one leaf.
fn of_items(list: ListShape<'_>, old: &[&Value], new: &[&Value]) -> Changes {
    match (old, new) {
        ([] | [_], [] | [_]) => visit(list.items, old.first().copied(), new.first().copied()),
        ([_, _, ..], [_, _, ..]) => {
            let equal = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| value::same(old, new));
            Changes { modified: Branch { member: !equal, below: Set::default() }, ..Changes::default() }
        }
        ([_, _, ..], _) => {
            let mut changes = visit(list.items, None, new.first().copied());
            changes.removed.member = true;
            changes
        }
        (_, [_, _, ..]) => {
            let mut changes = visit(list.items, old.first().copied(), None);
            changes.added.member = true;
            changes
        }
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object).filter(|fields| !fields.is_empty())
}
