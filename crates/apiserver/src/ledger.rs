//! Total order of all changes.
//!
//! The writer (`ledger/writer.rs`) assigns each change its revision, commits a batch of them to the [store](crate::store) with a single
//! sync, makes them visible, and only then answers the callers:
//!
//! ```text
//!  callers ──► queue ──► revision, precondition ──► store.commit (one sync) ──► state and events ──► answers
//!                                                                                     │
//!                                                                      readers, lists, watchers
//! ```
//!
//! Concurrent callers share a sync, an answered write is in every later read, and all watchers get the same changes in
//! the same order. The live state is in memory. Each object keeps its versions for as long as the events that made them,
//! so that a list can be read as of a recent revision while writing goes on.

mod space;
mod writer;

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use bytes::Bytes;
use tokio::sync::watch;

use self::{
    space::{Space, object_size},
    writer::{Write, Writer, Writing},
};
use crate::store::{Key, Object, Revision, Store, StoreError, StoredChange};

/// Limits of a ledger.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Events kept for late watchers; older ones are dropped.
    pub events: usize,
    /// Bytes of content in those events; beyond that only the last [`MIN_EVENTS`] are kept.
    pub bytes: usize,
    /// Length of the queue of writes; more are refused.
    pub queue: usize,
    /// Writes per sync.
    pub batch: usize,
    /// Bytes of all objects; more are not created. All objects are in memory.
    pub store_bytes: usize,
    /// Bytes of the objects of a namespace.
    pub namespace_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            events: 10_000,
            bytes: 64 * 1024 * 1024,
            queue: 4096,
            batch: 512,
            store_bytes: MAX_STORE_BYTES,
            namespace_bytes: MAX_NAMESPACE_BYTES,
        }
    }
}

/// Events kept regardless of their size, so that a watcher can keep up with writers of large objects.
pub const MIN_EVENTS: usize = 100;

/// Default maximum size of the store, as of etcd.
const MAX_STORE_BYTES: usize = 2 * 1024 * 1024 * 1024;
/// Default maximum size of the objects of a namespace, so that no user can fill the store for all others.
const MAX_NAMESPACE_BYTES: usize = MAX_STORE_BYTES / 4;

/// Precondition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The object does not exist.
    Absent,
    /// The object has this revision.
    At(Revision),
    /// The object has this revision, and the write marks it as deleted: it may grow beyond all limits of space, since nobody
    /// could clean up otherwise. An object is marked once.
    ToMark(Revision),
}

/// Error of a write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The precondition failed: the object has this revision, or does not exist.
    #[error("the object has changed")]
    Conflict(Option<Revision>),
    /// The queue of writes is full.
    #[error("too many writes are waiting")]
    Busy,
    /// The store failed. Nothing was changed.
    #[error("{0}")]
    Store(String),
    /// The object is too large.
    #[error("the object is too large")]
    TooLarge,
    /// The store is full.
    #[error("the store is full; delete objects that are no longer needed")]
    Full,
    /// The objects of the namespace take as much as they may.
    #[error(
        "the objects of this namespace take the {} MiB that they may; delete objects that are no longer needed",
        limit / (1024 * 1024)
    )]
    NamespaceFull {
        /// Maximum in bytes.
        limit: usize,
    },
    /// The ledger is closed.
    #[error("the ledger has ended")]
    Ended,
}

/// The events after this revision are dropped; the client has to list again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old: events before revision {oldest} are no longer kept")]
pub struct TooOld {
    /// Oldest revision with available events.
    pub oldest: Revision,
}

/// Change of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The change.
    pub revision: Revision,
    /// The object.
    pub key: Key,
    /// New content; `None` if deleted.
    pub value: Option<Bytes>,
    /// Previous content; `None` if created.
    pub previous: Option<Bytes>,
}

impl Event {
    /// Bytes of both contents. Content shared by two events counts twice.
    fn size(&self) -> usize {
        [&self.value, &self.previous].into_iter().flatten().map(Bytes::len).sum()
    }
}

/// Version of an object: revision and content.
type Version = (Revision, Option<Bytes>);

#[derive(Debug)]
struct State {
    revision: Revision,
    /// Versions of each object, newest last.
    objects: BTreeMap<Key, Vec<Version>>,
    events: VecDeque<Arc<Event>>,
    /// Total size of the events; see [`Event::size`].
    bytes: usize,
    /// Size of the current objects.
    space: Space,
    /// Events up to this revision are dropped.
    forgotten: Revision,
}

/// Total order of all changes, and the current state. Clones share it.
#[derive(Clone, Debug)]
pub struct Ledger {
    state: Arc<RwLock<State>>,
    writing: Writing,
    latest: watch::Receiver<Revision>,
}

/// Objects of one resource at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Revision of the list.
    pub revision: Revision,
    /// Objects, by namespace and name.
    pub objects: Vec<(Key, Object)>,
    /// True if more objects follow.
    pub more: bool,
    /// Number of further objects.
    pub remaining: usize,
}

