//! Registry of the databases in a cluster: the instance, names and retention of each. Written before anything is done, so
//! that the next platform finishes what a crash interrupts.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{NamespacedName, process::record};

/// Databases of a cluster, by instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DatabaseRegistry(BTreeMap<NamespacedName, DatabaseEntry>);

/// Database of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DatabaseEntry {
    /// Names of the database and its role.
    #[serde(flatten)]
    pub(super) names: Names,
    /// Retention.
    #[serde(rename = "fate")]
    pub(super) retention: Retention,
}

/// A database and the role that owns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Names {
    /// The database.
    pub(super) database: String,
    /// The role.
    pub(super) user: String,
}

/// Retention of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Retention {
    /// It is in use.
    Used,
    /// Not in use, and kept.
    Kept,
    /// It is dropped as soon as the server is up.
    #[serde(rename = "deleting", alias = "doomed")]
    Drop,
}

impl DatabaseRegistry {
    /// Reads the registry of a cluster.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let noted: BTreeMap<String, DatabaseEntry> = record::read(&file(folder))?.unwrap_or_default();
        let id = |key: String| key.split_once('/').map(|(namespace, name)| (namespace.into(), name.into()));
        Ok(Self(noted.into_iter().filter_map(|(key, entry)| Some((id(key)?, entry))).collect()))
    }

    /// Writes the registry of a cluster.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let key = |(namespace, name): &NamespacedName| format!("{namespace}/{name}");
        let noted: BTreeMap<_, _> = self.0.iter().map(|(id, entry)| (key(id), entry)).collect();
        record::write(&file(folder), &noted)
    }

    /// Database of an instance.
    pub(super) fn get(&self, id: &NamespacedName) -> Option<&DatabaseEntry> {
        self.0.get(id)
    }

    /// Records that an instance uses a database. One that is to be dropped stays so: it is dropped before it is created again.
    pub(super) fn used(&mut self, id: &NamespacedName, names: &Names) {
        if self.retention(id) != Some(Retention::Drop) {
            self.0.insert(id.clone(), DatabaseEntry { names: names.clone(), retention: Retention::Used });
        }
    }

    /// Records that an instance has released its database.
    pub(super) fn left(&mut self, id: &NamespacedName, retention: Retention) {
        if let Some(entry) = self.0.get_mut(id).filter(|entry| entry.retention != Retention::Drop) {
            entry.retention = retention;
        }
    }

    /// Removes a database that was dropped.
    pub(super) fn forget(&mut self, id: &NamespacedName) {
        self.0.remove(id);
    }

    /// Databases that are to be dropped.
    pub(super) fn to_drop(&self) -> Vec<(NamespacedName, Names)> {
        let dropped = self.0.iter().filter(|(_, entry)| entry.retention == Retention::Drop);
        dropped.map(|(id, entry)| (id.clone(), entry.names.clone())).collect()
    }

    /// True if the server has to be up: for databases in use, or to drop some and keep others.
    pub(super) fn needs_server(&self) -> bool {
        let any = |retention| self.0.values().any(|entry| entry.retention == retention);
        any(Retention::Used) || (any(Retention::Drop) && any(Retention::Kept))
    }

    /// True if all databases are to be dropped.
    pub(super) fn is_all_dropped(&self) -> bool {
        self.0.values().all(|entry| entry.retention == Retention::Drop)
    }

    /// True if there are no databases.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn retention(&self, id: &NamespacedName) -> Option<Retention> {
        self.0.get(id).map(|entry| entry.retention)
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("instances.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> NamespacedName {
        ("default".to_owned(), name.to_owned())
    }

    fn names() -> Names {
        Names { database: "d".to_owned(), user: "u".to_owned() }
    }

    #[test]
    fn a_registry_round_trips() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(DatabaseRegistry::read(folder.path()).unwrap(), DatabaseRegistry::default());
        let mut registry = DatabaseRegistry::default();
        registry.used(&id("a"), &names());
        registry.used(&id("b"), &names());
        registry.left(&id("b"), Retention::Kept);
        registry.write(folder.path()).unwrap();
        assert_eq!(DatabaseRegistry::read(folder.path()).unwrap(), registry);
    }

    #[test]
    fn the_server_is_needed_by_users_and_to_drop_one_database_beside_a_kept_one() {
        let mut registry = DatabaseRegistry::default();
        assert!(!registry.needs_server());
        registry.used(&id("a"), &names());
        registry.used(&id("b"), &names());
        assert!(registry.needs_server());
        registry.left(&id("a"), Retention::Kept);
        registry.left(&id("b"), Retention::Kept);
        assert!(!registry.needs_server());
        registry.left(&id("b"), Retention::Drop);
        assert!(registry.needs_server());
        registry.left(&id("a"), Retention::Drop);
        assert!(!registry.needs_server() && registry.is_all_dropped());
    }

    #[test]
    fn the_retention_is_read_as_earlier_versions_wrote_it() {
        for text in ["\"deleting\"", "\"doomed\""] {
            assert_eq!(serde_json::from_str::<Retention>(text).unwrap(), Retention::Drop);
        }
    }

    #[test]
    fn a_database_marked_for_dropping_is_not_reused() {
        let mut registry = DatabaseRegistry::default();
        registry.used(&id("a"), &names());
        registry.left(&id("a"), Retention::Drop);
        registry.used(&id("a"), &names());
        registry.left(&id("a"), Retention::Kept);
        assert_eq!(registry.to_drop(), [(id("a"), names())]);
        registry.forget(&id("a"));
        assert!(registry.is_empty());
    }
}
