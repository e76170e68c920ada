//! State of a cache.
//!
//! It has two sources. The watch reports everything, in order, but late; answers to our own writes arrive at once. Each object has its
//! newest version, and beside it the version last watched if that is another. Readers get the newest; changes are computed between
//! watched versions, as if we had never written.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::engine::cache::{Kind, ObjectChange, Options};

/// Namespace (empty for cluster-scoped kinds) and name of an object.
pub(crate) type ObjectName = (Box<str>, Box<str>);

/// Object as JSON, shared with readers, which decode it after they have released the lock.
pub(crate) type Json = Arc<[u8]>;

/// Source of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A list, which may have skipped versions.
    List,
    /// A watch, which reports every version.
    Watch,
}

#[derive(Debug)]
pub(crate) struct Store<K> {
    options: Options<K>,
    objects: BTreeMap<Box<str>, BTreeMap<Box<str>, Entry>>,
    len: usize,
    index: BTreeMap<String, BTreeSet<ObjectName>>,
    /// Objects that we deleted and whose deletion the watch has not reported yet, by uid.
    tombstones: BTreeMap<Box<str>, Tombstone>,
    /// Objects that cannot be deserialized.
    invalid: BTreeMap<ObjectName, Invalid>,
    /// True if `invalid` has changed since the last [`take_invalid_changed`](Self::take_invalid_changed).
    invalid_changed: bool,
    /// Revision up to which the watch has reported everything.
    seen: u64,
}

/// Object that cannot be deserialized.
#[derive(Debug)]
struct Invalid {
    json: Arc<str>,
    uid: Box<str>,
    version: u64,
}

#[derive(Debug)]
struct Entry {
    json: Json,
    uid: Box<str>,
    version: u64,
    last_watched: LastWatched,
}

/// Object that we deleted.
#[derive(Debug)]
struct Tombstone {
    /// Last known version.
    json: Json,
    /// Version last watched.
    last_watched: Option<Json>,
}

/// Version of an object that was last watched.
#[derive(Debug)]
enum LastWatched {
    /// The newest one.
    Current,
    /// An earlier one: the newest is the answer to our own write.
    Earlier(Json),
    /// None: we created the object.
    Never,
}

impl Entry {
    fn last_watched(&self) -> Option<&Json> {
        match &self.last_watched {
            LastWatched::Current => Some(&self.json),
            LastWatched::Earlier(json) => Some(json),
            LastWatched::Never => None,
        }
    }
}

