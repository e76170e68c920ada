//! Changes that a list reveals: a watch that breaks starts again with a list, and its events of the meantime are lost.

use std::collections::BTreeMap;

/// Keys and versions of the objects of a watch.
#[derive(Debug)]
pub struct Relist<K> {
    known: BTreeMap<K, Box<str>>,
    /// Objects of the list that is being read.
    listed: BTreeMap<K, Box<str>>,
    has_listed: bool,
}

impl<K> Default for Relist<K> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), listed: BTreeMap::new(), has_listed: false }
    }
}

impl<K: Ord + Clone> Relist<K> {
    /// Starts a list. One that was not finished is dropped.
    pub fn start(&mut self) {
        self.listed.clear();
    }

    /// Adds an object of the list.
    pub fn list(&mut self, key: K, version: &str) {
        self.listed.insert(key, version.into());
    }

    /// Ends the list. Returns what was created, changed or deleted since the previous one; nothing after the first: at startup
    /// everything is reconciled anyway.
    pub fn finish(&mut self) -> Vec<K> {
        let listed = std::mem::take(&mut self.listed);
        let known = std::mem::replace(&mut self.known, listed);
        if !std::mem::replace(&mut self.has_listed, true) {
            return Vec::new();
        }
        let changed = self.known.iter().filter(|(key, version)| known.get(*key) != Some(*version));
        let deleted = known.keys().filter(|key| !self.known.contains_key(key));
        changed.map(|(key, _)| key).chain(deleted).cloned().collect()
    }

    /// Records a change that the watch reported.
    pub fn changed(&mut self, key: K, version: &str) {
        self.known.insert(key, version.into());
    }

    /// Records a deletion that the watch reported.
    pub fn deleted(&mut self, key: &K) {
        self.known.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(watched: &mut Relist<&'static str>, objects: &[(&'static str, &str)]) -> Vec<&'static str> {
        watched.start();
        for (key, version) in objects {
            watched.list(key, version);
        }
        watched.finish()
    }

    #[test]
    fn a_relist_reveals_what_was_created_changed_and_deleted_while_the_watch_was_broken() {
        let mut watched = Relist::default();
        assert!(list(&mut watched, &[("same", "1"), ("changed", "2"), ("deleted", "3")]).is_empty(), "first");
        let changes = list(&mut watched, &[("same", "1"), ("changed", "4"), ("created", "5")]);
        assert_eq!(changes, ["changed", "created", "deleted"]);
        assert!(list(&mut watched, &[("same", "1"), ("changed", "4"), ("created", "5")]).is_empty());
    }

    #[test]
    fn what_the_watch_reported_is_not_a_change_of_the_next_list() {
        let mut watched = Relist::default();
        list(&mut watched, &[("a", "1"), ("b", "1")]);
        watched.changed("a", "2");
        watched.deleted(&"b");
        assert!(list(&mut watched, &[("a", "2")]).is_empty());
    }

    #[test]
    fn a_list_that_broke_off_does_not_count() {
        let mut watched = Relist::default();
        list(&mut watched, &[("a", "1")]);
        watched.start();
        watched.list("b", "1");
        assert!(list(&mut watched, &[("a", "1")]).is_empty());
    }
}
