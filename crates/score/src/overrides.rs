//! Overrides: an overrides file, single properties, the image.
//!
//! Applied in this order, as in the reference tools, and before list forms are normalised; a path follows the form
//! that the file uses.

use crate::{
    model::LOCAL_IMAGE,
    node::{Entry, Map, Node, Value},
    yaml::limits,
};

/// Invalid override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// `--override-property` without `=`.
    #[error("missing `=`: expected PATH=VALUE, such as containers.main.image=nginx")]
    NoEquals,
    /// Path without steps.
    #[error("empty path: the document itself cannot be replaced")]
    EmptyPath,
    /// Path deeper than a document can be.
    #[error("path too deep: more than {} steps", limits::DEPTH)]
    TooDeep,
    /// List index that is not a number.
    #[error("invalid index `{part}`: `{at}` is a list, expected a number")]
    BadIndex {
        /// Path of the list.
        at: String,
        /// Invalid step.
        part: String,
    },
    /// List index out of range.
    #[error("index {part} out of range: `{at}` is a list of length {length} (-1 appends)")]
    OutOfRange {
        /// Path of the list.
        at: String,
        /// Invalid step.
        part: String,
        /// Length of the list.
        length: usize,
    },
    /// Step into a scalar.
    #[error("invalid path: `{at}` is neither a map nor a list")]
    NotAContainer {
        /// Path of the scalar.
        at: String,
    },
    /// Overrides with several documents are ambiguous.
    #[error("overrides require exactly one Score file, found {0}")]
    NotOneDocument(usize),
    /// Containers with `image: .`, and no image.
    #[error("missing image for {}", .0.iter().map(|name| format!("container `{name}`")).collect::<Vec<_>>().join(", "))]
    ImageMissing(Vec<String>),
}

/// Overrides apply to exactly one document.
pub fn applicable_to(documents: usize) -> Result<(), OverrideError> {
    if documents == 1 { Ok(()) } else { Err(OverrideError::NotOneDocument(documents)) }
}

/// Splits a dotted path. `\.` is a dot in a key, `\\` a backslash; any other backslash is literal.
pub fn parse_path(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut chars = path.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(escaped @ ('.' | '\\'))) => {
                part.push(*escaped);
                chars.next();
            }
            ('.', _) => parts.push(std::mem::take(&mut part)),
            (other, _) => part.push(other),
        }
    }
    parts.push(part);
    parts
}

/// Splits `path=value` at the first equals sign.
pub fn parse_property(argument: &str) -> Result<(&str, &str), OverrideError> {
    argument.split_once('=').ok_or(OverrideError::NoEquals)
}

/// Sets the value at a path; null removes it. Missing parents are created as maps.
pub fn set(root: &mut Node, path: &[String], value: Node) -> Result<(), OverrideError> {
    let Some((last, parents)) = path.split_last() else { return Err(OverrideError::EmptyPath) };
    if path.len() > limits::DEPTH {
        return Err(OverrideError::TooDeep);
    }
    let mut node = root;
    for (depth, part) in parents.iter().enumerate() {
        let at = || dotted(&path[..depth]);
        node = match &mut node.value {
            Value::Map(map) => {
                &mut map
                    .entry(part.clone())
                    .or_insert_with(|| Entry { key_span: value.span, node: Node::empty_map(value.span) })
                    .node
            }
            Value::List(list) => {
                let length = list.len();
                let index = index(part, at)?;
                usize::try_from(index)
                    .ok()
                    .and_then(|index| list.get_mut(index))
                    .ok_or_else(|| OverrideError::OutOfRange { at: at(), part: part.clone(), length })?
            }
            _ => return Err(OverrideError::NotAContainer { at: at() }),
        };
    }
    let at = || dotted(parents);
    match &mut node.value {
        Value::Map(map) => set_key(map, last, value),
        Value::List(list) => set_index(list, index(last, at)?, value, at)?,
        _ => return Err(OverrideError::NotAContainer { at: at() }),
    }
    Ok(())
}

fn set_key(map: &mut Map, key: &str, value: Node) {
    if matches!(value.value, Value::Null) {
        map.swap_remove(key);
    } else {
        map.insert(key.to_owned(), Entry { key_span: value.span, node: value });
    }
}

fn set_index(
    list: &mut Vec<Node>,
    index: i64,
    value: Node,
    at: impl Fn() -> String,
) -> Result<(), OverrideError> {
    let length = list.len();
    let position = usize::try_from(index).ok().filter(|position| *position < length);
    match (position, matches!(value.value, Value::Null)) {
        (Some(position), true) => drop(list.remove(position)),
        (Some(position), false) => list[position] = value,
        (None, false) if index == -1 => list.push(value),
        _ => return Err(OverrideError::OutOfRange { at: at(), part: index.to_string(), length }),
    }
    Ok(())
}

fn index(part: &str, at: impl Fn() -> String) -> Result<i64, OverrideError> {
    part.parse().map_err(|_| OverrideError::BadIndex { at: at(), part: part.to_owned() })
}

fn dotted(path: &[String]) -> String {
    if path.is_empty() { "the document".to_owned() } else { path.join(".") }
}

