//! Labels of Workloads and of objects that the orchestrator creates.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// Workload that an object belongs to.
pub const WORKLOAD: &str = "score.dev/workload";
/// Key of a claim under `resources`.
pub const KEY: &str = "score.dev/key";
/// Instance that a claim or an object belongs to.
pub const INSTANCE: &str = "score.dev/instance";
/// `true` on config maps of the system namespace that contain provisioner files.
pub const PROVISIONERS: &str = "score.dev/provisioners";
/// Name of the Workload, for common tools.
pub const APP: &str = "app";
/// Manager of an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`MANAGED_BY`].
pub const ORCHESTRA: &str = "orchestra";

/// Labels of a Score document as labels of an object. `None` if they are not valid there: Score allows any value.
pub(crate) fn of_object(labels: &Json) -> Option<BTreeMap<String, String>> {
    let labels = labels.as_object()?.iter().map(|(key, value)| {
        let value = value.as_str().filter(|value| value.is_empty() || is_name(value))?;
        is_key(key).then(|| (key.clone(), value.to_owned()))
    });
    labels.collect::<Option<BTreeMap<_, _>>>().filter(|labels| !labels.is_empty())
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
