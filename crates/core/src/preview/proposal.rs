//! The object that the API would hold after an apply.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use orchestra_api::{Workload, annotation};

/// The Workload that the API would hold after a server-side apply by whoever wrote its spec.
///
/// A new one has the uid `""`, since its uid is not known before it exists, and generation 1. An existing one keeps its
/// identity, its finalizers and its status; the labels, and the annotations to the platform, that others have put on it
/// stay as well.
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
    let held = &live.metadata;
    let mut others_annotations = kept(held, held.annotations.as_ref(), "f:annotations");
    others_annotations.retain(|key, _| annotation::is_ours(key));
    let metadata = ObjectMeta {
        annotations: together(others_annotations, annotations),
        labels: together(kept(held, held.labels.as_ref(), "f:labels"), labels),
        generation: held.generation.map(|generation| generation + i64::from(spec != live.spec)),
        managed_fields: None,
        ..held.clone()
    };
    Workload { metadata, spec, status: live.status.clone() }
}

/// What the author says, and beside it what others have put there.
fn together(
    mut others: BTreeMap<String, String>,
    authors: Option<BTreeMap<String, String>>,
) -> Option<BTreeMap<String, String>> {
    others.extend(authors.into_iter().flatten());
    (!others.is_empty()).then_some(others)
}

/// The entries of a map that only others than the writers of the spec have noted.
fn kept(
    metadata: &ObjectMeta,
    entries: Option<&BTreeMap<String, String>>,
    field: &str,
) -> BTreeMap<String, String> {
    let notes = metadata.managed_fields.iter().flatten().filter(|entry| entry.subresource.is_none());
    let (mut authors, mut others) = (BTreeSet::new(), BTreeSet::new());
    for entry in notes {
        let keys = noted(entry, field);
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

fn noted<'a>(entry: &'a ManagedFieldsEntry, field: &str) -> Vec<&'a str> {
    let fields = entry.fields_v1.as_ref().and_then(|fields| fields.0["f:metadata"][field].as_object());
    fields.into_iter().flatten().filter_map(|(key, _)| key.strip_prefix("f:")).collect()
}
