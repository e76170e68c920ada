//! The names, labels and annotations of what is made for a plan.
//!
//! Everything bears the name of the Workload, as people look for it, unless the cluster cannot take that name there.

use orchestra_api::{label, name};
use serde_json::{Map, Value as Json, json};

use super::Subject;

/// The name of the Workload, as the recommended labels have it.
const APP_NAME: &str = "app.kubernetes.io/name";
/// The annotation with the uid of the Workload that an object is made for.
pub const WORKLOAD_UID: &str = "score.dev/workload-uid";
/// The annotation with the revision of the plan.
pub const REVISION: &str = "score.dev/revision";
/// The longest name of a stateful set: what it makes bears its name and a hash in a label.
const STATEFUL: usize = 52;
/// Letters that the hash of a derived name takes, with its dash.
const HASH: usize = 11;
/// What the cluster's own controllers write, and Workloads cannot.
const OF_CLUSTER: [&str; 5] = [
    "pod-template-hash",
    "controller-revision-hash",
    "job-name",
    "controller-uid",
    "statefulset.kubernetes.io/pod-name",
];
/// Prefixes of the same.
const OF_CLUSTER_ALL: [&str; 2] = ["batch.kubernetes.io/", "deployment.kubernetes.io/"];

/// The name under which other Workloads of the namespace reach the ports of one. Some clusters take no name that
/// begins with a digit there.
pub fn service(workload: &str) -> String {
    if workload.starts_with(|c: char| c.is_ascii_digit()) {
        return name::derived(&["svc", workload], &["service", workload]);
    }
    workload.to_owned()
}

/// The name under which published ports are reached from outside, where no Ingress and no gateway leads to them: what
/// is not published stays inside.
pub(super) fn public_service(workload: &str) -> String {
    name::derived(&["public", workload], &["public", workload])
}

/// The name of what runs the containers of a Workload that writes to a volume.
pub(super) fn stateful(workload: &str) -> String {
    match workload.get(..STATEFUL - HASH) {
        Some(start) if workload.len() > STATEFUL => name::derived(&[start], &["stateful", workload]),
        _ => workload.to_owned(),
    }
}

/// The name of what holds plain files.
pub(super) fn files(workload: &str) -> String {
    name::derived(&[workload, "files"], &["files", workload])
}

/// The name of what holds texts that are put together with secrets.
pub(super) fn composed(workload: &str) -> String {
    name::derived(&[workload, "secrets"], &["secrets", workload])
}

/// The labels by which the running parts of a Workload are found. They never change.
pub(super) fn selector(subject: &Subject<'_>) -> Json {
    json!({label::APP: subject.name, label::WORKLOAD: subject.name})
}

/// All labels: those of the Workload, and ours, which win.
pub(super) fn labels(subject: &Subject<'_>) -> Json {
    let mut labels = kept(&subject.plan.labels);
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

/// The metadata of an object.
pub(super) fn metadata(subject: &Subject<'_>, name: &str, annotations: Annotations) -> Json {
    json!({
        "name": name,
        "namespace": subject.namespace,
        "labels": labels(subject),
        "annotations": annotations.of(subject),
    })
}

/// Which annotations an object bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Annotations {
    /// Whose it is.
    Bare,
    /// Whose it is, and those of the Workload.
    Authors,
    /// Whose it is, and which revision.
    Revision,
    /// All of these.
    All,
}

impl Annotations {
    pub(super) fn of(self, subject: &Subject<'_>) -> Json {
        let mut annotations = match self {
            Self::Authors | Self::All => kept(&subject.plan.annotations),
            Self::Bare | Self::Revision => Map::new(),
        };
        annotations.insert(WORKLOAD_UID.to_owned(), json!(subject.plan.workload_ref.uid));
        if matches!(self, Self::Revision | Self::All) {
            annotations.insert(REVISION.to_owned(), json!(subject.plan.revision));
        }
        Json::Object(annotations)
    }
}

/// What an author may write on objects of the cluster.
fn kept<'a>(written: impl IntoIterator<Item = (&'a String, &'a String)>) -> Map<String, Json> {
    let is_kept = |key: &str| {
        !OF_CLUSTER.contains(&key) && !OF_CLUSTER_ALL.iter().any(|prefix| key.starts_with(prefix))
    };
    let kept = written.into_iter().filter(|(key, _)| is_kept(key));
    kept.map(|(key, value)| (key.clone(), json!(value))).collect()
}

/// Whether an object of this kind can only be replaced as a whole. `kind` is as the inventory has it.
pub fn is_immutable(kind: &str) -> bool {
    kind == "Job.batch"
}
