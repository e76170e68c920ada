//! Garbage collector: deletes objects whose owners are all deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    api::Api,
    ledger::Event,
    store::{Key, Revision},
    stored_object::StoredObject,
    verbs::update,
};

/// Index of owners and their dependents.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// Dependents, by the uid of the owner.
    dependents: BTreeMap<String, BTreeSet<Key>>,
    /// Uids of the owners, by dependent.
    owners: BTreeMap<Key, Vec<String>>,
}

impl Collector {
    /// Builds the index from the current state.
    pub(super) fn index(api: &Api) -> Self {
        let mut collector = Self::default();
        for kind in api.registry().resources() {
            match api.ledger().list(&kind.resource, None, None, usize::MAX, None) {
                Ok(listed) => {
                    for (key, object) in listed.objects {
                        collector.index_object(&key, Some(&object.value));
                    }
                }
                // The retry rebuilds the index.
                Err(_) => api.request_retry(),
            }
        }
        collector
    }

    /// Deletes all objects without owners.
    pub(super) async fn collect_all(&mut self, api: &Api) {
        for key in self.owners.keys().cloned().collect::<Vec<_>>() {
            collect(api, &key).await;
        }
    }

    /// Indexes a change, and deletes the dependents that it leaves without owners.
    pub(super) async fn follow(&mut self, api: &Api, event: &Event) {
        self.index_object(&event.key, event.value.as_deref());
        if self.owners.contains_key(&event.key) {
            collect(api, &event.key).await;
        }
        if let (None, Some(previous)) = (&event.value, &event.previous) {
            let deleted = StoredObject { revision: event.revision, bytes: previous }.stored();
            let uid = deleted["metadata"]["uid"].as_str().unwrap_or_default();
            for key in self.dependents.get(uid).cloned().unwrap_or_default() {
                collect(api, &key).await;
            }
        }
    }

    fn index_object(&mut self, key: &Key, value: Option<&[u8]>) {
        for uid in self.owners.remove(key).unwrap_or_default() {
            if let Some(dependents) = self.dependents.get_mut(&uid) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.dependents.remove(&uid);
                }
            }
        }
        let Some(bytes) = value else { return };
        // Most objects have no owner and need not be parsed.
        if !contains(bytes, b"\"ownerReferences\"") {
            return;
        }
        let object = StoredObject { revision: Revision(0), bytes }.stored();
        let uids: Vec<String> = references(&object)
            .iter()
            .filter_map(|reference| reference["uid"].as_str().map(str::to_owned))
            .collect();
        for uid in &uids {
            self.dependents.entry(uid.clone()).or_default().insert(key.clone());
        }
        if !uids.is_empty() {
            self.owners.insert(key.clone(), uids);
        }
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn references(object: &Value) -> Vec<Value> {
    object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default()
}

/// Deletes an object whose owners are all absent, or drops the references to missing owners.
async fn collect(api: &Api, key: &Key) {
    let Some(kind) = api.registry().find_resource(&key.resource).cloned() else { return };
    let Some(old) = api.ledger().get(key) else { return };
    let mut object = StoredObject { revision: old.revision, bytes: &old.value }.object(&kind);
    let all = references(&object);
    let (present, absent): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|reference| !is_absent(api, key, reference));
    if absent.is_empty() {
        return;
    }
    if present.is_empty() {
        let uid = object["metadata"]["uid"].clone();
        super::delete(api, &kind, key, &uid).await;
        return;
    }
    object["metadata"]["ownerReferences"] = json!(present);
    // A concurrent change enqueues the object again.
    let changed = super::with_call(api, &kind, &key.namespace, &key.name, async |call| {
        update::change(call, &old, object, Some("kube-controller-manager")).await.map(drop)
    })
    .await;
    super::retry_on_failure(api, changed);
}

/// True if an owner certainly does not exist. Owners of unknown kinds may exist elsewhere.
fn is_absent(api: &Api, dependent: &Key, reference: &Value) -> bool {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let registry = api.registry();
    let Some(kind) = registry.find_kind(text("apiVersion"), text("kind")) else { return false };
    // The owner reference of a cluster-scoped object has no namespace.
    if kind.namespaced && dependent.namespace.is_empty() {
        return false;
    }
    let namespace = if kind.namespaced { &*dependent.namespace } else { "" };
    api.read(kind, namespace, text("name")).is_none_or(|owner| owner["metadata"]["uid"] != reference["uid"])
}
