//! Names, labels and annotations of objects.
//!
//! Objects have the name of the Workload, unless it is invalid for their kind.

use orchestra_api::{label, name};
use serde_json::{Map, Value as Json, json};

use super::Subject;

/// Recommended label with the name of the application.
const APP_NAME: &str = "app.kubernetes.io/name";
/// Annotation with the uid of the Workload.
pub const WORKLOAD_UID: &str = "score.dev/workload-uid";
/// Annotation with the revision of the plan.
pub const REVISION: &str = "score.dev/revision";
/// Maximum length of the name of a stateful set, whose pods have a label with its name and a hash.
const MAX_STATEFUL_NAME: usize = 52;
/// Length of the hash of a derived name, with its dash.
const HASH_LENGTH: usize = 11;
/// Keys of the cluster's controllers, which Workloads cannot set.
const RESERVED_KEYS: [&str; 5] = [
    "pod-template-hash",
    "controller-revision-hash",
    "job-name",
    "controller-uid",
    "statefulset.kubernetes.io/pod-name",
];
/// Reserved prefixes of keys.
const RESERVED_PREFIXES: [&str; 2] = ["batch.kubernetes.io/", "deployment.kubernetes.io/"];

/// Name of the service inside the cluster. Some clusters reject a leading digit.
pub fn service(workload: &str) -> String {
    if workload.starts_with(|c: char| c.is_ascii_digit()) {
        return name::derived(&["svc", workload], &["service", workload]);
    }
    workload.to_owned()
}

/// Name of the service that exposes ports outside of the cluster without an Ingress or gateway. Other ports stay inside.
pub(super) fn public_service(workload: &str) -> String {
    name::derived(&["public", workload], &["public", workload])
}

/// Name of the stateful set.
pub(super) fn stateful(workload: &str) -> String {
    match workload.get(..MAX_STATEFUL_NAME - HASH_LENGTH) {
        Some(start) if workload.len() > MAX_STATEFUL_NAME => name::derived(&[start], &["stateful", workload]),
        _ => workload.to_owned(),
    }
}

/// Name of the `ConfigMap` with plain files.
pub(super) fn files(workload: &str) -> String {
    name::derived(&[workload, "files"], &["files", workload])
}

/// Name of the Secret with composed texts.
pub(super) fn composed(workload: &str) -> String {
    name::derived(&[workload, "secrets"], &["secrets", workload])
}

/// Labels that select the pods of a Workload. They never change.
pub(super) fn selector(subject: &Subject<'_>) -> Json {
    json!({label::APP: subject.name, label::WORKLOAD: subject.name})
}

/// All labels: those of the Workload, and those of the platform, which win.
pub(super) fn labels(subject: &Subject<'_>) -> Json {
    let mut labels = allowed(&subject.plan.labels);
    for (key, value) in [
        (label::APP, subject.name),
        (APP_NAME, subject.name),
        (label::MANAGED_BY, label::ORCHESTRA),
        (label::WORKLOAD, subject.name),
    ] {
        labels.insert(key.to_owned(), json!(value));
    }
    Json::Object(labels)
}

/// Metadata of an object.
pub(super) fn metadata(subject: &Subject<'_>, name: &str, annotations: Annotations) -> Json {
    json!({
        "name": name,
        "namespace": subject.namespace,
        "labels": labels(subject),
        "annotations": annotations.of(subject),
    })
}

/// Annotations of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Annotations {
    /// Uid of the Workload.
    Bare,
    /// Uid, and annotations of the Workload.
    Authors,
    /// Uid and revision.
    Revision,
    /// All.
    All,
}

impl Annotations {
    pub(super) fn of(self, subject: &Subject<'_>) -> Json {
        let mut annotations = match self {
            Self::Authors | Self::All => allowed(&subject.plan.annotations),
            Self::Bare | Self::Revision => Map::new(),
        };
        annotations.insert(WORKLOAD_UID.to_owned(), json!(subject.plan.workload_ref.uid));
        if matches!(self, Self::Revision | Self::All) {
            annotations.insert(REVISION.to_owned(), json!(subject.plan.revision));
        }
        Json::Object(annotations)
    }
}

/// Labels or annotations that an author may set.
fn allowed<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> Map<String, Json> {
    let is_allowed = |key: &str| {
        // A plan that was stored by an earlier version may have reserved labels.
        !label::is_reserved(key)
            && !RESERVED_KEYS.contains(&key)
            && !RESERVED_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
    };
    let allowed = entries.into_iter().filter(|(key, _)| is_allowed(key));
    allowed.map(|(key, value)| (key.clone(), json!(value))).collect()
}
