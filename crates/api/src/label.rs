//! Labels of Workloads and of objects that the orchestrator creates.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::annotation;

/// Workload that an object belongs to.
pub const WORKLOAD: &str = "score.dev/workload";
/// Key of a claim under `resources`.
pub const KEY: &str = "score.dev/key";
/// Instance that a claim or an object belongs to.
pub const INSTANCE: &str = "score.dev/instance";
/// `true` on config maps of the system namespace that contain provisioner files.
pub const PROVISIONERS: &str = "score.dev/provisioners";
/// Name of the user of the embedded platform that an object belongs to.
pub const USER: &str = "score.dev/user";
/// Name of the Workload, for common tools.
pub const APP: &str = "app";
/// Manager of an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`MANAGED_BY`].
pub const ORCHESTRA: &str = "orchestra";

/// True if only the orchestrator sets the label: it identifies the owner of an object.
pub fn is_reserved(key: &str) -> bool {
    annotation::is_ours(key) || key == MANAGED_BY
}

/// Labels of a Score document: those that its object may have, and the others. Score allows any value, and those of the
/// orchestrator identify what it creates.
pub(crate) fn split(labels: &Map<String, Json>) -> (BTreeMap<String, String>, Map<String, Json>) {
    let (mut valid, mut others) = (BTreeMap::new(), Map::new());
    for (key, value) in labels {
        match value
            .as_str()
            .filter(|value| is_key(key) && !is_reserved(key) && (value.is_empty() || is_name(value)))
        {
            Some(value) => drop(valid.insert(key.clone(), value.to_owned())),
            None => drop(others.insert(key.clone(), value.clone())),
        }
    }
    (valid, others)
}

fn is_key(key: &str) -> bool {
    let is_part = |part: &str| {
        let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.starts_with(is_inside)
            && part.ends_with(is_inside)
            && part.chars().all(|c| is_inside(c) || c == '-')
    };
    match key.split_once('/') {
        Some((domain, name)) => domain.len() <= 253 && domain.split('.').all(is_part) && is_name(name),
        None => is_name(key),
    }
}

fn is_name(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(is_inside)
        && text.ends_with(is_inside)
        && text.chars().all(|c| is_inside(c) || "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_that_an_object_cannot_have_are_kept_apart() {
        for (key, value, is_valid) in [
            ("team", json!("shop"), true),
            ("team", json!(""), true),
            ("example.org/team", json!("shop-1_a.b"), true),
            ("team", json!("the shop"), false),
            ("team", json!(7), false),
            ("team", json!("x".repeat(64)), false),
            ("the team", json!("shop"), false),
            ("Example.org/team", json!("shop"), false),
            ("/team", json!("shop"), false),
            ("-team", json!("shop"), false),
            (INSTANCE, json!("postgres-1"), false),
        ] {
            let labels = Map::from_iter([(key.to_owned(), value.clone()), ("app".to_owned(), json!("web"))]);
            let (valid, others) = split(&labels);
            assert_eq!(valid["app"], "web");
            assert_eq!(
                (valid.contains_key(key), others.contains_key(key)),
                (is_valid, !is_valid),
                "{key} {value}"
            );
        }
    }
}
