//! Something that is only begun has most often arrived in a moment: then there is one thing to say of it and not two.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::key::Key;

/// How long something may be on its way before that is said.
pub(crate) const MOMENT: Duration = Duration::from_millis(500);

/// Since when those are on their way of which nothing was said yet.
#[derive(Debug, Default)]
pub(crate) struct Patience(Mutex<BTreeMap<Key, Instant>>);

impl Patience {
    /// How long it is still worth waiting before anything is said.
    pub(crate) fn rest(&self, key: &Key, is_only_begun: bool) -> Option<Duration> {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let rest = is_only_begun.then(|| {
            let since = *begun.entry(key.clone()).or_insert(now);
            MOMENT.saturating_sub(now.duration_since(since))
        });
        let rest = rest.filter(|rest| !rest.is_zero());
        if rest.is_none() {
            begun.remove(key);
        }
        rest
    }
}
