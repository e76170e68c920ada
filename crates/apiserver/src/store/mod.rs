//! Durable storage of objects.
//!
//! A [`Store`] commits batches of changes, and returns its whole content at the start. Reads, order, watches and
//! conflicts belong to the [ledger](crate::ledger), which holds the live state in memory; so a store stays small.

mod folder;
mod key_file;
mod keyring;
mod memory;
mod redb;

pub use folder::{Folder, FolderError};
pub use key_file::KeyFile;
pub use memory::Memory;
pub use redb::Redb;

use std::{fmt, sync::Arc};

use bytes::Bytes;

/// Number of a change: one sequence for all objects, without gaps or reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// Next revision.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Key of an object. The order is by resource, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The kind of object, such as `configmaps` or `workloads.score.dev`.
    pub resource: Arc<str>,
    /// The namespace; empty for objects of the whole cluster.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// Key of an object.
    pub fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self { resource: resource.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.resource, self.namespace, self.name)
    }
}

/// Stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The change that wrote it.
    pub revision: Revision,
    /// Content, opaque to the store.
    pub value: Bytes,
}

/// Write or removal of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChange {
    /// Its number.
    pub revision: Revision,
    /// Changed object.
    pub key: Key,
    /// The new content; `None` removes the object.
    pub value: Option<Bytes>,
}

/// Content of a store when it is opened.
#[derive(Debug, Default)]
pub struct Contents {
    /// Last revision ever used.
    pub revision: Revision,
    /// All objects.
    pub objects: Vec<(Key, Object)>,
}

/// Error of a store.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action}: {cause}")]
pub struct StoreError {
    /// Failed action.
    pub action: &'static str,
    /// Cause.
    pub cause: String,
}

/// Durable storage.
pub trait Store: Send + 'static {
    /// Reads the whole content.
    fn load(&self) -> Result<Contents, StoreError>;

    /// Commits a batch atomically. When it returns, the batch survives crashes of the process and of the machine.
    fn commit(&mut self, batch: &[StoredChange]) -> Result<(), StoreError>;
}
