//! What is known of one kind.
//!
//! Controllers read from here and not from the API, so that ten thousand objects cost neither requests nor much
//! memory: each is kept as compact JSON without what nobody reads, and decoded when it is asked for. And they read
//! their own writes: a cache that lags behind what its controller just did would make it do it again.

use std::{
    fmt::Debug,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::watch;

use crate::known::{Known, decode};

/// What a kind must be to be cached.
pub trait Kind:
    Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

/// What is kept, and how it is found.
#[derive(Clone, Copy, Debug)]
pub struct Options<K> {
    /// Takes away what nobody reads.
    pub prune: fn(&mut K),
    /// Further keys under which an object is found, for instance the names of what it refers to.
    pub index: fn(&K) -> Vec<String>,
}

impl<K: Kind> Default for Options<K> {
    /// Keeps all but the managed fields, and has no further keys.
    fn default() -> Self {
        Self { prune: |object| object.meta_mut().managed_fields = None, index: |_| Vec::new() }
    }
}

/// Something that the watch told of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Change<K> {
    /// The object as it is told, or as it was last known if it is gone.
    pub object: K,
    /// The object as it was told before. Our own writes do not count as told.
    pub previous: Option<K>,
    /// Whether the object is no more.
    pub gone: bool,
    /// Whether this was known before, most often because it is what we wrote ourselves.
    pub echo: bool,
}

/// What is known of one kind. Clones share it.
pub struct Cache<K>(Arc<Shared<K>>);

struct Shared<K> {
    known: RwLock<Known<K>>,
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
    /// A cache that knows nothing yet. A [`feed`](crate::feed::feed) fills it.
    pub fn new(options: Options<K>) -> Self {
        Self(Arc::new(Shared { known: RwLock::new(Known::new(options)), synced: watch::Sender::new(false) }))
    }

    /// An object; the namespace is empty for kinds that have none.
    pub fn get(&self, namespace: &str, name: &str) -> Option<K> {
        let json = self.known().json(namespace, name);
        json.as_ref().and_then(decode)
    }

    /// The objects with this further key, by namespace and name.
    pub fn indexed(&self, key: &str) -> Vec<K> {
        let found = self.known().indexed(key);
        found.iter().filter_map(decode).collect()
    }

    /// All objects, by namespace and name.
    pub fn all(&self) -> Vec<K> {
        let all = self.known().all();
        all.iter().filter_map(decode).collect()
    }

    /// The namespaces and names of all objects.
    pub fn keys(&self) -> Vec<(String, String)> {
        self.known().places().map(|(namespace, name)| (namespace.to_owned(), name.to_owned())).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.known().len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the answer to our own write, so that it is read from now on. Nothing old overwrites something newer, and
    /// what was deleted meanwhile does not come back. Only for objects that the feed selects.
    pub fn wrote(&self, object: &K) {
        self.known_mut().wrote(object);
    }

    /// Takes note that our own delete was final, so that the object is no longer read.
    pub fn removed(&self, namespace: &str, name: &str, uid: &str) {
        self.known_mut().removed(namespace, name, uid);
    }

    /// Waits until the first list is complete.
    pub async fn synced(&self) {
        let mut synced = self.0.synced.subscribe();
        // It cannot fail: the sender lives as long as the cache.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    pub(crate) fn is_synced(&self) {
        self.0.synced.send_replace(true);
    }

    fn known(&self) -> RwLockReadGuard<'_, Known<K>> {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn known_mut(&self) -> RwLockWriteGuard<'_, Known<K>> {
        self.0.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
