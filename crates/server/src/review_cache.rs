//! Cache of recent reviews, bounded in time and number.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 1024;

/// Cache of recent reviews.
pub(crate) struct ReviewCache<K, V> {
    ttl: Duration,
    entries: Mutex<HashMap<K, (Instant, V)>>,
}

impl<K: Eq + Hash + Clone, V: Clone> ReviewCache<K, V> {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { ttl, entries: Mutex::default() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|(since, _)| since.elapsed() < self.ttl).map(|(_, value)| value.clone())
    }

    /// Adds an entry. If there are too many, the oldest is removed.
    pub(crate) fn insert(&self, key: K, value: V) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, (since, _)| since.elapsed() < self.ttl);
        }
        if entries.len() >= MAX_ENTRIES {
            let oldest = entries.iter().min_by_key(|(_, (since, _))| *since).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| entries.remove(&oldest));
        }
        entries.insert(key, (Instant::now(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn entries_expire() {
        let cache = ReviewCache::new(TTL);
        cache.insert(0, true);
        assert_eq!(cache.get(&0), Some(true));
        tokio::time::advance(TTL).await;
        assert_eq!(cache.get(&0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_entry_makes_room() {
        let cache = ReviewCache::new(TTL);
        for key in 0..=MAX_ENTRIES {
            cache.insert(key, true);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(cache.entries.lock().unwrap().len(), MAX_ENTRIES);
        assert_eq!((cache.get(&0), cache.get(&1), cache.get(&MAX_ENTRIES)), (None, Some(true), Some(true)));
    }
}
