//! Reflector-backed store of one kind, with read-your-writes.
//!
//! Controllers read from the cache instead of the API. Objects are stored as compact JSON without the fields that nobody reads, and
//! decoded on access. Answers to our own writes go into the cache at once: a controller that does not see what it just did would do it
//! again.

use std::{
    fmt::Debug,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::watch;

pub(crate) mod store;

use self::store::{Store, decode};

/// Kinds that can be cached.
pub trait Kind:
    Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

/// Options of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Options<K> {
    /// Removes the fields that nobody reads.
    pub prune: fn(&mut K),
    /// Index keys of an object, for instance the names of objects it refers to.
    pub index: fn(&K) -> Vec<String>,
}

impl<K: Kind> Default for Options<K> {
    /// Everything except the managed fields, without an index.
    fn default() -> Self {
        Self { prune: |object| object.meta_mut().managed_fields = None, index: |_| Vec::new() }
    }
}

/// Change of an object, as the watch reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectChange<K> {
    /// The object, in its last known state if it is gone.
    pub object: K,
    /// The object as the watch reported it before. Answers to our own writes do not count.
    pub previous: Option<K>,
    /// True if the object was deleted.
    pub gone: bool,
    /// True if the cache had this version before, usually from our own write.
    pub echo: bool,
}

/// Event of a reflector.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<K> {
    /// An object has changed.
    Changed(ObjectChange<K>),
    /// The objects that cannot be deserialized have changed.
    InvalidChanged,
}

/// Cache of one kind. Clones share it.
pub struct Cache<K>(Arc<Shared<K>>);

struct Shared<K> {
    store: RwLock<Store<K>>,
    synced: watch::Sender<bool>,
}

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Kind> Debug for Cache<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("kind", &K::kind(&())).field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<K: Kind> Default for Cache<K> {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl<K: Kind> Cache<K> {
    /// Empty cache. A [reflector](crate::engine::reflector::reflect) fills it.
    pub fn new(options: Options<K>) -> Self {
        Self(Arc::new(Shared { store: RwLock::new(Store::new(options)), synced: watch::Sender::new(false) }))
    }

    /// Object by namespace (empty for cluster-scoped kinds) and name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<K> {
        let json = self.store().json(namespace, name);
        json.as_ref().and_then(decode)
    }

    /// Objects with this index key, by namespace and name.
    pub fn indexed(&self, key: &str) -> Vec<K> {
        let found = self.store().indexed(key);
        found.iter().filter_map(decode).collect()
    }

    /// All objects, by namespace and name.
    pub fn all(&self) -> Vec<K> {
        let all = self.store().all();
        all.iter().filter_map(decode).collect()
    }

    /// Objects that cannot be deserialized, as JSON. [`Cache::all`] has earlier versions of some of them.
    pub fn invalid(&self) -> Vec<Arc<str>> {
        self.store().invalid()
    }

    /// Namespaces and names of all objects.
    pub fn keys(&self) -> Vec<(String, String)> {
        self.store().names().map(|(namespace, name)| (namespace.to_owned(), name.to_owned())).collect()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.store().len()
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores the answer to our own write, unless the cache has a newer version or the object was deleted meanwhile. Only for
    /// objects that the reflector selects.
    pub fn wrote(&self, object: &K) {
        self.store_mut().wrote(object);
    }

    /// Removes an object after our own final delete.
    pub fn removed(&self, namespace: &str, name: &str, uid: &str) {
        self.store_mut().removed(namespace, name, uid);
    }

    /// Waits until the first list is complete.
    pub async fn synced(&self) {
        let mut synced = self.0.synced.subscribe();
        // The sender lives as long as the cache.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// Marks the first list as complete.
    pub(crate) fn set_synced(&self) {
        self.0.synced.send_replace(true);
    }

    fn store(&self) -> RwLockReadGuard<'_, Store<K>> {
        self.0.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn store_mut(&self) -> RwLockWriteGuard<'_, Store<K>> {
        self.0.store.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
