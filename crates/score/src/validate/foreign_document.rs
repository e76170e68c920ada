//! Documents of other tools that are passed as Score files by mistake.

use super::hint;
use crate::{diagnostic::backticked, grammar::WORKLOAD, node::Map};

/// Key that shows that the document is a file of another tool, and the tool.
pub(super) fn foreign_document(map: &Map) -> Option<(&'static str, String)> {
    let text = |key: &str| map.get(key).and_then(|entry| entry.node.as_str());
    let is_score =
        text("apiVersion").is_some_and(|version| version.contains("score")) || map.contains_key("containers");
    let is_field = |key: &&String| WORKLOAD.fields.iter().any(|field| hint::is_meant_as(key, field));
    let is_compose =
        || map.keys().take(100).filter(|key| *key != "services" && *key != "name").find(is_field).is_none();
    match (text("apiVersion"), text("kind")) {
        _ if is_score => None,
        (Some(_), Some(kind)) => Some(("kind", format!("a Kubernetes manifest (kind {})", backticked(kind)))),
        (None, None)
            if map.get("services").is_some_and(|entry| entry.node.as_map().is_some()) && is_compose() =>
        {
            Some(("services", "a Docker Compose file".to_owned()))
        }
        _ => None,
    }
}
