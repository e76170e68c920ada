//! Index of owners and dependents, and of the owners whose deletion concerns their dependents.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    objects::lifecycle::{self, FOREGROUND, ORPHAN},
    store::{Key, Revision},
    stored_object::StoredObject,
};

/// Index of the stored objects.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Dependents, by the uid of the owner.
    dependents: BTreeMap<String, BTreeSet<Key>>,
    /// References to owners, by dependent.
    owners: BTreeMap<Key, Vec<Reference>>,
    /// Owners that are deleted after their dependents, by uid.
    waiting: BTreeMap<String, Key>,
    /// Owners that release their dependents, by uid.
    orphaning: BTreeMap<String, Key>,
    /// Uids of the objects in the two maps above.
    deleting: BTreeMap<Key, String>,
}

/// Reference to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reference {
    uid: String,
    /// The owner cannot be deleted before this dependent.
    blocks: bool,
}

/// Effect of a change on other objects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Uid of the object, if it is deleted after its dependents.
    pub(super) waits: Option<String>,
    /// Uid of the object, if it releases its dependents.
    pub(super) orphans: Option<String>,
    /// Uids of waiting owners that the object does not block any more.
    pub(super) unblocked: Vec<String>,
}

impl Graph {
    /// Indexes an object, or its deletion.
    pub(super) fn insert(&mut self, key: &Key, value: Option<&[u8]>) -> Change {
        let before = self.remove(key);
        // Most objects have no owner and are not terminating, and need not be parsed.
        let concerns = |bytes: &&[u8]| {
            contains(bytes, b"\"ownerReferences\"") || contains(bytes, b"\"deletionTimestamp\"")
        };
        let mut change = Change::default();
        if let Some(bytes) = value.filter(concerns) {
            let object = StoredObject { revision: Revision(0), bytes }.stored();
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            if lifecycle::waits_for(&object, ORPHAN) {
                change.orphans = Some(uid.to_owned());
                self.orphaning.insert(uid.to_owned(), key.clone());
                self.deleting.insert(key.clone(), uid.to_owned());
            } else if lifecycle::waits_for(&object, FOREGROUND) {
                change.waits = Some(uid.to_owned());
                self.waiting.insert(uid.to_owned(), key.clone());
                self.deleting.insert(key.clone(), uid.to_owned());
            }
            let references = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            let references: Vec<Reference> = references
                .filter_map(|reference| {
                    let blocks = reference["blockOwnerDeletion"] == true;
                    Some(Reference { uid: reference["uid"].as_str()?.to_owned(), blocks })
                })
                .collect();
            for reference in &references {
                self.dependents.entry(reference.uid.clone()).or_default().insert(key.clone());
            }
            if !references.is_empty() {
                self.owners.insert(key.clone(), references);
            }
        }
        let blocked = before.into_iter().filter(|reference| reference.blocks);
        change.unblocked = blocked
            .map(|reference| reference.uid)
            .filter(|uid| self.waiting.contains_key(uid) && !self.blocks(key, uid))
            .collect();
        change
    }