impl Ledger {
    /// Loads the content of a store, and starts the writer thread.
    pub fn open(store: impl Store, options: Options) -> Result<Self, StoreError> {
        let contents = store.load()?;
        let mut space = Space::default();
        for (key, object) in &contents.objects {
            space.replace(&key.namespace, 0, object_size(Some(&object.value)));
        }
        let objects = contents
            .objects
            .into_iter()
            .map(|(key, object)| (key, vec![(object.revision, Some(object.value))]))
            .collect();
        let state = Arc::new(RwLock::new(State {
            revision: contents.revision,
            objects,
            events: VecDeque::new(),
            bytes: 0,
            space,
            forgotten: contents.revision,
        }));
        let (announce, latest) = watch::channel(contents.revision);
        let writer =
            Writer { state: Arc::clone(&state), store: Box::new(store), announce, options, is_fast: false };
        let writing = Writing::start(writer, options.queue)
            .map_err(|error| StoreError { action: "start the ledger", cause: error.to_string() })?;
        Ok(Self { state, writing, latest })
    }

    /// Writes or removes an object if the precondition holds. Returns when the change is durable and visible.
    pub async fn write(
        &self,
        key: Key,
        expected: Expected,
        value: Option<Bytes>,
    ) -> Result<Revision, WriteError> {
        self.writing.write(Write { key, expected, value }).await
    }

    /// Last revision.
    pub fn revision(&self) -> Revision {
        read(&self.state).revision
    }

    /// Current version of an object.
    pub fn get(&self, key: &Key) -> Option<Object> {
        current(read(&self.state).objects.get(key)?)
    }

    /// At most `limit` objects of a resource, in one namespace or in all, after a key if given, at a revision or now.
    pub fn list(
        &self,
        resource: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
        limit: usize,
        at: Option<Revision>,
    ) -> Result<Listed, TooOld> {
        let state = read(&self.state);
        let revision = at.unwrap_or(state.revision);
        if revision < state.forgotten {
            return Err(TooOld { oldest: state.forgotten });
        }
        let first = Key::new(resource, namespace.unwrap_or_default(), "");
        let from = match after {
            Some(after) if *after >= first => Bound::Excluded(after.clone()),
            _ => Bound::Included(first),
        };
        let belongs = |key: &Key| {
            &*key.resource == resource && namespace.is_none_or(|namespace| &*key.namespace == namespace)
        };
        let mut objects = Vec::new();
        let mut remaining = 0;
        for (key, versions) in state.objects.range((from, Bound::Unbounded)) {
            if !belongs(key) {
                break;
            }
            let Some(object) = as_of(versions, revision) else { continue };
            if objects.len() == limit {
                remaining += 1;
            } else {
                objects.push((key.clone(), object));
            }
        }
        Ok(Listed { revision, objects, more: remaining > 0, remaining })
    }

    /// At most `limit` events after a revision, oldest first.
    pub fn events(&self, after: Revision, limit: usize) -> Result<Vec<Arc<Event>>, TooOld> {
        let state = read(&self.state);
        if after < state.forgotten {
            return Err(TooOld { oldest: state.forgotten });
        }
        // Revisions have no gaps, so the index of an event follows from its revision.
        let skip = usize::try_from(after.0 - state.forgotten.0).unwrap_or(usize::MAX);
        Ok(state.events.iter().skip(skip).take(limit).cloned().collect())
    }

    /// Waits for a change after a revision. `false` if the ledger is closed.
    pub async fn changed(&self, after: Revision) -> bool {
        self.latest.clone().wait_for(|latest| *latest > after).await.is_ok()
    }
}

impl State {
    fn apply(&mut self, change: &StoredChange, keep: Options) {
        let versions = self.objects.entry(change.key.clone()).or_default();
        let previous = versions.last().and_then(|(_, value)| value.clone());
        let (old, new) = (object_size(previous.as_ref()), object_size(change.value.as_ref()));
        self.space.replace(&change.key.namespace, old, new);
        versions.push((change.revision, change.value.clone()));
        self.revision = change.revision;
        let event = Event {
            revision: change.revision,
            key: change.key.clone(),
            value: change.value.clone(),
            previous,
        };
        self.bytes += event.size();
        self.events.push_back(Arc::new(event));
        while self.events.len() > keep.events || (self.bytes > keep.bytes && self.events.len() > MIN_EVENTS) {
            let Some(event) = self.events.pop_front() else { break };
            self.bytes -= event.size();
            self.forget(&event);
        }
    }

    /// Drops the versions that are not needed without this event.
    fn forget(&mut self, event: &Event) {
        self.forgotten = event.revision;
        if let Some(versions) = self.objects.get_mut(&event.key) {
            // The version at the oldest readable revision, and all later ones, stay.
            let oldest = versions.iter().rposition(|(revision, _)| *revision <= event.revision).unwrap_or(0);
            versions.drain(..oldest);
            if matches!(versions.as_slice(), [(_, None)]) {
                self.objects.remove(&event.key);
            }
        }
    }
}

fn current(versions: &[Version]) -> Option<Object> {
    let (revision, value) = versions.last()?;
    Some(Object { revision: *revision, value: value.clone()? })
}

fn as_of(versions: &[Version], revision: Revision) -> Option<Object> {
    let version = versions.iter().rposition(|(made, _)| *made <= revision)?;
    current(versions.get(..=version)?)
}

/// A panic under the lock leaves the state between two changes, so a poisoned lock is usable.
fn read(state: &RwLock<State>) -> RwLockReadGuard<'_, State> {
    state.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(state: &RwLock<State>) -> RwLockWriteGuard<'_, State> {
    state.write().unwrap_or_else(PoisonError::into_inner)
}
