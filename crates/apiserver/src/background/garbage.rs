//! Objects go when all their owners are gone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    api::Api,
    ledger::Event,
    record::Record,
    store::{Key, Revision},
    verbs::update,
};

/// Who depends on whom.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// By the uid of an owner: its dependents.
    dependents: BTreeMap<String, BTreeSet<Key>>,
    /// By dependent: the uids of its owners.
    owners: BTreeMap<Key, Vec<String>>,
}

impl Collector {
    /// Reads who depends on whom from the state.
    pub(super) fn index(api: &Api) -> Self {
        let mut collector = Self::default();
        for kind in api.registry().resources() {
            let listed = api.ledger().list(&kind.resource, None, None, usize::MAX, None);
            for (key, object) in listed.map(|listed| listed.objects).unwrap_or_default() {
                collector.learn(&key, Some(&object.value));
            }
        }
        collector
    }

    /// Deletes everything whose owners are gone.
    pub(super) async fn collect_all(&mut self, api: &Api) {
        for key in self.owners.keys().cloned().collect::<Vec<_>>() {
            judge(api, &key).await;
        }
    }

    /// Learns from a change, and deletes what it leaves without owners.
    pub(super) async fn follow(&mut self, api: &Api, event: &Event) {
        self.learn(&event.key, event.value.as_deref());
        if self.owners.contains_key(&event.key) {
            judge(api, &event.key).await;
        }
        if let (None, Some(previous)) = (&event.value, &event.previous) {
            let gone = Record { revision: event.revision, bytes: previous }.stored();
            let uid = gone["metadata"]["uid"].as_str().unwrap_or_default();
            for key in self.dependents.get(uid).cloned().unwrap_or_default() {
                judge(api, &key).await;
            }
        }
    }

    fn learn(&mut self, key: &Key, value: Option<&[u8]>) {
        for uid in self.owners.remove(key).unwrap_or_default() {
            if let Some(dependents) = self.dependents.get_mut(&uid) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.dependents.remove(&uid);
                }
            }
        }
        let Some(bytes) = value else { return };
        // Most objects have no owner; those are not parsed.
        if !contains(bytes, b"\"ownerReferences\":") {
            return;
        }
        let object = Record { revision: Revision(0), bytes }.stored();
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

/// Deletes an object if it had owners and none of them is left; otherwise drops the references to those that are gone.
async fn judge(api: &Api, key: &Key) {
    let registry = api.registry();
    let Some(kind) = registry.resources().into_iter().find(|kind| kind.resource == key.resource).cloned()
    else {
        return;
    };
    let Some(old) = api.ledger().get(key) else { return };
    let mut object = Record { revision: old.revision, bytes: &old.value }.object(&kind);
    let all = references(&object);
    let (there, gone): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|reference| !is_gone(api, key, reference));
    if gone.is_empty() {
        return;
    }
    if there.is_empty() {
        let uid = object["metadata"]["uid"].clone();
        super::delete(api, &kind, key, &uid).await;
        return;
    }
    object["metadata"]["ownerReferences"] = json!(there);
    // If somebody is faster, their change is judged in its turn.
    let changed = super::with_call(api, &kind, &key.namespace, &key.name, async |call| {
        update::change(call, &old, object, Some("kube-controller-manager")).await.map(drop)
    })
    .await;
    super::note(api, changed);
}

/// Whether an owner is gone for certain. Kinds that this server does not know may live elsewhere.
fn is_gone(api: &Api, dependent: &Key, reference: &Value) -> bool {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let registry = api.registry();
    let Some(kind) = registry.find_kind(text("apiVersion"), text("kind")) else { return false };
    // A namespaced owner of an object of the whole cluster cannot be found, so it cannot be known to be gone.
    if kind.namespaced && dependent.namespace.is_empty() {
        return false;
    }
    let namespace = if kind.namespaced { &*dependent.namespace } else { "" };
    api.read(kind, namespace, text("name")).is_none_or(|owner| owner["metadata"]["uid"] != reference["uid"])
}
