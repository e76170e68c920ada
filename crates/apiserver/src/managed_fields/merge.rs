//! Merge of an applied configuration into the live object.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::item;
use super::path::PathElement;
use super::shape::{ItemIdentity, ListShape, MapShape, Reading, Shape};

/// Live value merged with the applied one; none if both are empty. Both must have the shape.
pub(super) fn merge(shape: Shape<'_>, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let leading = applied.or(live)?;
    match shape.reading(leading) {
        Reading::Scalar(_) => Some(leading.clone()),
        Reading::List(list) => {
            let (live, applied) = (items(live), items(applied));
            // If both are empty, null and empty stay different.
            let leaf =
                matches!(list.identity, ItemIdentity::Atomic) || (live.is_empty() && applied.is_empty());
            if leaf { Some(leading.clone()) } else { merge_lists(list, live, applied) }
        }
        Reading::Map(map) => {
            let (live, applied) = (fields(live), fields(applied));
            let leaf = map.atomic || (live.is_none() && applied.is_none());
            if leaf { Some(leading.clone()) } else { merge_maps(map, live, applied) }
        }
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object).filter(|fields| !fields.is_empty())
}

fn merge_maps(
    map: MapShape<'_>,
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
) -> Option<Value> {
    let names: BTreeSet<&String> = [live, applied].into_iter().flatten().flat_map(Map::keys).collect();
    let merged: Map<String, Value> = names
        .into_iter()
        .filter_map(|name| {
            let shape = map.child(name).unwrap_or(Shape::Untyped);
            let live = live.and_then(|fields| fields.get(name));
            let applied = applied.and_then(|fields| fields.get(name));
            merge(shape, live, applied).map(|value| (name.clone(), value))
        })
        .collect();
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// Merges keyed lists and sets. Items of the applied list keep their order; items that only the live list has keep
/// their place relative to the shared ones.
fn merge_lists(list: ListShape<'_>, live: &[Value], applied: &[Value]) -> Option<Value> {
    let live = Side::new(list, live);
    let applied = Side::new(list, applied);
    let mut shared: VecDeque<&PathElement> =
        applied.steps.iter().filter(|step| live.by_step.contains_key(step)).collect();
    let mut merged = BTreeSet::new();
    let mut out = Vec::with_capacity(live.steps.len().max(applied.steps.len()));
    let (mut l, mut a) = (0, 0);
    while l < live.steps.len() || a < applied.steps.len() {
        if let (Some(ours), Some(theirs)) = (live.steps.get(l), applied.steps.get(a)) {
            if ours == theirs {
                out.extend(merge(list.items, live.item(ours), applied.item(ours)));
                merged.insert(ours);
                shared.pop_front();
                (l, a) = (l + 1, a + 1);
                continue;
            }
            let later =
                applied.by_step.contains_key(ours) && shared.front().is_some_and(|next| *next != ours);
            if later {
                l += 1;
                continue;
            }
        }
        if let Some(ours) = live.steps.get(l) {
            if !applied.by_step.contains_key(ours) {
                out.extend(merge(list.items, Some(live.values[l]), None));
                l += 1;
                continue;
            }
            if merged.contains(ours) {
                l += 1;
            }
        }
        if let Some(theirs) = applied.steps.get(a) {
            out.extend(merge(list.items, live.item(theirs), applied.item(theirs)));
            merged.insert(theirs);
            a += 1;
            if shared.front().is_some_and(|next| *next == theirs) {
                shared.pop_front();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}

/// One of two lists: the steps to its items, in order, and the item at each step.
struct Side<'v> {
    steps: Vec<PathElement>,
    values: Vec<&'v Value>,
    by_step: BTreeMap<PathElement, &'v Value>,
}

impl<'v> Side<'v> {
    fn new(list: ListShape<'_>, items: &'v [Value]) -> Self {
        const NULL: &Value = &Value::Null;
        let mut side = Self { steps: Vec::new(), values: Vec::new(), by_step: BTreeMap::new() };
        for value in items {
            let Ok(step) = item::element(list, value) else { continue };
            // Duplicate items are not merged.
            side.by_step.entry(step.clone()).and_modify(|first| *first = NULL).or_insert(value);
            side.steps.push(step);
            side.values.push(value);
        }
        side
    }

    fn item(&self, step: &PathElement) -> Option<&'v Value> {
        self.by_step.get(step).copied()
    }
}
