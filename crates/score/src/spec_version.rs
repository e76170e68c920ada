//! Which release of the specification a document needs.
//!
//! `apiVersion` stays `score.dev/v1b1` from release to release, so it does not tell.

use std::fmt;

use crate::node::{Node, Value};

/// A release of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpecVersion {
    /// The first release.
    V0_1_0,
    /// Command probes and binary file contents.
    V0_2_0,
    /// The map forms of files and volumes.
    V0_3_0,
    /// `before`.
    V0_4_0,
    /// Fractions of memory, and the units P, E, Pi and Ei.
    V0_4_1,
}

impl SpecVersion {
    /// The newest release that this implementation knows.
    pub const NEWEST: Self = Self::V0_4_1;

    /// The lowest release that has everything the document uses.
    pub fn needed_by(root: &Node) -> Self {
        root.entries("containers").map(|(_, entry)| container(&entry.node)).max().unwrap_or(Self::V0_1_0)
    }
}

fn container(container: &Node) -> SpecVersion {
    let mut needed = SpecVersion::V0_1_0;
    let mut needs = |version: SpecVersion, when: bool| {
        if when {
            needed = needed.max(version);
        }
    };
    let form = |field| container.get(field).map(|node| &node.value);
    needs(SpecVersion::V0_3_0, matches!(form("files"), Some(Value::Map(_))));
    needs(SpecVersion::V0_3_0, matches!(form("volumes"), Some(Value::Map(_))));
    needs(SpecVersion::V0_4_0, container.get("before").is_some());
    let binary = |file: &Node| file.get("binaryContent").is_some();
    needs(SpecVersion::V0_2_0, container.entries("files").any(|(_, entry)| binary(&entry.node)));
    needs(
        SpecVersion::V0_2_0,
        container.get("files").and_then(Node::as_list).into_iter().flatten().any(binary),
    );
    for probe in ["livenessProbe", "readinessProbe"] {
        needs(SpecVersion::V0_2_0, container.get(probe).is_some_and(|probe| probe.get("exec").is_some()));
    }
    for part in ["limits", "requests"] {
        let memory = container.get("resources").and_then(|r| r.get(part)?.get("memory")?.as_str());
        needs(SpecVersion::V0_4_1, memory.is_some_and(|memory| memory.contains(['.', 'P', 'E'])));
    }
    needed
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V0_1_0 => "0.1.0",
            Self::V0_2_0 => "0.2.0",
            Self::V0_3_0 => "0.3.0",
            Self::V0_4_0 => "0.4.0",
            Self::V0_4_1 => "0.4.1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn each_feature_needs_the_release_that_brought_it() {
        let needed = |container: Json| {
            SpecVersion::needed_by(&Node::from(json!({"containers": {"main": container}}))).to_string()
        };
        assert_eq!(needed(json!({"image": "x", "files": [{"target": "/a", "content": "x"}]})), "0.1.0");
        assert_eq!(
            needed(json!({"image": "x", "files": [{"target": "/a", "binaryContent": "eA=="}]})),
            "0.2.0"
        );
        assert_eq!(needed(json!({"livenessProbe": {"exec": {"command": []}}})), "0.2.0");
        assert_eq!(needed(json!({"volumes": {}})), "0.3.0");
        assert_eq!(needed(json!({"files": {"/a": {"content": "x"}}})), "0.3.0");
        assert_eq!(needed(json!({"before": {}})), "0.4.0");
        assert_eq!(needed(json!({"resources": {"limits": {"memory": "1.5Gi"}}})), "0.4.1");
        assert_eq!(needed(json!({"resources": {"requests": {"memory": "1Pi"}}})), "0.4.1");
        assert_eq!(needed(json!({"resources": {"requests": {"memory": "1Gi", "cpu": "0.5"}}})), "0.1.0");
    }
}
