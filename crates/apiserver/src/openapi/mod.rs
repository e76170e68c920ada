//! `OpenAPI` v3 documents, for `kubectl explain`, `kubectl apply` and code generators.
//!
//! One document for each group and version, so that a client fetches only what it needs. A custom kind is published
//! from its own schema, as a real server publishes it; the texts of the built-in kinds and of shared types
//! (`ObjectMeta`, `Status`, …) come from data files.

mod components;
mod names;
mod paths;
mod published;

use serde_json::{Map, Value, json};

use crate::kinds::Kind;

/// Index of all documents: for each path (`api/v1`, `apis/score.dev/v1b1`) the URL of its document. The URL has a hash
/// of the content, so that clients may cache it indefinitely.
pub(crate) fn index(groups: &[(String, String)]) -> Value {
    let paths: Map<String, Value> = groups
        .iter()
        .map(|(path, hash)| {
            (path.clone(), json!({ "serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}") }))
        })
        .collect();
    json!({ "paths": paths })
}

/// The document of one group and version with these kinds.
pub(crate) fn document(group: &str, version: &str, kinds: &[&Kind]) -> Value {
    let mut paths = Map::new();
    for kind in kinds {
        paths::of_kind(group, version, kind, &mut paths);
    }
    let info = if kinds.iter().all(|kind| kind.custom) {
        json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" })
    } else {
        json!({ "title": "Kubernetes", "version": "1.36" })
    };
    json!({
        "openapi": "3.0.0",
        "info": info,
        "paths": paths,
        "components": components::of_kinds(kinds),
    })
}

#[cfg(test)]
mod tests;
