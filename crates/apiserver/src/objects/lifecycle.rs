//! Lifecycle of an object: the fields that the server sets, and finalization.

use serde_json::{Map, Value, json};

use crate::kinds::{Checks, Kind, builtin};

/// Finalizer that keeps a definition until its objects are deleted.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Finalizer of an object that is deleted after its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an object whose dependents are kept, without their reference to it.
pub(crate) const ORPHAN: &str = "orphan";

/// Characters of generated names: no vowels, nothing ambiguous.
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Maximum length of the prefix of a generated name.
const MAX_BASE_LENGTH: usize = 58;

/// Sets the server's fields of a new object.
pub(crate) fn before_create(kind: &Kind, object: &mut Value, namespace: &str, now: &str) {
    if kind.status
        && kind.custom
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
    }
    let Some(metadata) = metadata_of(object) else { return };
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"] {
        metadata.remove(field);
    }
    if kind.namespaced {
        metadata.insert("namespace".to_owned(), json!(namespace));
    } else {
        metadata.remove("namespace");
    }
    metadata.insert("creationTimestamp".to_owned(), json!(now));
    let id = uuid::Uuid::new_v4();
    metadata.insert("uid".to_owned(), json!(id.to_string()));
    if kind.generation {
        metadata.insert("generation".to_owned(), json!(1));
    }
    if metadata.get("name").and_then(Value::as_str).is_none_or(str::is_empty)
        && let Some(base) =
            metadata.get("generateName").and_then(Value::as_str).filter(|base| !base.is_empty())
    {
        let base: String = base.chars().take(MAX_BASE_LENGTH).collect();
        let name = format!("{base}{}", suffix());
        metadata.insert("name".to_owned(), json!(name));
    }
}

fn suffix() -> String {
    let id = uuid::Uuid::new_v4();
    // These bytes are entirely random.
    id.as_bytes()[9..14].iter().map(|byte| char::from(SUFFIX[usize::from(*byte) % SUFFIX.len()])).collect()
}

/// Sets the server's fields of a changed object.
pub(crate) fn before_update(kind: &Kind, old: &Value, new: &mut Value, subresource: &str) {
    keep_fields(kind, old, new, subresource);
    if &*kind.resource == builtin::DEFINITIONS && subresource != "status" {
        crate::crd::record_stored_version(new);
    }
    let (Some(metadata), Some(before)) = (metadata_of(new), old["metadata"].as_object()) else { return };
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if let Some(value) = before.get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if metadata.get(field).is_none_or(|value| value.is_null() || value == "")
            && let Some(value) = before.get(field)
        {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    metadata.remove("generation");
    metadata.remove("selfLink");
    if let Some(generation) = before.get("generation") {
        metadata.insert("generation".to_owned(), generation.clone());
    }
    if kind.generation && is_new_generation(kind, old, new) {
        bump(new);
    }
}

/// Restores the fields that the endpoint does not write.
fn keep_fields(kind: &Kind, old: &Value, new: &mut Value, subresource: &str) {
    let namespace = &*kind.resource == builtin::NAMESPACES;
    if subresource == "status" && (kind.custom || !namespace) {
        let mut kept = old.clone();
        if let Some(fields) = kept.as_object_mut() {
            copy(fields, new, "status");
        }
        if let Some(metadata) = metadata_of(&mut kept) {
            for field in ["managedFields", "resourceVersion", "uid"] {
                copy(metadata, &new["metadata"], field);
            }
        }
        *new = kept;
        return;
    }
    let kept: &[&str] = match subresource {
        "" if namespace => &["spec", "status"],
        "" if kind.status => &["status"],
        "status" => &["spec"],
        "finalize" => &["status"],
        _ => &[],
    };
    if let Some(fields) = new.as_object_mut() {
        for field in kept {
            copy(fields, old, field);
        }
    }
}

/// Copies a field, or its absence, from another object.
fn copy(to: &mut Map<String, Value>, from: &Value, field: &str) {
    match from.get(field) {
        Some(value) => to.insert(field.to_owned(), value.clone()),
        None => to.remove(field),
    };
}

/// True if the spec differs; for a custom object, anything but metadata and, with that subresource, the status.
fn is_new_generation(kind: &Kind, old: &Value, new: &Value) -> bool {
    let wanted = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().cloned().unwrap_or_default();
        fields
            .into_iter()
            .filter(|(name, _)| {
                let aside = matches!(name.as_str(), "metadata" | "apiVersion" | "kind")
                    || kind.status && name.as_str() == "status";
                !aside && (matches!(kind.checks, Checks::Custom(_)) || name == "spec")
            })
            .collect()
    };
    wanted(old) != wanted(new)
}

