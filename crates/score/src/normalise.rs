//! Conversion of the deprecated list forms of files and volumes into map forms.
//!
//! The same conversion as in score-go: `target` becomes the key, a list of lines becomes one string, `read_only` becomes
//! `readOnly` (both only in the list form), and the last of several entries with the same target wins.

use crate::{
    node::{Entry, Map, Node, Value},
    placeholder::to_text,
    pointer::{Path, Pointer},
};

/// Result of the conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Converted values, by their pointer before the conversion.
    pub changed: Vec<Pointer>,
    /// Entries that are not maps.
    pub not_a_map: Vec<Pointer>,
    /// Entries without a string `target`.
    pub target_missing: Vec<Pointer>,
}

impl Changes {
    /// True if every entry was converted.
    pub fn is_complete(&self) -> bool {
        self.not_a_map.is_empty() && self.target_missing.is_empty()
    }
}

/// Converts list forms into map forms, in place.
pub fn normalise(root: &mut Node) -> Changes {
    let mut changes = Changes::default();
    let root_path = Path::Root;
    let containers_path = root_path.key("containers");
    for (name, container) in entries_mut(root, "containers") {
        let path = containers_path.key(name);
        for (field, upgrade) in [("files", file as Upgrade), ("volumes", volume)] {
            let Value::Map(map) = &mut container.node.value else { continue };
            let Some(entry) = map.get_mut(field) else { continue };
            let Value::List(list) = &mut entry.node.value else { continue };
            let path = path.key(field);
            let map = by_target(std::mem::take(list), &path, upgrade, &mut changes);
            entry.node.value = Value::Map(map);
            changes.changed.push(path.pointer());
        }
    }
    whole_numbers(root);
    changes
}

type Upgrade = fn(&mut Map, &Path<'_>, &mut Changes);

fn by_target(list: Vec<Node>, path: &Path<'_>, upgrade: Upgrade, changes: &mut Changes) -> Map {
    let mut by_target = Map::new();
    for (index, mut item) in list.into_iter().enumerate() {
        let path = path.index(index);
        let Value::Map(map) = &mut item.value else {
            changes.not_a_map.push(path.pointer());
            continue;
        };
        let target = map.shift_remove("target");
        upgrade(map, &path, changes);
        match target.map(|target| (target.node.value, target.node.span)) {
            Some((Value::String(target), key_span)) => {
                by_target.insert(target, Entry { key_span, node: item });
            }
            _ => changes.target_missing.push(path.key("target").pointer()),
        }
    }
    by_target
}

fn file(map: &mut Map, path: &Path<'_>, changes: &mut Changes) {
    if let Some(content) = map.get_mut("content")
        && let Value::List(lines) = &content.node.value
    {
        let lines: Vec<_> = lines.iter().map(|line| to_text(&line.to_json())).collect();
        content.node.value = Value::String(lines.join("\n"));
        changes.changed.push(path.key("content").pointer());
    }
}

fn volume(map: &mut Map, path: &Path<'_>, changes: &mut Changes) {
    if map.get("read_only").is_some_and(|entry| entry.node.as_bool().is_some())
        && let Some(entry) = map.shift_remove("read_only")
    {
        map.insert("readOnly".to_owned(), entry);
        changes.changed.push(path.key("read_only").pointer());
    }
}

/// Ports as integers: `port: 80.0` is 80.
fn whole_numbers(root: &mut Node) {
    let fix = |map: &mut Map, field: &str| {
        if let Some(entry) = map.get_mut(field)
            && let Some(whole) = entry.node.as_integer()
        {
            entry.node.value = Value::Number(whole.into());
        }
    };
    if let Value::Map(map) = &mut root.value
        && let Some(service) = map.get_mut("service")
    {
        for (_, port) in entries_mut(&mut service.node, "ports") {
            if let Value::Map(port) = &mut port.node.value {
                fix(port, "port");
                fix(port, "targetPort");
            }
        }
    }
    for (_, container) in entries_mut(root, "containers") {
        let Value::Map(container) = &mut container.node.value else { continue };
        for probe in ["livenessProbe", "readinessProbe"] {
            if let Some(probe) = container.get_mut(probe)
                && let Value::Map(probe) = &mut probe.node.value
                && let Some(http_get) = probe.get_mut("httpGet")
                && let Value::Map(http_get) = &mut http_get.node.value
            {
                fix(http_get, "port");
            }
        }
    }
}

/// Entries of the map under a key; none if it is absent or not a map.
fn entries_mut<'n>(node: &'n mut Node, key: &str) -> impl Iterator<Item = (&'n String, &'n mut Entry)> {
    let map = match &mut node.value {
        Value::Map(map) => map.get_mut(key),
        _ => None,
    };
    map.and_then(|entry| match &mut entry.node.value {
        Value::Map(map) => Some(map.iter_mut()),
        _ => None,
    })
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn list_forms_become_map_forms() {
        let mut node = Node::from(json!({"containers": {"main": {
            "files": [{"target": "/a", "content": ["l1", "l2"], "mode": "0600"}],
            "volumes": [{"target": "/d", "source": "s", "read_only": true}],
        }}}));
        let changes = normalise(&mut node);
        assert_eq!(
            node.to_json(),
            json!({"containers": {"main": {
                "files": {"/a": {"content": "l1\nl2", "mode": "0600"}},
                "volumes": {"/d": {"source": "s", "readOnly": true}},
            }}})
        );
        let changed: Vec<_> = changes.changed.iter().map(Pointer::as_str).collect();
        assert_eq!(
            changed,
            [
                "/containers/main/files/0/content",
                "/containers/main/files",
                "/containers/main/volumes/0/read_only",
                "/containers/main/volumes"
            ]
        );
    }

    #[test]
    fn an_entry_without_a_target_is_reported_at_the_missing_target() {
        let mut node = Node::from(json!({"containers": {"main": {"files": [{"content": "x"}, 1]}}}));
        let changes = normalise(&mut node);
        assert_eq!(changes.target_missing[0].as_str(), "/containers/main/files/0/target");
        assert_eq!(changes.not_a_map[0].as_str(), "/containers/main/files/1");
        assert!(!changes.is_complete());
    }

    #[test]
    fn a_port_with_a_zero_fraction_is_a_whole_number() {
        let mut node = Node::from(json!({"service": {"ports": {"web": {"port": 80.0}}}}));
        normalise(&mut node);
        assert_eq!(node.to_json(), json!({"service": {"ports": {"web": {"port": 80}}}}));
    }
}
