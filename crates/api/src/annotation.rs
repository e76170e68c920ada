//! Annotations under `score.dev/`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use orchestra_score::{Code, Diagnostic, Node, Pointer, node::Entry, suggest};

/// Profile of a Workload.
pub const PROFILE: &str = "score.dev/profile";
/// Features that a Workload requires of its backend, comma-separated.
pub const REQUIREMENTS: &str = "score.dev/requirements";
/// Region that a Workload must run in.
pub const REGION: &str = "score.dev/region";
/// Target of a move: a backend ID, or [`MOVE_TO_BEST`].
pub const MOVE: &str = "score.dev/move";
/// Value of [`MOVE`] that gives up the current placement for the best available backend.
pub const MOVE_TO_BEST: &str = "best";
/// `true` allows a move that leaves data behind.
pub const ABANDON_DATA: &str = "score.dev/abandon-data";
/// `true` suspends a Workload and keeps its dependencies.
pub const SUSPEND: &str = "score.dev/suspend";
/// Field manager of [`SUSPEND`] in `orchestra down` and the end of `orchestra up`. The next apply removes its annotation.
pub const SUSPEND_MANAGER: &str = "orchestra-suspend";
/// On a resource: its deprovision policy, `Delete`, `Retain` or `Orphan`.
pub const DEPROVISION: &str = "score.dev/deprovision";

/// On a claim: the built-in engine that provisions it.
pub const ENGINE: &str = "score.dev/engine";

/// On a claim: its engine has started to deprovision.
pub const RELEASING: &str = "score.dev/releasing";

/// On a plan: inventory of its runtime until the first status contains it.
pub const INVENTORY: &str = "score.dev/inventory";

/// Annotations of Workloads.
const OF_WORKLOADS: &[&str] = &[ABANDON_DATA, MOVE, PROFILE, REGION, REQUIREMENTS, SUSPEND];
/// Annotations of resources.
const OF_RESOURCES: &[&str] = &[DEPROVISION];

/// Annotations with few allowed values.
const VALUES: &[(&str, &[&str])] = &[
    (ABANDON_DATA, &["true", "false"]),
    (SUSPEND, &["true", "false"]),
    (DEPROVISION, &["Delete", "Retain", "Orphan"]),
];

/// Common prefix.
const OURS: &str = "score.dev/";
/// Annotation of `kubectl apply`.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// True if the annotations suspend the Workload.
pub fn suspends(annotations: &BTreeMap<String, String>) -> bool {
    annotations.get(SUSPEND).is_some_and(|value| value == "true")
}

/// True if the key of an annotation or a label has the prefix `score.dev/`.
pub fn is_ours(key: &str) -> bool {
    key.starts_with(OURS)
}

/// Warnings about unknown `score.dev/` annotations of a Score document, about their values, and about `score.dev/` labels.
pub fn unknown(document: &Node) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let metadata = document.get("metadata");
    check(metadata, &Pointer::of(["metadata"]), OF_WORKLOADS, &mut found);
    let labels = metadata.into_iter().flat_map(|metadata| metadata.entries("labels"));
    found.extend(labels.filter(|(key, _)| is_ours(key)).map(|(key, entry)| reserved_label(key, entry)));
    for (key, resource) in document.entries("resources") {
        let at = Pointer::of(["resources", key, "metadata"]);
        check(resource.node.get("metadata"), &at, OF_RESOURCES, &mut found);
    }
    found
}

fn check(metadata: Option<&Node>, at: &Pointer, known: &[&str], found: &mut Vec<Diagnostic>) {
    let ours = metadata.into_iter().flat_map(|metadata| metadata.entries("annotations"));
    for (key, entry) in ours.filter(|(key, _)| is_ours(key)) {
        if known.contains(&key.as_str()) {
            found.extend(invalid_value(key, entry, at));
            continue;
        }
        let names = known.iter().filter_map(|key| key.strip_prefix(OURS));
        let meant = suggest(key.strip_prefix(OURS).unwrap_or_default(), names);
        let hint = match meant {
            Some(meant) => format!("did you mean `{OURS}{meant}`?"),
            None if OF_RESOURCES.contains(&key.as_str()) => {
                format!(
                    "this annotation belongs to a resource: `resources: {{db: {{metadata: {{annotations: {{{key}: …}}}}}}}}`"
                )
            }
            None if OF_WORKLOADS.contains(&key.as_str()) => {
                format!("this annotation belongs to the workload: `metadata: {{annotations: {{{key}: …}}}}`")
            }
            None => {
                let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
                format!("supported here: {}; use your own prefix for custom annotations", known.join(", "))
            }
        };
        let (at, span) = (at.key("annotations").key(key), entry.key_span.or(entry.node.span));
        let message = format!("unknown annotation `{key}`: the platform ignores it");
        found.push(Diagnostic::warning(Code::UnknownAnnotation, at, span, message, hint));
    }
}

