//! Workload after a server-side apply.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use orchestra_api::{Workload, annotation};

/// Workload after `orchestra apply`: a server-side apply by the field manager of its spec.
///
/// A new one has the uid `""`, since its uid is unknown, and generation 1. An existing one keeps its uid, finalizers and
/// status, and the labels and `score.dev` annotations of other field managers. If `orchestra down` has suspended it, it is
/// resumed.
pub fn propose(live: Option<&Workload>, proposed: Workload) -> Workload {
    let Workload { metadata, spec, status: _ } = proposed;
    let ObjectMeta { name, namespace, labels, annotations, .. } = metadata;
    let Some(live) = live else {
        let metadata = ObjectMeta {
            name,
            namespace,
            labels,
            annotations,
            uid: Some(String::new()),
            generation: Some(1),
            ..ObjectMeta::default()
        };
        return Workload { metadata, spec, status: None };
    };
    let current = &live.metadata;
    let mut others_annotations = kept(current, current.annotations.as_ref(), "f:annotations");
    others_annotations.retain(|key, _| annotation::is_ours(key));
    let metadata = ObjectMeta {
        annotations: merged(others_annotations, annotations),
        labels: merged(kept(current, current.labels.as_ref(), "f:labels"), labels),
        generation: current.generation.map(|generation| generation + i64::from(spec != live.spec)),
        managed_fields: None,
        ..current.clone()
    };
    Workload { metadata, spec, status: live.status.clone() }
}

/// True if `orchestra down` has suspended the Workload, so that an apply resumes it: its field manager gives up the
/// annotation.
pub fn resumes(live: &Workload) -> bool {
    let managed_fields = live.metadata.managed_fields.iter().flatten();
    managed_fields
        .filter(|entry| is_suspension(entry))
        .any(|entry| owned_keys(entry, "f:annotations").contains(&annotation::SUSPEND))
}

/// True if the fields belong to the field manager of `orchestra down`.
fn is_suspension(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() == Some(annotation::SUSPEND_MANAGER)
}

/// Entries of the author, beside those of others.
fn merged(
    mut others: BTreeMap<String, String>,
    authors: Option<BTreeMap<String, String>>,
) -> Option<BTreeMap<String, String>> {
    others.extend(authors.into_iter().flatten());
    (!others.is_empty()).then_some(others)
}

/// Entries of a map that only managers other than those of the spec own.
fn kept(
    metadata: &ObjectMeta,
    entries: Option<&BTreeMap<String, String>>,
    field: &str,
) -> BTreeMap<String, String> {
    let is_kept = |entry: &&ManagedFieldsEntry| entry.subresource.is_none() && !is_suspension(entry);
    let managed_fields = metadata.managed_fields.iter().flatten().filter(is_kept);
    let (mut authors, mut others) = (BTreeSet::new(), BTreeSet::new());
    for entry in managed_fields {
        let keys = owned_keys(entry, field);
        if writes_spec(entry) { authors.extend(keys) } else { others.extend(keys) }
    }
    let kept = entries.into_iter().flatten();
    kept.filter(|(key, _)| others.contains(key.as_str()) && !authors.contains(key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn writes_spec(entry: &ManagedFieldsEntry) -> bool {
    entry.fields_v1.as_ref().is_some_and(|fields| fields.0.get("f:spec").is_some())
}

fn owned_keys<'a>(entry: &'a ManagedFieldsEntry, field: &str) -> Vec<&'a str> {
    let fields = entry.fields_v1.as_ref().and_then(|fields| fields.0["f:metadata"][field].as_object());
    fields.into_iter().flatten().filter_map(|(key, _)| key.strip_prefix("f:")).collect()
}
