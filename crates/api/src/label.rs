//! Labels on what the orchestrator makes, and of Workloads.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// The Workload that an object is made for.
pub const WORKLOAD: &str = "score.dev/workload";
/// The key of the resource that a claim is for.
pub const KEY: &str = "score.dev/key";
/// The instance behind claims; on everything that is made for it.
pub const INSTANCE: &str = "score.dev/instance";
/// `true` on config maps of the platform's namespace that hold provisioner files.
pub const PROVISIONERS: &str = "score.dev/provisioners";
/// The name of the Workload, as tools expect it.
pub const APP: &str = "app";
/// Who looks after an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub const ORCHESTRA: &str = "orchestra";

/// The labels that an author wrote, as those of an object. `None` if an object cannot have them: Score lets authors
/// write anything there.
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
