//! Garbage collector: deletes objects whose owners are all deleted, and with an owner that is deleted in the foreground;
//! releases the dependents of an owner that orphans them.
//!
//! An owner that is deleted in the foreground has the finalizer `foregroundDeletion`, until no dependent blocks it. An
//! owner that orphans has the finalizer `orphan`, until no dependent refers to it.

mod graph;

use serde_json::{Value, json};

use self::graph::Graph;
use crate::{
    api::Api,
    ledger::Event,
    objects::lifecycle::{self, FOREGROUND, ORPHAN},
    store::Key,
    stored_object::StoredObject,
    verbs::update,
};

/// Manager of the fields that this controller changes.
const MANAGER: &str = "kube-controller-manager";

/// Attempts to change an object that is written to at the same time.
const MAX_ATTEMPTS: usize = 32;

/// Collector and its index of the stored objects.
#[derive(Debug, Default)]
pub(super) struct Collector {
    graph: Graph,
}

impl Collector {
    /// Builds the index from the current state.
    pub(super) fn index(api: &Api) -> Self {
        let mut graph = Graph::default();
        for kind in api.registry().resources() {
            match api.ledger().list(&kind.resource, None, None, usize::MAX, None) {
                Ok(listed) => {
                    for (key, object) in listed.objects {
                        graph.insert(&key, Some(&object.value));
                    }
                }
                // The retry rebuilds the index.
                Err(_) => api.request_retry(),
            }
        }
        Self { graph }
    }

    /// Deletes all objects without owners, and continues the deletions that were begun.
    pub(super) async fn collect_all(&mut self, api: &Api) {
        for (uid, key) in self.graph.orphaning() {
            self.orphan(api, &uid, &key).await;
        }
        for key in self.graph.with_owners() {
            self.collect(api, &key).await;
        }
        for uid in self.graph.waiting() {
            self.finish(api, &uid).await;
        }
    }

    /// Indexes a change, and deletes or releases the objects that it affects.
    pub(super) async fn follow(&mut self, api: &Api, event: &Event) {
        let change = self.graph.insert(&event.key, event.value.as_deref());
        if let Some(uid) = &change.orphans {
            self.orphan(api, uid, &event.key).await;
        }
        if self.graph.has_owners(&event.key) {
            self.collect(api, &event.key).await;
        }
        if let (None, Some(previous)) = (&event.value, &event.previous) {
            let deleted = StoredObject { revision: event.revision, bytes: previous }.stored();
            let uid = deleted["metadata"]["uid"].as_str().unwrap_or_default();
            for key in self.graph.dependents(uid) {
                self.collect(api, &key).await;
            }
        }
        if let Some(uid) = &change.waits {
            for key in self.graph.dependents(uid) {
                self.collect(api, &key).await;
            }
            self.finish(api, uid).await;
        }
        for uid in &change.unblocked {
            self.finish(api, uid).await;
        }
    }

    /// Deletes an object whose owners are all absent or waiting for it, or drops its references to those.
    async fn collect(&self, api: &Api, key: &Key) {
        let Some(kind) = api.registry().find_resource(&key.resource).cloned() else { return };
        let Some(old) = api.ledger().get(key) else { return };
        let mut object = StoredObject { revision: old.revision, bytes: &old.value }.object(&kind);
        if lifecycle::is_deleting(&object) {
            return;
        }
        let references = references(&object);
        let owners: Vec<Owner> = references.iter().map(|reference| self.owner(api, key, reference)).collect();
        let has = |wanted: Owner| owners.contains(&wanted);
        if !has(Owner::Absent) && !has(Owner::Waiting) {
            return;
        }
        let uid = object["metadata"]["uid"].clone();
        if has(Owner::Present) {
            let left = references.iter().zip(&owners).filter(|(_, owner)| **owner == Owner::Present);
            object["metadata"]["ownerReferences"] = left.map(|(reference, _)| reference.clone()).collect();
            // A concurrent change enqueues the object again.
            let changed = super::with_call(api, &kind, &key.namespace, &key.name, async |call| {
                update::change(call, &old, object, Some(MANAGER)).await.map(drop)
            })
            .await;
            super::retry_on_failure(api, changed);
            return;
        }
        let mut options = json!({"preconditions": {"uid": uid}});
        let dependents = self.graph.dependents(uid.as_str().unwrap_or_default());
        if has(Owner::Waiting) && !dependents.is_empty() {
            // An owner that waits for its own dependent would wait forever.
            if dependents.iter().any(|dependent| self.graph.is_waiting(dependent)) {
                edit(api, key, unblock_owners).await;
            }
            options["propagationPolicy"] = json!("Foreground");
        }
        super::delete_with(api, &kind, key, &options).await;
    }

