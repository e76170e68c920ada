//! What a cache knows, and what follows from news.
//!
//! News come from two sides. The watch tells everything, in order, but late; the answers to our own writes come at
//! once, but tell only of them. So each object has the newest version known, and beside it the version that the watch
//! told last, as long as that is another: readers get the former, and changes are told from one version of the watch
//! to the next, as if we had never written.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::cache::{Change, Kind, Options};

/// Where an object is: its namespace, empty if it has none, and its name.
pub(crate) type Place = (Box<str>, Box<str>);

/// An object as JSON. Readers share it, so that they need not decode while they hold the lock.
pub(crate) type Json = Arc<[u8]>;

/// Who tells of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A list, which may have skipped versions.
    List,
    /// A watch, which has told every version before.
    Watch,
}

#[derive(Debug)]
pub(crate) struct Known<K> {
    options: Options<K>,
    objects: BTreeMap<Box<str>, BTreeMap<Box<str>, Entry>>,
    len: usize,
    index: BTreeMap<String, BTreeSet<Place>>,
    /// Objects that we deleted and whose end the watch has not told yet, by uid.
    graves: BTreeMap<Box<str>, Grave>,
    /// The watch has told everything up to this revision.
    seen: u64,
}

#[derive(Debug)]
struct Entry {
    json: Json,
    uid: Box<str>,
    version: u64,
    told: Told,
}

/// An object that we deleted.
#[derive(Debug)]
struct Grave {
    /// As it was known last.
    json: Json,
    /// As the watch told it last.
    told: Option<Json>,
}

/// What the watch told last of an object.
#[derive(Debug)]
enum Told {
    /// What is known.
    This,
    /// An earlier version: the one that is known is of our own making.
    Earlier(Json),
    /// Nothing: we made the object.
    Nothing,
}

impl Entry {
    fn told(&self) -> Option<&Json> {
        match &self.told {
            Told::This => Some(&self.json),
            Told::Earlier(json) => Some(json),
            Told::Nothing => None,
        }
    }
}

