//! Namespace controller: deletes the objects of a namespace before the namespace.

use serde_json::{Value, json};

use super::with_call;
use crate::{
    api::Api, kinds::builtin, objects::lifecycle, store::Key, stored_object::StoredObject, verbs::update,
};

/// Deletes the contents of all terminating namespaces.
pub(super) async fn empty_all(api: &Api) {
    let listed = api.ledger().list(builtin::NAMESPACES, None, None, usize::MAX, None);
    for (key, _) in listed.map(|listed| listed.objects).unwrap_or_default() {
        empty(api, &key.name).await;
    }
}

/// Deletes the contents of a terminating namespace, and then the namespace.
pub(super) async fn empty(api: &Api, name: &str) {
    let registry = api.registry();
    let Some(namespaces) = registry.find("", "v1", builtin::NAMESPACES) else { return };
    let Some(namespace) = api.read(namespaces, "", name) else { return };
    if !lifecycle::is_deleting(&namespace) {
        return;
    }
    let mut left: Vec<(String, usize)> = Vec::new();
    let mut held: Vec<(String, usize)> = Vec::new();
    for kind in registry.resources().into_iter().filter(|kind| kind.namespaced) {
        let listed = api.ledger().list(&kind.resource, Some(name), None, usize::MAX, None);
        let objects = listed.map(|listed| listed.objects).unwrap_or_default();
        super::delete_all(api, kind, &objects).await;
        for (key, _) in objects {
            if let Some(remaining) = api.read(kind, name, &key.name) {
                // The real server ends the names of the core group with the dot, too.
                count(&mut left, format!("{}.{}", kind.plural, kind.group));
                for finalizer in remaining["metadata"]["finalizers"].as_array().into_iter().flatten() {
                    count(&mut held, finalizer.as_str().unwrap_or_default().to_owned());
                }
            }
        }
    }
    if left.is_empty() {
        finalize(api, name).await;
    } else {
        report(api, name, &left, &held).await;
    }
}

fn count(counts: &mut Vec<(String, usize)>, what: String) {
    match counts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, count)) => *count += 1,
        None => counts.push((what, 1)),
    }
}

/// Removes the finalizer that keeps a namespace until it is empty.
async fn finalize(api: &Api, name: &str) {
    change(api, name, "finalize", |namespace| {
        if let Some(Value::Array(finalizers)) = namespace["spec"].get_mut("finalizers") {
            finalizers.retain(|finalizer| finalizer != "kubernetes");
        }
    })
    .await;
}

/// Reports what blocks the deletion of a namespace.
async fn report(api: &Api, name: &str, left: &[(String, usize)], held: &[(String, usize)]) {
    let now = api.clock().now();
    let texts = |counts: &[(String, usize)], what: &str| -> String {
        let each: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name} {what} {count} resource instances")).collect();
        each.join(", ")
    };
    let remaining = format!("Some resources are remaining: {}", texts(left, "has"));
    let finalizers = format!("Some content in the namespace has finalizers remaining: {}", texts(held, "in"));
    change(api, name, "status", |namespace| {
        let old = namespace["status"]["conditions"].clone();
        let condition = |kind: &str, status: bool, reason: &str, message: &str| {
            let status = if status { "True" } else { "False" };
            let before = old.as_array().into_iter().flatten().find(|old| old["type"] == kind);
            let time = before
                .filter(|before| before["status"] == status)
                .map_or_else(|| json!(now), |before| before["lastTransitionTime"].clone());
            json!({
                "type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message,
            })
        };
        let ours = vec![
            condition(
                "NamespaceDeletionDiscoveryFailure",
                false,
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            condition(
                "NamespaceDeletionGroupVersionParsingFailure",
                false,
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            condition(
                "NamespaceDeletionContentFailure",
                false,
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            condition("NamespaceContentRemaining", true, "SomeResourcesRemain", &remaining),
            condition("NamespaceFinalizersRemaining", !held.is_empty(), "SomeFinalizersRemain", &finalizers),
        ];
        let mut conditions = old.as_array().cloned().unwrap_or_default();
        for condition in ours {
            match conditions.iter_mut().find(|known| known["type"] == condition["type"]) {
                Some(known) => *known = condition,
                None => conditions.push(condition),
            }
        }
        namespace["status"]["conditions"] = Value::Array(conditions);
    })
    .await;
}

async fn change(api: &Api, name: &str, part: &str, edit: impl Fn(&mut Value)) {
    let registry = api.registry();
    let Some(kind) = registry.find("", "v1", builtin::NAMESPACES) else { return };
    // A concurrent change of the namespace enqueues it again.
    let changed = with_call(api, kind, "", name, async |call| {
        let Some(old) = api.ledger().get(&call.key()) else { return Ok(()) };
        let mut namespace = StoredObject { revision: old.revision, bytes: &old.value }.object(kind);
        edit(&mut namespace);
        let call = call.part(part);
        update::change(&call, &old, namespace, Some("kube-controller-manager")).await.map(drop)
    })
    .await;
    super::retry_on_failure(api, changed);
}

/// Deletes an object that was created while its namespace was deleted.
pub(super) async fn delete_late_object(api: &Api, key: &Key) {
    if key.namespace.is_empty()
        || api.ledger().get(&Key::new(builtin::NAMESPACES, "", &key.namespace)).is_some()
    {
        return;
    }
    let registry = api.registry();
    let kind = registry.find_resource(&key.resource).cloned();
    if let Some(kind) = kind
        && let Some(object) = api.read(&kind, &key.namespace, &key.name)
    {
        super::delete(api, &kind, key, &object["metadata"]["uid"]).await;
    }
}
