//! Where objects are kept when the process is gone.
//!
//! A [`Store`] does two things: it takes a batch of changes and answers when they are safe, and it hands out
//! everything at the start. Reading, ordering, watching and deciding who wins belong to the
//! [ledger](crate::ledger), which holds the live state in memory; so a store stays small enough to be trusted.

mod folder;
mod memory;
mod redb;

pub use folder::{Folder, FolderError};
pub use memory::Memory;
pub use redb::Redb;

use std::{fmt, sync::Arc};

use bytes::Bytes;

/// The number of a change. One sequence for everything, without gaps and never used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The one after this.
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

/// The address of an object. Objects of one resource follow each other, by namespace and then by name.
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
    /// An address by its parts.
    pub fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self { resource: resource.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.resource, self.namespace, self.name)
    }
}

/// An object as it is kept: the bytes, and the change that wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The change that wrote it.
    pub revision: Revision,
    /// Its content, which means nothing to the store.
    pub value: Bytes,
}

/// One change: an object written, or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its number.
    pub revision: Revision,
    /// What is changed.
    pub key: Key,
    /// The new content; `None` removes the object.
    pub value: Option<Bytes>,
}

/// What a store holds when it is opened.
#[derive(Debug, Default)]
pub struct Contents {
    /// The last change that was ever made.
    pub revision: Revision,
    /// All objects.
    pub objects: Vec<(Key, Object)>,
}

/// Why a store cannot do its work.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action}: {cause}")]
pub struct StoreError {
    /// What it was about to do.
    pub action: &'static str,
    /// What stood in the way.
    pub cause: String,
}

/// Keeps changes.
pub trait Store: Send + 'static {
    /// Everything there is.
    fn load(&self) -> Result<Contents, StoreError>;

    /// Keeps a batch, all of it or nothing. When it returns, the batch survives the end of the process and of the
    /// machine.
    fn commit(&mut self, batch: &[Change]) -> Result<(), StoreError>;
}
