//! Content at the level of its parent: not indented under it, or without it.

use super::hint;
use crate::{
    grammar::{Field, Object, Shape},
    node::{Map, Node, Value},
};

/// Key that belongs to a field next to it.
pub(super) struct Unindented<'m> {
    pub(super) key: &'m str,
    /// The field, which is null.
    pub(super) parent: &'static Field,
    /// Shape of the value and its field; none for free-form content.
    pub(super) content: Option<(Shape, Option<&'static Field>)>,
}

/// Unknown keys of an object that are the content of a null field next to them. Which keys these are does not depend
/// on the order in the file.
pub(super) fn unindented<'m>(object: &'static Object, map: &'m Map) -> Vec<Unindented<'m>> {
    let is_null =
        |field: &&Field| map.get(field.name).is_some_and(|entry| matches!(entry.node.value, Value::Null));
    let parents: Vec<&'static Field> = object.fields.iter().filter(|field| is_null(field)).collect();
    if parents.is_empty() || object.open {
        return Vec::new();
    }
    let unknown = map.iter().filter(|(key, _)| object.field(key).is_none());
    let found = unknown.filter_map(|(key, entry)| {
        let fitting = |parent: &&'static Field| fits(object, parent, key, &entry.node);
        let position = map.get_index_of(key);
        let is_above = |parent: &&&'static Field| map.get_index_of(parent.name) < position;
        let parent = parents
            .iter()
            .filter(is_above)
            .filter(|parent| fitting(parent))
            .max_by_key(|parent| map.get_index_of(parent.name))
            .or_else(|| parents.iter().find(|parent| fitting(parent)))?;
        Some(Unindented { key, parent, content: content(parent.shape, key) })
    });
    found.collect()
}

/// True if a key and its value can be content of a field.
fn fits(object: &'static Object, parent: &Field, key: &str, node: &Node) -> bool {
    match parent.shape {
        Shape::Object(inner) => inner.field(key).is_some(),
        Shape::Map(map) | Shape::MapOrList(map, _) => {
            map.keys.accepts(key)
                && !hint::is_known_elsewhere(object, key)
                && match map.values {
                    Shape::Object(inner) => inner.is_begun_by(node),
                    _ => !matches!(node.value, Value::Null | Value::Map(_) | Value::List(_)),
                }
        }
        Shape::FreeMap => !hint::is_known_elsewhere(object, key),
        _ => false,
    }
}

/// Shape of a key in a field.
fn content(parent: Shape, key: &str) -> Option<(Shape, Option<&'static Field>)> {
    match parent {
        Shape::Object(inner) => inner.field(key).map(|field| (field.shape, Some(field))),
        Shape::Map(map) | Shape::MapOrList(map, _) => Some((map.values, None)),
        _ => None,
    }
}

/// Missing level of an object: the field that is absent, and the fields of that field that are found instead of it.
/// Applies to objects whose fields are all objects, such as a probe with `path` and `port`.
pub(super) fn missing_level(
    object: &'static Object,
    map: &Map,
) -> Option<(&'static Field, Vec<&'static Field>)> {
    let inner = |field: &'static Field| match field.shape {
        Shape::Object(inner) => Some((field, inner)),
        _ => None,
    };
    let levels: Option<Vec<_>> = object.fields.iter().map(inner).collect();
    levels?.into_iter().filter(|(field, _)| !map.contains_key(field.name)).find_map(|(field, inner)| {
        // In the order of the grammar, so that the result does not depend on the order in the file.
        let found: Vec<_> = inner.fields.iter().filter(|inner| map.contains_key(inner.name)).collect();
        (!found.is_empty()).then_some((field, found))
    })
}
