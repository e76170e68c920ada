//! Minimum release of the Score specification that a document requires.
//!
//! `apiVersion` is `score.dev/v1b1` in all releases, so the features in use decide.

use std::fmt;

use crate::node::{Node, Value};

/// Release of the Score specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpecVersion {
    /// First release.
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
    /// Newest supported release.
    pub const NEWEST: Self = Self::V0_4_1;

    /// Lowest release with all features that the document uses.
    pub fn required_by(root: &Node) -> Self {
        root.entries("containers").map(|(_, entry)| container(&entry.node)).max().unwrap_or(Self::V0_1_0)
    }
}

fn container(container: &Node) -> SpecVersion {
    let mut required = SpecVersion::V0_1_0;
    let mut require = |version: SpecVersion, when: bool| {
        if when {
            required = required.max(version);
        }
    };
    let form = |field| container.get(field).map(|node| &node.value);
    require(SpecVersion::V0_3_0, matches!(form("files"), Some(Value::Map(_))));
    require(SpecVersion::V0_3_0, matches!(form("volumes"), Some(Value::Map(_))));
    require(SpecVersion::V0_4_0, container.get("before").is_some());
    let binary = |file: &Node| file.get("binaryContent").is_some();
    require(SpecVersion::V0_2_0, container.entries("files").any(|(_, entry)| binary(&entry.node)));
    require(
        SpecVersion::V0_2_0,
        container.get("files").and_then(Node::as_list).into_iter().flatten().any(binary),
    );
    for probe in ["livenessProbe", "readinessProbe"] {
        require(SpecVersion::V0_2_0, container.get(probe).is_some_and(|probe| probe.get("exec").is_some()));
    }
    for part in ["limits", "requests"] {
        let memory = container.get("resources").and_then(|r| r.get(part)?.get("memory")?.as_str());
        require(SpecVersion::V0_4_1, memory.is_some_and(|memory| memory.contains(['.', 'P', 'E'])));
    }
    required
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
    fn each_feature_requires_the_release_that_introduced_it() {
        let required = |container: Json| {
            SpecVersion::required_by(&Node::from(json!({"containers": {"main": container}}))).to_string()
        };
        assert_eq!(required(json!({"image": "x", "files": [{"target": "/a", "content": "x"}]})), "0.1.0");
        assert_eq!(
            required(json!({"image": "x", "files": [{"target": "/a", "binaryContent": "eA=="}]})),
            "0.2.0"
        );
        assert_eq!(required(json!({"livenessProbe": {"exec": {"command": []}}})), "0.2.0");
        assert_eq!(required(json!({"volumes": {}})), "0.3.0");
        assert_eq!(required(json!({"files": {"/a": {"content": "x"}}})), "0.3.0");
        assert_eq!(required(json!({"before": {}})), "0.4.0");
        assert_eq!(required(json!({"resources": {"limits": {"memory": "1.5Gi"}}})), "0.4.1");
        assert_eq!(required(json!({"resources": {"requests": {"memory": "1Pi"}}})), "0.4.1");
        assert_eq!(required(json!({"resources": {"requests": {"memory": "1Gi", "cpu": "0.5"}}})), "0.1.0");
    }
}
