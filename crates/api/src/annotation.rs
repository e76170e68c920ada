//! The annotations that mean something to the platform.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use orchestra_score::{Code, Diagnostic, Node, Pointer, nearest};

/// The profile that a Workload asks for.
pub const PROFILE: &str = "score.dev/profile";
/// The features that a Workload needs of where it runs, with commas between them.
pub const REQUIREMENTS: &str = "score.dev/requirements";
/// The region that a Workload must run in.
pub const REGION: &str = "score.dev/region";
/// Where a Workload is to move: the id of a backend, or [`MOVE_TO_BEST`].
pub const MOVE: &str = "score.dev/move";
/// The value of [`MOVE`] that lets go of the present place for the best there is.
pub const MOVE_TO_BEST: &str = "best";
/// `true` lets a Workload move although data stays behind.
pub const ABANDON_DATA: &str = "score.dev/abandon-data";
/// `true` stops a Workload for now, with everything that it depends on kept.
pub const SUSPEND: &str = "score.dev/suspend";
/// On a resource: what becomes of it when it is no longer wanted: `Delete`, `Retain` or `Orphan`.
pub const DEPROVISION: &str = "score.dev/deprovision";

/// On a claim: the engine of ours that looks after it.
pub const ENGINE: &str = "score.dev/engine";

/// On a claim: the engine has begun to take down what it made.
pub const RELEASING: &str = "score.dev/releasing";

/// Those that the platform reads on a Workload.
const OF_WORKLOADS: &[&str] = &[ABANDON_DATA, MOVE, PROFILE, REGION, REQUIREMENTS, SUSPEND];
/// Those that the platform reads on a resource.
const OF_RESOURCES: &[&str] = &[DEPROVISION];

/// The prefix of all of them.
const OURS: &str = "score.dev/";
/// What kubectl notes for itself.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether annotations of a Workload ask for it to be stopped for now.
pub fn suspends(annotations: &BTreeMap<String, String>) -> bool {
    annotations.get(SUSPEND).is_some_and(|value| value == "true")
}

/// Whether an annotation speaks to the platform.
pub fn is_ours(key: &str) -> bool {
    key.starts_with(OURS)
}

/// Warnings about annotations of a Score document that look as if the platform would read them, and that it does not.
pub fn unknown(document: &Node) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let metadata = document.get("metadata");
    look(metadata, &Pointer::of(["metadata"]), OF_WORKLOADS, &mut found);
    for (key, resource) in document.entries("resources") {
        let at = Pointer::of(["resources", key, "metadata"]);
        look(resource.node.get("metadata"), &at, OF_RESOURCES, &mut found);
    }
    found
}

fn look(metadata: Option<&Node>, at: &Pointer, known: &[&str], found: &mut Vec<Diagnostic>) {
    let ours = metadata.into_iter().flat_map(|metadata| metadata.entries("annotations"));
    for (key, entry) in ours.filter(|(key, _)| is_ours(key) && !known.contains(&key.as_str())) {
        let names = known.iter().filter_map(|key| key.strip_prefix(OURS));
        let meant = nearest(key.strip_prefix(OURS).unwrap_or_default(), names);
        let hint = match meant {
            Some(meant) => format!("did you mean `{OURS}{meant}`?"),
            None if OF_RESOURCES.contains(&key.as_str()) => {
                format!(
                    "it belongs to a resource: `resources: {{db: {{metadata: {{annotations: {{{key}: …}}}}}}}}`"
                )
            }
            None if OF_WORKLOADS.contains(&key.as_str()) => {
                format!("it belongs to the workload: `metadata: {{annotations: {{{key}: …}}}}`")
            }
            None => {
                let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
                format!("here it knows {}; for notes of your own, use a prefix of your own", known.join(", "))
            }
        };
        let (at, span) = (at.key("annotations").key(key), entry.key_span.or(entry.node.span));
        let message = format!("the platform knows no annotation `{key}` here, and ignores it");
        found.push(Diagnostic::warning(Code::UnknownAnnotation, at, span, message, hint));
    }
}