impl<K: Kind> Known<K> {
    pub(crate) fn new(options: Options<K>) -> Self {
        Self {
            options,
            objects: BTreeMap::new(),
            len: 0,
            index: BTreeMap::new(),
            graves: BTreeMap::new(),
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
        let places = self.index.get(key).into_iter().flatten();
        places.filter_map(|(namespace, name)| self.json(namespace, name)).collect()
    }

    pub(crate) fn all(&self) -> Vec<Json> {
        self.objects.values().flat_map(BTreeMap::values).map(|entry| entry.json.clone()).collect()
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = (&str, &str)> {
        self.objects.iter().flat_map(|(namespace, names)| names.keys().map(|name| (&**namespace, &**name)))
    }

    /// Our own write was answered with this object.
    pub(crate) fn wrote(&mut self, object: &K) {
        let (namespace, name) = place(object.meta());
        let (uid, version) = (uid(object.meta()), version(object.meta()));
        if is_final(object.meta()) {
            return self.removed(namespace, name, uid);
        }
        let told = match self.entry(namespace, name) {
            Some(entry) if entry.version >= version => return,
            Some(entry) => entry.told().cloned().map_or(Told::Nothing, Told::Earlier),
            // The watch is past it, so it was deleted meanwhile.
            None if version <= self.seen || self.graves.contains_key(uid) => return,
            None => Told::Nothing,
        };
        let mut object = object.clone();
        (self.options.prune)(&mut object);
        self.put(&object, told);
    }

    /// Our own delete was final.
    pub(crate) fn removed(&mut self, namespace: &str, name: &str, uid: &str) {
        if self.entry(namespace, name).is_some_and(|entry| &*entry.uid == uid)
            && let Some(entry) = self.take(namespace, name)
        {
            let told = entry.told().cloned();
            self.graves.insert(entry.uid, Grave { json: entry.json, told });
        }
    }

    /// The watch is past this revision.
    pub(crate) fn passed(&mut self, version: u64) {
        self.seen = self.seen.max(version);
    }

    /// An object is told of.
    pub(crate) fn apply(&mut self, mut object: K, source: Source) -> Vec<Change<K>> {
        (self.options.prune)(&mut object);
        let (namespace, name) = place(object.meta());
        let version = version(object.meta());
        if source == Source::Watch {
            self.passed(version);
        }
        // News of what we know to be gone are old.
        if self.graves.contains_key(uid(object.meta())) {
            return Vec::new();
        }
        let Some(entry) = self.entry(namespace, name) else {
            self.put(&object, Told::This);
            return vec![Change { object, previous: None, gone: false, echo: false }];
        };
        let known = entry.version;
        let mut previous: Option<K> = entry.told().and_then(decode);
        let echo = version == known && (source == Source::Watch || matches!(entry.told, Told::This));
        if version > known {
            self.put(&object, Told::This);
        } else {
            let told = if version == known { Told::This } else { Told::Earlier(encode(&object)) };
            if let Some(entry) = self.entry_mut(place(object.meta())) {
                entry.told = told;
            }
        }
        let mut changes = Vec::new();
        if let Some(before) = previous.take_if(|before| before.meta().uid != object.meta().uid) {
            changes.push(Change { object: before.clone(), previous: Some(before), gone: true, echo: false });
        }
        changes.push(Change { object, previous, gone: false, echo });
        changes
    }

    /// The end of an object is told. One that cannot be read is known by its metadata.
    pub(crate) fn delete(&mut self, object: Result<K, ObjectMeta>) -> Option<Change<K>> {
        let meta = object.as_ref().map_or_else(|meta| meta, |object| object.meta());
        let (namespace, name) = place(meta);
        let uid = uid(meta);
        self.passed(version(meta));
        let ours = self.graves.remove(uid);
        let echo = ours.is_some();
        let told = match (ours, self.entry_mut((namespace, name))) {
            (Some(grave), _) => grave.told,
            (None, Some(entry)) if &*entry.uid == uid => {
                self.take(namespace, name).and_then(|entry| entry.told().cloned())
            }
            // We made the next object of this name before the end of this one was told.
            (None, Some(entry)) => match std::mem::replace(&mut entry.told, Told::Nothing) {
                Told::Earlier(json) => Some(json),
                other => {
                    entry.told = other;
                    None
                }
            },
            (None, None) => None,
        };
        let previous: Option<K> = told.as_ref().and_then(decode);
        let object = match object {
            Ok(mut object) => {
                (self.options.prune)(&mut object);
                Some(object)
            }
            Err(_) => previous.clone(),
        };
        object.map(|object| Change { object, previous, gone: true, echo })
    }

    /// An object is told of that cannot be read. What is known of it stays, but not what is known of another object
    /// that had its place.
    pub(crate) fn malformed(&mut self, meta: &ObjectMeta, source: Source) -> Option<Change<K>> {
        let (namespace, name) = place(meta);
        if source == Source::Watch {
            self.passed(version(meta));
        }
        let entry = self.entry(namespace, name)?;
        if &*entry.uid == uid(meta) || entry.version > version(meta) {
            return None;
        }
        self.take(namespace, name).and_then(|entry| gone(&entry))
    }

    /// A list as of this revision begins. Tells whether the server has lost its history, for instance because it was
    /// set up anew: then nothing that is known counts against what is listed.
    pub(crate) fn begin_list(&mut self, version: u64) -> bool {
        let lost = version < self.seen;
        if lost {
            self.seen = version;
            self.graves.clear();
            self.objects.values_mut().flat_map(BTreeMap::values_mut).for_each(|entry| entry.version = 0);
        }
        lost
    }

    /// The list has ended; these were on it, with their uids. What is known and was not there is gone, unless we made
    /// it after the list.
    pub(crate) fn end_list(&mut self, version: u64, listed: &BTreeMap<Place, Box<str>>) -> Vec<Change<K>> {
        self.passed(version);
        let uids: BTreeSet<&str> = listed.values().map(|uid| &**uid).collect();
        // The list tells their end, which the watch did not come to tell.
        let buried = self.graves.extract_if(.., |uid, _| !uids.contains(&**uid)).map(|(_, grave)| grave);
        let mut changes: Vec<_> = buried.filter_map(|grave| buried_change(&grave)).collect();
        let vanished: Vec<Place> = self
            .places()
            .filter(|(namespace, name)| self.entry(namespace, name).is_some_and(|e| e.version <= version))
            .map(|(namespace, name)| (namespace.into(), name.into()))
            .filter(|place| !listed.contains_key(place))
            .collect();
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

    /// Keeps an object, in place of what was known of it.
    fn put(&mut self, object: &K, told: Told) {
        let (namespace, name) = place(object.meta());
        self.take(namespace, name);
        for key in (self.options.index)(object) {
            self.index.entry(key).or_default().insert((namespace.into(), name.into()));
        }
        let (uid, version) = (uid(object.meta()).into(), version(object.meta()));
        let entry = Entry { json: encode(object), uid, version, told };
        if !self.objects.contains_key(namespace) {
            self.objects.insert(namespace.into(), BTreeMap::new());
        }
        if let Some(names) = self.objects.get_mut(namespace) {
            names.insert(name.into(), entry);
            self.len += 1;
        }
    }

    /// Forgets an object.
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
        // The keys are worked out again rather than kept: an object is read more often than it changes.
        for key in decode(&entry.json).map(|object: K| (self.options.index)(&object)).unwrap_or_default() {
            if let Some(places) = self.index.get_mut(&key) {
                places.remove(&(namespace.into(), name.into()));
                if places.is_empty() {
                    self.index.remove(&key);
                }
            }
        }
        Some(entry)
    }
}

fn gone<K: Kind>(entry: &Entry) -> Option<Change<K>> {
    let object = decode(&entry.json)?;
    Some(Change { object, previous: entry.told().and_then(decode), gone: true, echo: false })
}

fn buried_change<K: Kind>(grave: &Grave) -> Option<Change<K>> {
    let previous = grave.told.as_ref().and_then(decode);
    Some(Change { object: decode(&grave.json)?, previous, gone: true, echo: true })
}

/// The object that was kept.
pub(crate) fn decode<K: Kind>(json: &Json) -> Option<K> {
    let read = serde_json::from_slice(json);
    read.inspect_err(|error| tracing::error!(kind = %K::kind(&()), %error, "a kept object cannot be read"))
        .ok()
}

fn encode<K: Kind>(object: &K) -> Json {
    let written = serde_json::to_vec(object);
    let written = written
        .inspect_err(|error| tracing::error!(kind = %K::kind(&()), %error, "an object cannot be kept"));
    written.unwrap_or_default().into()
}

pub(crate) fn place(meta: &ObjectMeta) -> (&str, &str) {
    (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

pub(crate) fn uid(meta: &ObjectMeta) -> &str {
    meta.uid.as_deref().unwrap_or_default()
}

fn version(meta: &ObjectMeta) -> u64 {
    meta.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// Whether a write was the last one, since it let a dying object go.
fn is_final(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
        && meta.finalizers.as_ref().is_none_or(Vec::is_empty)
        && meta.deletion_grace_period_seconds.unwrap_or_default() == 0
}
