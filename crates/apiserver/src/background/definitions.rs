//! Controller of definitions: accepts their names, and removes them after their objects.

use serde_json::{Value, json};

use super::with_call;
use crate::{
    api::Api,
    crd::{conditions, name_conflicts},
    kinds::builtin,
    ledger::Expected,
    objects::lifecycle::{self, CLEANUP},
    stored_object::StoredObject,
    verbs::update,
};

/// Reconciles all definitions.
pub(super) async fn reconcile_all(api: &Api) {
    for definition in all(api) {
        reconcile(api, definition["metadata"]["name"].as_str().unwrap_or_default()).await;
    }
}

fn all(api: &Api) -> Vec<Value> {
    let listed = api.ledger().list(builtin::DEFINITIONS, None, None, usize::MAX, None);
    listed
        .map(|listed| listed.objects)
        .unwrap_or_default()
        .iter()
        .map(|(_, object)| StoredObject { revision: object.revision, bytes: &object.value }.stored())
        .collect()
}

/// Accepts the names of a definition, or reports conflicts; deletes the objects of a terminating one.
pub(super) async fn reconcile(api: &Api, name: &str) {
    let registry = api.registry();
    let Some(kind) = registry.find(builtin::EXTENSIONS, "v1", "customresourcedefinitions") else { return };
    let Some(definition) = api.read(kind, "", name) else { return };
    if lifecycle::is_deleting(&definition) {
        remove(api, name, &definition).await;
        return;
    }
    let taken = name_conflicts::conflicts(&definition, &all(api));
    let now = api.clock().now();
    change(api, name, "status", |definition| accept(definition, &taken, &now)).await;
}

/// Deletes a terminating definition after its last object.
pub(super) async fn object_deleted(api: &Api, resource: &str) {
    let registry = api.registry();
    let kind = registry.find_resource(resource);
    if kind.is_some_and(|kind| kind.terminating) {
        reconcile(api, resource).await;
    }
}

fn accept(definition: &mut Value, taken: &[name_conflicts::Taken], now: &str) {
    let names = definition["spec"]["names"].clone();
    let mut accepted = names;
    if let Value::Object(accepted) = &mut accepted {
        let before = definition["status"]["acceptedNames"].clone();
        for name in taken {
            accepted.remove(name.field);
            if let Some(kept) = before.get(name.field) {
                accepted.insert(name.field.to_owned(), kept.clone());
            }
        }
        for required in ["plural", "kind"] {
            accepted.entry(required).or_insert_with(|| json!(""));
        }
    }
    definition["status"]["acceptedNames"] = accepted;
    match taken.last() {
        None => {
            conditions::set(definition, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
            if conditions::status(definition, "Established") != "True" {
                let message = "the initial names have been accepted";
                conditions::set(definition, "Established", "True", "InitialNamesAccepted", message, now);
            }
        }
        Some(first) => {
            conditions::set(definition, "NamesAccepted", "False", first.reason, &first.message, now);
            if conditions::status(definition, "Established").is_empty() {
                let message = "not all names are accepted";
                conditions::set(definition, "Established", "False", "NotAccepted", message, now);
            }
        }
    }
}

async fn remove(api: &Api, name: &str, definition: &Value) {
    let held = definition["metadata"]["finalizers"].as_array().into_iter().flatten().any(|f| f == CLEANUP);
    if !held {
        return;
    }
    let registry = api.registry();
    let known = registry.find_resource(name).cloned();
    let objects = api.ledger().list(name, None, None, usize::MAX, None).map(|listed| listed.objects);
    let mut objects = objects.unwrap_or_default();
    match known {
        Some(kind) if kind.custom => super::delete_all(api, &kind, &objects).await,
        // Objects of a built-in kind of that name do not belong to the definition.
        Some(_) => objects.clear(),
        // These objects are no longer served, so no controller can remove their finalizers.
        None => {
            for (key, object) in &objects {
                let _ = api.ledger().write(key.clone(), Expected::At(object.revision), None).await;
            }
        }
    }
    let left = objects.iter().filter(|(key, _)| api.ledger().get(key).is_some()).count();
    let now = api.clock().now();
    if left > 0 {
        change(api, name, "status", |definition| {
            let message = "CustomResource deletion is in progress";
            conditions::set(definition, "Terminating", "True", "InstanceDeletionInProgress", message, &now);
        })
        .await;
        return;
    }
    change(api, name, "", |definition| {
        if let Some(Value::Array(finalizers)) = definition["metadata"].get_mut("finalizers") {
            finalizers.retain(|finalizer| finalizer != CLEANUP);
        }
    })
    .await;
}

async fn change(api: &Api, name: &str, part: &str, edit: impl Fn(&mut Value)) {
    let registry = api.registry();
    let Some(kind) = registry.find(builtin::EXTENSIONS, "v1", "customresourcedefinitions") else { return };
    // A concurrent change of the definition enqueues it again.
    let changed = with_call(api, kind, "", name, async |call| {
        let Some(old) = api.ledger().get(&call.key()) else { return Ok(()) };
        let mut definition = StoredObject { revision: old.revision, bytes: &old.value }.object(kind);
        edit(&mut definition);
        if definition["status"].is_null() {
            definition["status"] = json!({});
        }
        let call = call.part(part);
        update::change(&call, &old, definition, Some("kube-apiserver")).await.map(drop)
    })
    .await;
    super::retry_on_failure(api, changed);
}