/// Deep merge of an overrides file: maps are merged, everything else is replaced. Null is a plain value here and
/// removes nothing.
pub fn merge(base: &mut Node, over: Node) {
    match (&mut base.value, over.value) {
        (Value::Map(base), Value::Map(over)) => {
            for (key, entry) in over {
                match base.get_mut(&key) {
                    Some(held) => {
                        let merged = held.node.as_map().is_some() && entry.node.as_map().is_some();
                        merge(&mut held.node, entry.node);
                        if !merged {
                            held.key_span = entry.key_span;
                        }
                    }
                    None => drop(base.insert(key, entry)),
                }
            }
        }
        (_, value) => *base = Node { value, span: over.span },
    }
}

/// JSON merge patch: as [`merge`], but null removes a key.
pub fn merge_patch(base: &mut Node, patch: Node) {
    match (&mut base.value, patch.value) {
        (Value::Map(base), Value::Map(patch)) => {
            for (key, entry) in patch {
                if matches!(entry.node.value, Value::Null) {
                    base.swap_remove(&key);
                } else if let Some(held) = base.get_mut(&key) {
                    merge_patch(&mut held.node, entry.node);
                } else {
                    base.insert(key, entry);
                }
            }
        }
        (_, value) => *base = Node { value, span: patch.span },
    }
}

/// Sets the image of all containers with `image: .` and returns their number. Other images stay.
pub fn set_image(root: &mut Node, image: Option<&Node>) -> Result<usize, OverrideError> {
    let mut missing = Vec::new();
    let mut given = 0;
    if let Value::Map(map) = &mut root.value
        && let Some(containers) = map.get_mut("containers")
        && let Value::Map(containers) = &mut containers.node.value
    {
        for (name, container) in containers {
            if let Value::Map(container) = &mut container.node.value
                && let Some(held) = container.get_mut("image")
                && held.node.as_str() == Some(LOCAL_IMAGE)
            {
                match image {
                    Some(image) => {
                        *held = Entry { key_span: image.span, node: image.clone() };
                        given += 1;
                    }
                    None => missing.push(name.clone()),
                }
            }
        }
    }
    if missing.is_empty() { Ok(given) } else { Err(OverrideError::ImageMissing(missing)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn set_in(document: Json, path: &str, value: Json) -> Result<Json, String> {
        let mut node = Node::from(document);
        set(&mut node, &parse_path(path), value.into()).map_err(|error| error.to_string())?;
        Ok(node.to_json())
    }

    #[test]
    fn paths_are_split_at_dots_that_are_not_escaped() {
        assert_eq!(parse_path("a.b\\.c"), ["a", "b.c"]);
        assert_eq!(parse_path("a.b\\\\.c"), ["a", "b\\", "c"]);
        assert_eq!(parse_path("a\\b"), ["a\\b"]);
        assert_eq!(parse_path(""), [""]);
        assert_eq!(parse_path(".a."), ["", "a", ""]);
    }

    #[test]
    fn values_are_set_appended_and_removed() {
        assert_eq!(set_in(json!({}), "a.b", json!("x")), Ok(json!({"a": {"b": "x"}})));
        assert_eq!(set_in(json!({"a": [1, 2]}), "a.-1", json!(3)), Ok(json!({"a": [1, 2, 3]})));
        assert_eq!(set_in(json!({"a": [1, 2]}), "a.0", json!(null)), Ok(json!({"a": [2]})));
        assert_eq!(set_in(json!({"a": {"b": 1}}), "a.b", json!(null)), Ok(json!({"a": {}})));
        assert_eq!(set_in(json!({"a": {"0": 1}}), "a.0", json!(2)), Ok(json!({"a": {"0": 2}})));
    }

    #[test]
    fn an_invalid_path_names_the_value_where_it_ends() {
        for (document, path, want) in [
            (json!({"a": "x"}), "a.b", "invalid path: `a` is neither a map nor a list"),
            (json!({"a": ["x"]}), "a.1", "index 1 out of range: `a` is a list of length 1 (-1 appends)"),
            (json!({"a": [{}]}), "a.-1.b", "index -1 out of range: `a` is a list of length 1 (-1 appends)"),
            (json!({"a": []}), "a.first", "invalid index `first`: `a` is a list, expected a number"),
        ] {
            assert_eq!(set_in(document, path, json!(1)), Err(want.to_owned()), "{path}");
        }
    }

    #[test]
    fn an_overrides_file_merges_maps_and_replaces_everything_else() {
        let mut base = Node::from(json!({"m": {"a": 1, "l": [1, 2]}, "keep": true}));
        merge(&mut base, json!({"m": {"l": [3], "n": null, "o": {}}}).into());
        assert_eq!(base.to_json(), json!({"m": {"a": 1, "l": [3], "n": null, "o": {}}, "keep": true}));
    }

    #[test]
    fn an_image_is_set_only_in_containers_with_a_dot() {
        let document = json!({"containers": {"a": {"image": "."}, "b": {"image": "nginx"}}});
        let mut node = Node::from(document.clone());
        assert_eq!(set_image(&mut node, Some(&json!("app:1").into())), Ok(1));
        assert_eq!(node.to_json(), json!({"containers": {"a": {"image": "app:1"}, "b": {"image": "nginx"}}}));
        let error = set_image(&mut Node::from(document), None).unwrap_err();
        assert_eq!(error.to_string(), "missing image for container `a`");
    }
}