impl<K: Kind> Store<K> {
    pub(crate) fn new(options: Options<K>) -> Self {
        Self {
            options,
            objects: BTreeMap::new(),
            len: 0,
            index: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            invalid: BTreeMap::new(),
            invalid_changed: false,
            seen: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn json(&self, namespace: &str, name: &str) -> Option<Json> {
        self.entry(namespace, name).map(|entry| entry.json.clone())
    }

    pub(crate) fn indexed(&self, key: &str) -> Vec<Json> {
        let names = self.index.get(key).into_iter().flatten();
        names.filter_map(|(namespace, name)| self.json(namespace, name)).collect()
    }

    pub(crate) fn all(&self) -> Vec<Json> {
        self.objects.values().flat_map(BTreeMap::values).map(|entry| entry.json.clone()).collect()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.objects.iter().flat_map(|(namespace, names)| names.keys().map(|name| (&**namespace, &**name)))
    }

    /// Objects that cannot be deserialized, as JSON.
    pub(crate) fn invalid(&self) -> Vec<Arc<str>> {
        self.invalid.values().map(|invalid| Arc::clone(&invalid.json)).collect()
    }

    /// True once after each change of the objects that cannot be deserialized.
    pub(crate) fn take_invalid_changed(&mut self) -> bool {
        std::mem::take(&mut self.invalid_changed)
    }

    /// Stores the answer to our own write.
    pub(crate) fn wrote(&mut self, object: &K) {
        let (namespace, name) = object_name(object.meta());
        let (uid, version) = (uid(object.meta()), version(object.meta()));
        if is_final(object.meta()) {
            return self.removed(namespace, name, uid);
        }
        let last_watched = match self.entry(namespace, name) {
            Some(entry) if entry.version >= version => return,
            Some(entry) => entry.last_watched().cloned().map_or(LastWatched::Never, LastWatched::Earlier),
            // The watch is past this version, so the object was deleted meanwhile.
            None if version <= self.seen || self.tombstones.contains_key(uid) => return,
            None => LastWatched::Never,
        };
        let mut object = object.clone();
        (self.options.prune)(&mut object);
        self.put(&object, last_watched);
    }

    /// Replaces an object with a tombstone after our own final delete.
    pub(crate) fn removed(&mut self, namespace: &str, name: &str, uid: &str) {
        if self.entry(namespace, name).is_some_and(|entry| &*entry.uid == uid)
            && let Some(entry) = self.take(namespace, name)
        {
            let last_watched = entry.last_watched().cloned();
            self.tombstones.insert(entry.uid, Tombstone { json: entry.json, last_watched });
        }
    }

    /// Notes that the watch has reported everything up to this revision.
    pub(crate) fn passed(&mut self, version: u64) {
        self.seen = self.seen.max(version);
    }

    /// Stores a listed or watched object.
    pub(crate) fn apply(&mut self, mut object: K, source: Source) -> Vec<ObjectChange<K>> {
        (self.options.prune)(&mut object);
        let (namespace, name) = object_name(object.meta());
        let version = version(object.meta());
        if source == Source::Watch {
            self.passed(version);
        }
        self.remove_invalid((namespace, name), |_| true);
        // An older event of an object that we deleted.
        if self.tombstones.contains_key(uid(object.meta())) {
            return Vec::new();
        }
        let Some(entry) = self.entry(namespace, name) else {
            self.put(&object, LastWatched::Current);
            return vec![ObjectChange { object, previous: None, gone: false, echo: false }];
        };
        let known = entry.version;
        let mut previous: Option<K> = entry.last_watched().and_then(decode);
        let echo = version == known
            && (source == Source::Watch || matches!(entry.last_watched, LastWatched::Current));
        if version > known {
            self.put(&object, LastWatched::Current);
        } else {
            let last_watched =
                if version == known { LastWatched::Current } else { LastWatched::Earlier(encode(&object)) };
            if let Some(entry) = self.entry_mut(object_name(object.meta())) {
                entry.last_watched = last_watched;
            }
        }
        let mut changes = Vec::new();
        if let Some(before) = previous.take_if(|before| before.meta().uid != object.meta().uid) {
            changes.push(ObjectChange {
                object: before.clone(),
                previous: Some(before),
                gone: true,
                echo: false,
            });
        }
        changes.push(ObjectChange { object, previous, gone: false, echo });
        changes
    }

    /// Removes an object whose deletion was watched. One that cannot be deserialized is identified by its metadata.
    pub(crate) fn delete(&mut self, object: Result<K, ObjectMeta>) -> Option<ObjectChange<K>> {
        let meta = object.as_ref().map_or_else(|meta| meta, |object| object.meta());
        let (namespace, name) = object_name(meta);
        let uid = uid(meta);
        self.passed(version(meta));
        self.remove_invalid((namespace, name), |invalid| &*invalid.uid == uid);
        let ours = self.tombstones.remove(uid);
        let echo = ours.is_some();
        let last_watched = match (ours, self.entry_mut((namespace, name))) {
            (Some(tombstone), _) => tombstone.last_watched,
            (None, Some(entry)) if &*entry.uid == uid => {
                self.take(namespace, name).and_then(|entry| entry.last_watched().cloned())
            }
            // We created the next object of this name before the deletion of this one was watched.
            (None, Some(entry)) => match std::mem::replace(&mut entry.last_watched, LastWatched::Never) {
                LastWatched::Earlier(json) => Some(json),
                other => {
                    entry.last_watched = other;
                    None
                }
            },
            (None, None) => None,
        };
        let previous: Option<K> = last_watched.as_ref().and_then(decode);
        let object = match object {
            Ok(mut object) => {
                (self.options.prune)(&mut object);
                Some(object)
            }
            Err(_) => previous.clone(),
        };
        object.map(|object| ObjectChange { object, previous, gone: true, echo })
    }

    /// Handles an object that cannot be deserialized. Its last good version stays, but not that of another object with the same name.
    pub(crate) fn malformed(
        &mut self,
        meta: &ObjectMeta,
        json: &str,
        source: Source,
    ) -> Option<ObjectChange<K>> {
        let (namespace, name) = object_name(meta);
        if source == Source::Watch {
            self.passed(version(meta));
        }
        let known = self.entry(namespace, name).map(|entry| (entry.version, &*entry.uid == uid(meta)));
        if known.is_some_and(|(known, _)| known > version(meta)) || self.tombstones.contains_key(uid(meta)) {
            return None;
        }
        let invalid = Invalid { json: json.into(), uid: uid(meta).into(), version: version(meta) };
        let before = self.invalid.insert((namespace.into(), name.into()), invalid);
        self.invalid_changed |= before.is_none_or(|before| &*before.json != json);
        let (_, is_same) = known?;
        if is_same { None } else { self.take(namespace, name).and_then(|entry| gone(&entry)) }
    }

    fn remove_invalid(&mut self, (namespace, name): (&str, &str), is_it: impl Fn(&Invalid) -> bool) {
        if self.invalid.is_empty() {
            return;
        }
        let object = (namespace.into(), name.into());
        if self.invalid.get(&object).is_some_and(is_it) {
            self.invalid.remove(&object);
            self.invalid_changed = true;
        }
    }

    /// Starts a list as of this revision. True if the server has lost its history, for instance because it was restored from a backup:
    /// then every listed version replaces what is stored.
    pub(crate) fn begin_list(&mut self, version: u64) -> bool {
        let lost = version < self.seen;
        if lost {
            self.seen = version;
            self.tombstones.clear();
            self.objects.values_mut().flat_map(BTreeMap::values_mut).for_each(|entry| entry.version = 0);
        }
        lost
    }

    /// Ends a list of these objects, with their uids. What is stored and was not listed is gone, unless we created it after the list.
    pub(crate) fn end_list(
        &mut self,
        version: u64,
        listed: &BTreeMap<ObjectName, Box<str>>,
    ) -> Vec<ObjectChange<K>> {
        self.passed(version);
        let uids: BTreeSet<&str> = listed.values().map(|uid| &**uid).collect();
        // Their deletion was never watched; the list shows it.
        let buried =
            self.tombstones.extract_if(.., |uid, _| !uids.contains(&**uid)).map(|(_, tombstone)| tombstone);
        let mut changes: Vec<_> = buried.filter_map(|tombstone| buried_change(&tombstone)).collect();
        let vanished: Vec<ObjectName> = self
            .names()
            .filter(|(namespace, name)| self.entry(namespace, name).is_some_and(|e| e.version <= version))
            .map(|(namespace, name)| (namespace.into(), name.into()))
            .filter(|object| !listed.contains_key(object))
            .collect();
        let invalid = self.invalid.len();
        self.invalid.retain(|object, invalid| invalid.version > version || listed.contains_key(object));
        self.invalid_changed |= self.invalid.len() != invalid;
        let entries = vanished.iter().filter_map(|(namespace, name)| self.take(namespace, name));
        changes.extend(entries.collect::<Vec<_>>().iter().filter_map(gone));
        changes
    }

    fn entry(&self, namespace: &str, name: &str) -> Option<&Entry> {
        self.objects.get(namespace)?.get(name)
    }

    fn entry_mut(&mut self, (namespace, name): (&str, &str)) -> Option<&mut Entry> {
        self.objects.get_mut(namespace)?.get_mut(name)
    }

    /// Inserts or replaces an object.
    fn put(&mut self, object: &K, last_watched: LastWatched) {
        let (namespace, name) = object_name(object.meta());
        self.take(namespace, name);
        for key in (self.options.index)(object) {
            self.index.entry(key).or_default().insert((namespace.into(), name.into()));
        }
        let (uid, version) = (uid(object.meta()).into(), version(object.meta()));
        let entry = Entry { json: encode(object), uid, version, last_watched };
        if !self.objects.contains_key(namespace) {
            self.objects.insert(namespace.into(), BTreeMap::new());
        }
        if let Some(names) = self.objects.get_mut(namespace) {
            names.insert(name.into(), entry);
            self.len += 1;
        }
    }

    /// Removes an object.
    fn take(&mut self, namespace: &str, name: &str) -> Option<Entry> {
        let names = self.objects.get_mut(namespace)?;
        let entry = names.remove(name)?;
        if names.is_empty() {
            self.objects.remove(namespace);
        }
        self.len -= 1;
        if self.index.is_empty() {
            return Some(entry);
        }
        // Keys are computed again rather than stored: objects are read more often than they change.
        for key in decode(&entry.json).map(|object: K| (self.options.index)(&object)).unwrap_or_default() {
            if let Some(names) = self.index.get_mut(&key) {
                names.remove(&(namespace.into(), name.into()));
                if names.is_empty() {
                    self.index.remove(&key);
                }
            }
        }
        Some(entry)
    }
}

fn gone<K: Kind>(entry: &Entry) -> Option<ObjectChange<K>> {
    let object = decode(&entry.json)?;
    Some(ObjectChange { object, previous: entry.last_watched().and_then(decode), gone: true, echo: false })
}

fn buried_change<K: Kind>(tombstone: &Tombstone) -> Option<ObjectChange<K>> {
    let previous = tombstone.last_watched.as_ref().and_then(decode);
    Some(ObjectChange { object: decode(&tombstone.json)?, previous, gone: true, echo: true })
}

/// Decodes a stored object.
pub(crate) fn decode<K: Kind>(json: &Json) -> Option<K> {
    let read = serde_json::from_slice(json);
    read.inspect_err(|error| tracing::error!(kind = %K::kind(&()), %error, "cached object cannot be decoded"))
        .ok()
}

fn encode<K: Kind>(object: &K) -> Json {
    let written = serde_json::to_vec(object);
    let written = written.inspect_err(
        |error| tracing::error!(kind = %K::kind(&()), %error, "object cannot be encoded for the cache"),
    );
    written.unwrap_or_default().into()
}

pub(crate) fn object_name(meta: &ObjectMeta) -> (&str, &str) {
    (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

pub(crate) fn uid(meta: &ObjectMeta) -> &str {
    meta.uid.as_deref().unwrap_or_default()
}

fn version(meta: &ObjectMeta) -> u64 {
    meta.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// True if a write removed the last finalizer of an object that is being deleted.
fn is_final(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
        && meta.finalizers.as_ref().is_none_or(Vec::is_empty)
        && meta.deletion_grace_period_seconds.unwrap_or_default() == 0
}