/// The annotations of a Workload that belong to its Score document: those of whoever wrote its spec, and the
/// platform's own. What other tools note on the object for themselves is not part of the document.
pub fn of_score(metadata: &ObjectMeta) -> BTreeMap<String, String> {
    let notes = metadata.managed_fields.iter().flatten().filter(|entry| entry.subresource.is_none());
    let foreign: BTreeSet<&str> = notes.clone().filter(|entry| !writes_spec(entry)).flat_map(noted).collect();
    let authors: BTreeSet<&str> = notes.filter(|entry| writes_spec(entry)).flat_map(noted).collect();
    let is_of_score =
        |key: &str| key != LAST_APPLIED && (is_ours(key) || authors.contains(key) || !foreign.contains(key));
    let annotations = metadata.annotations.iter().flatten();
    annotations.filter(|(key, _)| is_of_score(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn writes_spec(entry: &ManagedFieldsEntry) -> bool {
    entry.fields_v1.as_ref().is_some_and(|fields| fields.0.get("f:spec").is_some())
}

/// The annotations that a manager has written.
fn noted(entry: &ManagedFieldsEntry) -> impl Iterator<Item = &str> {
    let fields = entry.fields_v1.as_ref().map(|fields| &fields.0["f:metadata"]["f:annotations"]);
    let keys = fields.and_then(|fields| fields.as_object()).into_iter().flatten();
    keys.filter_map(|(key, _)| key.strip_prefix("f:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_misspelt_annotation_to_the_platform_is_told_with_what_was_meant() {
        let document = Node::from(json!({
            "metadata": {"annotations": {
                "score.dev/profil": "web", "score.dev/region": "eu", "example.org/profil": "x",
                "score.dev/deprovision": "Retain", "score.dev/colour": "red",
            }},
            "resources": {"db": {"metadata": {"annotations": {
                "score.dev/deprovison": "Retain", "score.dev/profile": "web",
            }}}},
        }));
        let found: Vec<_> =
            unknown(&document).into_iter().map(|found| (found.pointer.to_string(), found.hint)).collect();
        let hint = |pointer: &str| &found.iter().find(|(at, _)| at == pointer).unwrap().1;
        assert_eq!(found.len(), 5, "{found:?}");
        assert_eq!(hint("/metadata/annotations/score.dev~1profil"), "did you mean `score.dev/profile`?");
        assert_eq!(
            hint("/resources/db/metadata/annotations/score.dev~1deprovison"),
            "did you mean `score.dev/deprovision`?"
        );
        assert!(hint("/metadata/annotations/score.dev~1deprovision").contains("belongs to a resource"));
        assert!(hint("/resources/db/metadata/annotations/score.dev~1profile").contains("to the workload"));
        assert!(hint("/metadata/annotations/score.dev~1colour").contains("`score.dev/region`"));
    }

    #[test]
    fn every_annotation_for_authors_is_known() {
        // The platform's own notes on claims are not for authors.
        let source = include_str!("annotation.rs");
        let declared = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split('"').nth(1));
        for key in declared.filter(|key| is_ours(key) && ![ENGINE, RELEASING].contains(key)) {
            assert!(OF_WORKLOADS.contains(&key) || OF_RESOURCES.contains(&key), "{key}");
        }
    }

    #[test]
    fn annotations_of_other_tools_are_not_part_of_the_document() {
        let metadata: ObjectMeta = serde_json::from_value(json!({
            "annotations": {
                "team": "shop", "score.dev/profile": "web", "argocd.example.org/id": "7",
                "kubectl.kubernetes.io/last-applied-configuration": "{}", "both": "x",
            },
            "managedFields": [
                {"manager": "kubectl", "fieldsV1": {"f:spec": {}, "f:metadata": {"f:annotations": {
                    ".": {}, "f:team": {}, "f:both": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}}}},
                {"manager": "argo", "fieldsV1": {"f:metadata": {"f:annotations": {
                    "f:argocd.example.org/id": {}, "f:score.dev/profile": {}, "f:both": {}}}}},
            ],
        }))
        .unwrap();
        let keys: Vec<_> = of_score(&metadata).into_keys().collect();
        assert_eq!(keys, ["both", "score.dev/profile", "team"]);
    }
}