fn bump(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    if let Some(metadata) = metadata_of(object) {
        metadata.insert("generation".to_owned(), json!(generation + 1));
    }
}

/// True if finalizers keep the object.
pub(crate) fn has_finalizers(kind: &Kind, object: &Value) -> bool {
    any(&object["metadata"]["finalizers"])
        || &*kind.resource == builtin::NAMESPACES && any(&object["spec"]["finalizers"])
}

fn any(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}

/// True if the object is terminating.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// True if the object is terminating and has this finalizer.
pub(crate) fn waits_for(object: &Value, finalizer: &str) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    is_deleting(object) && finalizers.is_some_and(|list| list.iter().any(|name| name == finalizer))
}

/// Treatment of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They are kept.
    Orphan,
}

/// Effect of a deletion.
#[derive(Debug, PartialEq)]
pub(crate) enum Deletion {
    /// It is deleted at once.
    Now,
    /// It is terminating, and deleted with its last finalizer.
    Marked(Value),
    /// It was terminating before.
    Pending,
}

/// Decides the effect of a deletion. Without a propagation, the finalizers of the object decide about its dependents.
pub(crate) fn delete(kind: &Kind, object: &Value, propagation: Option<Propagation>, now: &str) -> Deletion {
    let definition = &*kind.resource == builtin::DEFINITIONS;
    let namespace = &*kind.resource == builtin::NAMESPACES;
    let deleting = is_deleting(object);
    // A real server adds these finalizers neither to a definition that was not terminating before nor to a namespace
    // that still has content, and never to an event.
    let keeps_finalizers = match (deleting, definition, namespace) {
        (false, true, _) => true,
        (true, _, true) => any(&object["spec"]["finalizers"]),
        _ => &*kind.resource == builtin::EVENTS,
    };
    let mut marked = object.clone();
    if let Some(propagation) = propagation.filter(|_| !keeps_finalizers) {
        set_propagation(&mut marked, propagation);
    }
    if deleting {
        return if !has_finalizers(kind, &marked) {
            Deletion::Now
        } else if marked == *object {
            Deletion::Pending
        } else {
            Deletion::Marked(marked)
        };
    }
    if !has_finalizers(kind, &marked) && !definition {
        return Deletion::Now;
    }
    if let Some(metadata) = metadata_of(&mut marked) {
        metadata.insert("deletionTimestamp".to_owned(), json!(now));
        if definition {
            let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
            if let Value::Array(finalizers) = finalizers
                && !finalizers.iter().any(|finalizer| finalizer == CLEANUP)
            {
                finalizers.push(json!(CLEANUP));
            }
        } else if !namespace {
            metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
        }
    }
    if namespace {
        marked["status"]["phase"] = json!("Terminating");
    }
    if definition {
        crate::crd::conditions::set(
            &mut marked,
            "Terminating",
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            now,
        );
    } else if marked["metadata"]["generation"].as_i64().is_some_and(|generation| generation > 0) {
        bump(&mut marked);
    }
    Deletion::Marked(marked)
}

/// Sets the finalizers for the dependents of an object, after all others.
fn set_propagation(object: &mut Value, propagation: Propagation) {
    let added = match propagation {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
    };
    let before = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let has = |name: &str| before.iter().any(|finalizer| finalizer == name);
    if [FOREGROUND, ORPHAN].iter().all(|name| has(name) == (added == Some(name))) {
        return;
    }
    let mut finalizers: Vec<Value> =
        before.iter().filter(|name| *name != FOREGROUND && *name != ORPHAN).cloned().collect();
    finalizers.extend(added.map(|name| json!(name)));
    if let Some(metadata) = metadata_of(object) {
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".to_owned(), Value::Array(finalizers));
        }
    }
}

fn metadata_of(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.as_object_mut()
}