    /// State of the owner in a reference. Owners of unknown kinds may exist elsewhere.
    fn owner(&self, api: &Api, dependent: &Key, reference: &Value) -> Owner {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let registry = api.registry();
        let Some(kind) = registry.find_kind(text("apiVersion"), text("kind")) else { return Owner::Present };
        // The owner reference of a cluster-scoped object has no namespace.
        if kind.namespaced && dependent.namespace.is_empty() {
            return Owner::Present;
        }
        let namespace = if kind.namespaced { &*dependent.namespace } else { "" };
        match api.read(kind, namespace, text("name")) {
            Some(owner) if owner["metadata"]["uid"] == reference["uid"] => {
                // By the index, not by the live object: the index may not have all dependents of this dependent yet, which decide
                // how it is deleted. It has them when it follows the deletion of the owner.
                if self.graph.waiting_key(text("uid")).is_some() { Owner::Waiting } else { Owner::Present }
            }
            _ => Owner::Absent,
        }
    }

    /// Deletes an owner that waits, if no dependent blocks it any more.
    async fn finish(&self, api: &Api, uid: &str) {
        if let Some(key) = self.graph.waiting_key(uid)
            && !self.graph.is_blocked(uid)
        {
            edit(api, key, |owner| remove_finalizer(owner, uid, FOREGROUND)).await;
        }
    }

    /// Releases the dependents of an owner, and then deletes it.
    async fn orphan(&self, api: &Api, uid: &str, key: &Key) {
        for dependent in self.graph.dependents(uid) {
            if !edit(api, &dependent, |dependent| remove_references(dependent, uid)).await {
                return;
            }
        }
        edit(api, key, |owner| remove_finalizer(owner, uid, ORPHAN)).await;
    }
}

/// Changes an object, also if it is written to at the same time. False if it failed, and is retried.
async fn edit(api: &Api, key: &Key, edit: impl Fn(&mut Value)) -> bool {
    let Some(kind) = api.registry().find_resource(&key.resource).cloned() else { return true };
    let changed = super::with_call(api, &kind, &key.namespace, &key.name, async |call| {
        for _ in 0..MAX_ATTEMPTS {
            let Some(old) = api.ledger().get(key) else { return Ok(true) };
            let before = StoredObject { revision: old.revision, bytes: &old.value }.object(&kind);
            let mut object = before.clone();
            edit(&mut object);
            if object == before {
                return Ok(true);
            }
            if let update::UpdateOutcome::Done(_) = update::change(call, &old, object, Some(MANAGER)).await? {
                return Ok(true);
            }
        }
        Ok(false)
    })
    .await;
    let done = matches!(changed, Ok(true));
    if !done {
        api.request_retry();
    }
    done
}

fn references(object: &Value) -> Vec<Value> {
    object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default()
}

/// Removes items from a list of the metadata, and the list if none are left.
fn remove_items(object: &mut Value, list: &str, is_removed: impl Fn(&Value) -> bool) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let Some(Value::Array(items)) = metadata.get_mut(list) else { return };
    items.retain(|item| !is_removed(item));
    if items.is_empty() {
        metadata.remove(list);
    }
}

fn remove_references(dependent: &mut Value, uid: &str) {
    remove_items(dependent, "ownerReferences", |reference| reference["uid"] == uid);
}

fn unblock_owners(dependent: &mut Value) {
    let references = dependent["metadata"]["ownerReferences"].as_array_mut();
    for reference in
        references.into_iter().flatten().filter(|reference| reference["blockOwnerDeletion"] == true)
    {
        reference["blockOwnerDeletion"] = json!(false);
    }
}

fn remove_finalizer(owner: &mut Value, uid: &str, finalizer: &str) {
    if owner["metadata"]["uid"] == uid {
        remove_items(owner, "finalizers", |name| name == finalizer);
    }
}

/// State of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// It exists, or may exist elsewhere.
    Present,
    /// It certainly does not exist.
    Absent,
    /// It is deleted after its dependents.
    Waiting,
}