fn reserved_label(key: &str, entry: &Entry) -> Diagnostic {
    let hint = if OF_WORKLOADS.contains(&key) {
        format!("write it as an annotation: `metadata: {{annotations: {{{key}: …}}}}`")
    } else {
        format!("the prefix `{OURS}` is reserved for the platform; use your own prefix for custom labels")
    };
    Diagnostic::warning(
        Code::UnknownAnnotation,
        Pointer::of(["metadata", "labels", key]),
        entry.key_span.or(entry.node.span),
        format!("reserved label `{key}`: the platform ignores it"),
        hint,
    )
}

fn invalid_value(key: &str, entry: &Entry, at: &Pointer) -> Option<Diagnostic> {
    let (_, allowed) = VALUES.iter().find(|(known, _)| *known == key)?;
    let value = entry.node.as_str().filter(|value| !allowed.contains(value))?;
    let meant = allowed.iter().find(|allowed| allowed.eq_ignore_ascii_case(value));
    let meant = meant.or_else(|| allowed.first().filter(|_| matches!(value, "yes" | "on" | "1")));
    let options: Vec<String> = allowed.iter().map(|allowed| format!("\"{allowed}\"")).collect();
    let options = options.join(" or ");
    Some(Diagnostic::warning(
        Code::SuspiciousValue,
        at.key("annotations").key(key),
        entry.highlight(),
        format!("invalid value \"{}\" for annotation `{key}`: must be {options}", value.escape_debug()),
        meant.map_or_else(|| format!("write {options}"), |meant| format!("write \"{meant}\"")),
    ))
}

/// Annotations of a Workload that belong to its Score document: those of the field managers of its spec, and those with
/// the prefix `score.dev/`. Annotations of other tools are not part of the document.
pub fn of_score(metadata: &ObjectMeta) -> BTreeMap<String, String> {
    let managers = metadata.managed_fields.iter().flatten().filter(|entry| entry.subresource.is_none());
    let foreign: BTreeSet<&str> =
        managers.clone().filter(|entry| !owns_spec(entry)).flat_map(owned_annotations).collect();
    let authors: BTreeSet<&str> =
        managers.filter(|entry| owns_spec(entry)).flat_map(owned_annotations).collect();
    let is_of_score =
        |key: &str| key != LAST_APPLIED && (is_ours(key) || authors.contains(key) || !foreign.contains(key));
    let annotations = metadata.annotations.iter().flatten();
    annotations.filter(|(key, _)| is_of_score(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn owns_spec(entry: &ManagedFieldsEntry) -> bool {
    entry.fields_v1.as_ref().is_some_and(|fields| fields.0.get("f:spec").is_some())
}

/// Annotations of one field manager.
fn owned_annotations(entry: &ManagedFieldsEntry) -> impl Iterator<Item = &str> {
    let fields = entry.fields_v1.as_ref().map(|fields| &fields.0["f:metadata"]["f:annotations"]);
    let keys = fields.and_then(|fields| fields.as_object()).into_iter().flatten();
    keys.filter_map(|(key, _)| key.strip_prefix("f:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_misspelled_annotation_is_a_warning_with_a_suggestion() {
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
    fn a_label_with_the_prefix_of_the_platform_is_a_warning() {
        let labels = json!({"score.dev/instance": "db-1", "score.dev/profile": "web", "team": "shop"});
        let found = unknown(&Node::from(json!({"metadata": {"labels": labels}})));
        let found: Vec<_> = found.iter().map(|found| (found.pointer.to_string(), &*found.hint)).collect();
        let [(instance, prefix), (profile, annotation)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(instance, "/metadata/labels/score.dev~1instance");
        assert!(prefix.contains("use your own prefix"), "{prefix}");
        assert_eq!(profile, "/metadata/labels/score.dev~1profile");
        assert!(annotation.starts_with("write it as an annotation"), "{annotation}");
    }

    #[test]
    fn a_value_that_the_platform_does_not_know_is_a_warning() {
        let document = Node::from(json!({
            "metadata": {"annotations": {"score.dev/suspend": "True", "score.dev/abandon-data": "yes"}},
            "resources": {
                "db": {"metadata": {"annotations": {"score.dev/deprovision": "delete"}}},
                "dns": {"metadata": {"annotations": {"score.dev/deprovision": "Retain"}}},
            },
        }));
        let found: Vec<_> = unknown(&document).into_iter().map(|found| (found.message, found.hint)).collect();
        let invalid = |value: &str, key: &str, allowed: &str, write: &str| {
            let message =
                format!("invalid value \"{value}\" for annotation `score.dev/{key}`: must be {allowed}");
            (message, format!("write \"{write}\""))
        };
        let flag = "\"true\" or \"false\"";
        assert_eq!(
            found,
            [
                invalid("yes", "abandon-data", flag, "true"),
                invalid("True", "suspend", flag, "true"),
                invalid("delete", "deprovision", "\"Delete\" or \"Retain\" or \"Orphan\"", "Delete"),
            ]
        );
    }

    #[test]
    fn every_annotation_for_authors_is_known() {
        // Annotations on claims and plans are not for authors.
        let source = include_str!("annotation.rs");
        let declared = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split('"').nth(1));
        for key in declared.filter(|key| is_ours(key) && ![ENGINE, INVENTORY, RELEASING].contains(key)) {
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
