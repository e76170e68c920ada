//! Wrong nesting in a map of objects, such as `containers`: fields without the name of their object, or next to it.

use super::hint::{self, COMPUTE_IN_CONTAINER};
use crate::{
    code::Code,
    diagnostic::backticked,
    grammar::{Field, MapOf, Object, Shape},
    node::{Map, Node, Value},
};

/// Layout of a map of objects.
pub(super) struct Nesting<'m> {
    object: &'static Object,
    map_of: &'static MapOf,
    map: &'m Map,
    /// Required field of an object without a name, such as `image` in `containers: {image: nginx}`.
    unnamed: Option<&'static str>,
    /// True if there is a null entry, to which misplaced fields belong.
    has_empty: bool,
}

/// Verdict about an entry of the map.
pub(super) enum Verdict {
    /// An object, or an attempt at one.
    Entry,
    /// Part of an object that is reported at another key.
    Reported,
    /// Field of a null entry, whose content is checked.
    Content(&'static Field),
    /// Null entry, with the fields next to it that belong to it.
    Unindented(Vec<String>),
    /// Misplaced: the code, the message if it is not the one for the type, and the hint.
    Misplaced(Code, Option<String>, String),
}

impl<'m> Nesting<'m> {
    /// Layout of a map; none for maps of other values.
    pub(super) fn of(map_of: &'static MapOf, map: &'m Map) -> Option<Self> {
        let Shape::Object(object) = map_of.values else { return None };
        let is_scalar = |node: &Node| !matches!(node.value, Value::Map(_) | Value::Null);
        // In the order of the grammar, so that the result does not depend on the order in the file.
        let unnamed =
            object.fields.iter().map(|field| field.name).find(|name| {
                object.requires(name) && map.get(*name).is_some_and(|entry| is_scalar(&entry.node))
            });
        let has_empty = map.iter().any(|(key, entry)| is_empty(object, key, &entry.node));
        Some(Self { object, map_of, map, unnamed, has_empty })
    }

    /// Verdict about an entry. `field` is the field of the map.
    pub(super) fn verdict(&self, key: &str, node: &Node, field: Option<&'static Field>) -> Verdict {
        let noun = self.object.noun;
        if noun == "a resource" && is_compute(key) && !self.is_object(node) {
            let message = format!("`{key}` is a field of the `resources` of a container, not a resource");
            return Verdict::Misplaced(Code::UnknownField, Some(message), COMPUTE_IN_CONTAINER.to_owned());
        }
        if noun == "a container" && key == "ports" && !self.is_object(node) {
            let message = "`ports` belongs under `service`, not under `containers`".to_owned();
            let hint = format!("write `service: {{{}}}`", hint::ports(node));
            return Verdict::Misplaced(Code::UnknownField, Some(message), hint);
        }
        if is_empty(self.object, key, node) {
            let fields = self.fields_below(key);
            return if fields.is_empty() { Verdict::Entry } else { Verdict::Unindented(fields) };
        }
        if !self.is_misplaced(key, node) {
            return Verdict::Entry;
        }
        if let Some(field) = self.object.field(key).filter(|_| self.has_empty) {
            return Verdict::Content(field);
        }
        if let Some(unnamed) = self.unnamed {
            if key != unnamed {
                return Verdict::Reported;
            }
            return Verdict::Misplaced(Code::TypeMismatch, None, self.add_name(key, node, field));
        }
        let message = format!("`{key}` is a field of {noun}, not {noun} (wrong indentation)");
        let hint = match self.object_above(key) {
            Some(name) => format!("indent it under {}", backticked(name)),
            None => self.add_name(key, node, field),
        };
        Verdict::Misplaced(Code::UnknownField, Some(message), hint)
    }

    fn is_misplaced(&self, key: &str, node: &Node) -> bool {
        self.object.field(key).is_some() && !self.is_object(node)
    }

    /// True for a map with a required field, also a misspelled one.
    fn is_object(&self, node: &Node) -> bool {
        let required = || self.object.fields.iter().filter(|field| self.object.requires(field.name));
        let is_required = |key: &String| required().any(|field| hint::is_meant_as(key, field));
        node.as_map().is_some_and(|map| map.keys().take(100).any(is_required))
    }

    /// The object that a misplaced field follows, or else the first one.
    fn object_above(&self, key: &str) -> Option<&str> {
        self.name_above(key, |name, node| !self.is_misplaced(name, node))
    }

    /// Misplaced fields that belong to a null entry.
    fn fields_below(&self, empty: &str) -> Vec<String> {
        let misplaced = self.map.iter().filter(|(key, entry)| self.is_misplaced(key, &entry.node));
        let belongs =
            |key: &str| self.name_above(key, |name, node| is_empty(self.object, name, node)) == Some(empty);
        misplaced.map(|(key, _)| key.clone()).filter(|key| belongs(key)).collect()
    }

    /// Last entry of a kind above a key, or else the first one.
    fn name_above(&self, key: &str, is_kind: impl Fn(&str, &Node) -> bool) -> Option<&str> {
        let names = || {
            self.map.iter().filter(|(name, entry)| is_kind(name, &entry.node)).map(|(name, _)| name.as_str())
        };
        let position = self.map.get_index_of(key)?;
        let above = names().take_while(|name| self.map.get_index_of(*name).is_some_and(|at| at < position));
        above.last().or_else(|| names().next())
    }

    fn add_name(&self, key: &str, node: &Node, field: Option<&'static Field>) -> String {
        let noun = self.map_of.keys.noun;
        let Some(field) = field else { return format!("add the {noun}") };
        // The example starts with the name of an entry: `containers: {main: …`.
        let name = field.example.split(['{', ':']).nth(2).map_or("name", str::trim);
        let value = hint::flow(node).unwrap_or_else(|| "…".to_owned());
        let more = if self.map.len() > 1 { ", …" } else { "" };
        format!("add the {noun}: `{}: {{{name}: {{{key}: {value}{more}}}}}`", field.name)
    }
}

/// True for a name without an object.
fn is_empty(object: &Object, key: &str, node: &Node) -> bool {
    matches!(node.value, Value::Null) && object.field(key).is_none()
}

/// True for a field of the compute resources of a container.
fn is_compute(key: &str) -> bool {
    matches!(key, "cpu" | "memory" | "limits" | "requests")
}
