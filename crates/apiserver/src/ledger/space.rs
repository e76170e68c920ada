//! Memory that objects take, in all and by namespace, and its limits.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::{Options, WriteError};

/// Memory of an object beside its content.
const OBJECT_OVERHEAD_BYTES: usize = 512;
/// Updates may exceed a limit by this part of it, so that a full store can be cleaned up: a deletion with finalizers begins
/// with an update.
const UPDATE_MARGIN: usize = 8;

/// Memory of an object; none if it does not exist.
pub(super) fn object_size(value: Option<&Bytes>) -> usize {
    value.map_or(0, |value| value.len() + OBJECT_OVERHEAD_BYTES)
}

/// Memory of all objects.
#[derive(Debug, Default)]
pub(super) struct Space {
    all: usize,
    /// Without objects of the whole cluster.
    namespaces: BTreeMap<Arc<str>, usize>,
}

impl Space {
    /// Counts an object of another size.
    pub(super) fn replace(&mut self, namespace: &Arc<str>, old: usize, new: usize) {
        self.all = self.all - old + new;
        if namespace.is_empty() {
            return;
        }
        let bytes = self.namespaces.entry(Arc::clone(namespace)).or_default();
        *bytes = *bytes - old + new;
        if *bytes == 0 {
            self.namespaces.remove(namespace);
        }
    }

    /// Copy of what counts for the objects of some namespaces.
    pub(super) fn part<'a>(&self, namespaces: impl Iterator<Item = &'a Arc<str>>) -> Self {
        let part = namespaces.filter_map(|name| Some((Arc::clone(name), *self.namespaces.get(name)?)));
        Self { all: self.all, namespaces: part.collect() }
    }

    /// Refuses an object that grows beyond a limit. A new object has the old size 0.
    pub(super) fn admit(
        &self,
        namespace: &Arc<str>,
        old: usize,
        new: usize,
        options: &Options,
    ) -> Result<(), WriteError> {
        let exceeds = |bytes: usize, limit: usize| {
            let margin = if old > 0 { limit / UPDATE_MARGIN } else { 0 };
            new > old && bytes - old + new > limit.saturating_add(margin)
        };
        if exceeds(self.all, options.store_bytes) {
            return Err(WriteError::Full);
        }
        let of_namespace = self.namespaces.get(namespace).copied().unwrap_or_default();
        if !namespace.is_empty() && exceeds(of_namespace, options.namespace_bytes) {
            return Err(WriteError::NamespaceFull { limit: options.namespace_bytes });
        }
        Ok(())
    }
}
