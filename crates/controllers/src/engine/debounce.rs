//! Time for which statuses have been deferred. Core decides which ones.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::engine::key::Key;

/// Start of each deferral, by key.
#[derive(Debug, Default)]
pub(crate) struct Debounce(Mutex<BTreeMap<Key, Instant>>);

impl Debounce {
    /// Time for which the status of an object has been deferred.
    pub(crate) fn elapsed(&self, key: &Key) -> Duration {
        self.started().get(key).map(Instant::elapsed).unwrap_or_default()
    }

    /// Notes whether the status is deferred, now or still.
    pub(crate) fn set(&self, key: &Key, deferred: bool) {
        if deferred {
            self.started().entry(key.clone()).or_insert_with(Instant::now);
        } else {
            self.started().remove(key);
        }
    }

    fn started(&self) -> MutexGuard<'_, BTreeMap<Key, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