    /// Forgets an object, and returns its references.
    fn remove(&mut self, key: &Key) -> Vec<Reference> {
        if let Some(uid) = self.deleting.remove(key) {
            self.waiting.remove(&uid);
            self.orphaning.remove(&uid);
        }
        let references = self.owners.remove(key).unwrap_or_default();
        for Reference { uid, .. } in &references {
            if let Some(dependents) = self.dependents.get_mut(uid) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
        references
    }

    fn blocks(&self, key: &Key, uid: &str) -> bool {
        let references = self.owners.get(key).into_iter().flatten();
        references.into_iter().any(|reference| reference.blocks && reference.uid == uid)
    }

    /// True if a dependent blocks the deletion of an owner.
    pub(super) fn is_blocked(&self, uid: &str) -> bool {
        self.dependents.get(uid).is_some_and(|dependents| dependents.iter().any(|key| self.blocks(key, uid)))
    }

    /// Dependents of an owner.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// True if an object has owners.
    pub(super) fn has_owners(&self, key: &Key) -> bool {
        self.owners.contains_key(key)
    }

    /// All objects with owners.
    pub(super) fn with_owners(&self) -> Vec<Key> {
        self.owners.keys().cloned().collect()
    }

    /// True if an object is deleted after its dependents.
    pub(super) fn is_waiting(&self, key: &Key) -> bool {
        self.deleting.get(key).is_some_and(|uid| self.waiting.contains_key(uid))
    }

    /// Object that is deleted after its dependents, by its uid.
    pub(super) fn waiting_key(&self, uid: &str) -> Option<&Key> {
        self.waiting.get(uid)
    }

    /// Uids of all objects that are deleted after their dependents.
    pub(super) fn waiting(&self) -> Vec<String> {
        self.waiting.keys().cloned().collect()
    }

    /// All objects that release their dependents, with their uids.
    pub(super) fn orphaning(&self) -> Vec<(String, Key)> {
        self.orphaning.iter().map(|(uid, key)| (uid.clone(), key.clone())).collect()
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{kinds::Kind, stored_object};

    /// Inserts an object with these owners, as uid and whether it blocks them, and finalizers; terminating if it has any.
    fn insert(graph: &mut Graph, uid: &str, owners: &[(&str, bool)], finalizers: &[&str]) -> Change {
        let references: Vec<Value> =
            owners.iter().map(|(uid, blocks)| json!({"uid": uid, "blockOwnerDeletion": blocks})).collect();
        let mut metadata = json!({"uid": uid, "ownerReferences": references, "finalizers": finalizers});
        if !finalizers.is_empty() {
            metadata["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
        }
        let bytes = stored_object::pack(&Kind::default(), &json!({"metadata": metadata}));
        graph.insert(&key(uid), Some(&bytes))
    }

    fn key(uid: &str) -> Key {
        Key::new("things", "default", uid)
    }

    #[test]
    fn a_waiting_owner_is_blocked_until_no_dependent_blocks_it() {
        let mut graph = Graph::default();
        insert(&mut graph, "child", &[("owner", true)], &[]);
        insert(&mut graph, "other", &[("owner", false)], &[]);
        let change = insert(&mut graph, "owner", &[], &[FOREGROUND]);
        assert_eq!(change.waits.as_deref(), Some("owner"));
        assert!(graph.is_blocked("owner") && graph.is_waiting(&key("owner")));
        assert_eq!(graph.dependents("owner").len(), 2);
        let change = insert(&mut graph, "child", &[("owner", false)], &[]);
        assert_eq!(change.unblocked, ["owner"]);
        assert!(!graph.is_blocked("owner"));
    }

    #[test]
    fn a_deleted_dependent_unblocks_only_owners_that_wait() {
        let mut graph = Graph::default();
        insert(&mut graph, "waiting", &[], &[FOREGROUND]);
        insert(&mut graph, "child", &[("waiting", true), ("living", true)], &[]);
        assert_eq!(graph.insert(&key("child"), None).unblocked, ["waiting"]);
        assert!(!graph.has_owners(&key("child")));
    }

    #[test]
    fn an_owner_that_loses_its_finalizer_waits_no_longer() {
        let mut graph = Graph::default();
        assert_eq!(insert(&mut graph, "owner", &[], &[ORPHAN]).orphans.as_deref(), Some("owner"));
        assert_eq!(graph.orphaning(), [("owner".to_owned(), key("owner"))]);
        insert(&mut graph, "owner", &[], &["example.org/hold"]);
        assert!(graph.orphaning().is_empty());
        insert(&mut graph, "owner", &[], &[FOREGROUND]);
        graph.insert(&key("owner"), None);
        assert!(graph.waiting().is_empty() && graph.waiting_key("owner").is_none());
    }
}
