//! Which instances have a database in a cluster, and what is to become of it. Noted before anything is done, so that
//! whatever a crash leaves half done is finished by the next platform.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::process::{record, servers::Id};

/// The instances of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Book(BTreeMap<Id, Held>);

/// What an instance has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    /// Its database and role.
    #[serde(flatten)]
    pub(super) names: Names,
    /// What is to become of them.
    pub(super) fate: Fate,
}

/// A database and the role that owns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Names {
    /// The database.
    pub(super) database: String,
    /// The role.
    pub(super) user: String,
}

/// What is to become of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Fate {
    /// Somebody uses it.
    Used,
    /// Nobody uses it, and it is kept.
    Kept,
    /// It is to be dropped.
    Doomed,
}

impl Book {
    /// What is noted in the folder of a cluster.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let noted: BTreeMap<String, Held> = record::read(&file(folder))?.unwrap_or_default();
        let id = |key: String| key.split_once('/').map(|(namespace, name)| (namespace.into(), name.into()));
        Ok(Self(noted.into_iter().filter_map(|(key, held)| Some((id(key)?, held))).collect()))
    }

    /// Notes it in the folder of a cluster.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let key = |(namespace, name): &Id| format!("{namespace}/{name}");
        let noted: BTreeMap<_, _> = self.0.iter().map(|(id, held)| (key(id), held)).collect();
        record::write(&file(folder), &noted)
    }

    /// What an instance has.
    pub(super) fn get(&self, id: &Id) -> Option<&Held> {
        self.0.get(id)
    }

    /// An instance uses a database. One that is doomed stays so: it is dropped before there is another.
    pub(super) fn used(&mut self, id: &Id, names: &Names) {
        if self.fate(id) != Some(Fate::Doomed) {
            self.0.insert(id.clone(), Held { names: names.clone(), fate: Fate::Used });
        }
    }

    /// An instance uses its database no longer.
    pub(super) fn left(&mut self, id: &Id, fate: Fate) {
        if let Some(held) = self.0.get_mut(id).filter(|held| held.fate != Fate::Doomed) {
            held.fate = fate;
        }
    }

    /// A database is gone.
    pub(super) fn forget(&mut self, id: &Id) {
        self.0.remove(id);
    }

    /// What is to be dropped.
    pub(super) fn doomed(&self) -> Vec<(Id, Names)> {
        let doomed = self.0.iter().filter(|(_, held)| held.fate == Fate::Doomed);
        doomed.map(|(id, held)| (id.clone(), held.names.clone())).collect()
    }

    /// Whether the server has to be up: for those who use it, or to drop some databases and keep others.
    pub(super) fn needs_server(&self) -> bool {
        let any = |fate| self.0.values().any(|held| held.fate == fate);
        any(Fate::Used) || (any(Fate::Doomed) && any(Fate::Kept))
    }

    /// Whether nothing in the cluster is to be kept.
    pub(super) fn is_all_doomed(&self) -> bool {
        self.0.values().all(|held| held.fate == Fate::Doomed)
    }

    /// Whether there is nothing in the cluster.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn fate(&self, id: &Id) -> Option<Fate> {
        self.0.get(id).map(|held| held.fate)
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("instances.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Id {
        ("default".to_owned(), name.to_owned())
    }

    fn names() -> Names {
        Names { database: "d".to_owned(), user: "u".to_owned() }
    }

    #[test]
    fn what_is_noted_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Book::read(folder.path()).unwrap(), Book::default());
        let mut book = Book::default();
        book.used(&id("a"), &names());
        book.used(&id("b"), &names());
        book.left(&id("b"), Fate::Kept);
        book.write(folder.path()).unwrap();
        assert_eq!(Book::read(folder.path()).unwrap(), book);
    }

    #[test]
    fn the_server_is_needed_by_users_and_to_drop_beside_what_is_kept() {
        let mut book = Book::default();
        assert!(!book.needs_server());
        book.used(&id("a"), &names());
        book.used(&id("b"), &names());
        assert!(book.needs_server());
        book.left(&id("a"), Fate::Kept);
        book.left(&id("b"), Fate::Kept);
        assert!(!book.needs_server());
        book.left(&id("b"), Fate::Doomed);
        assert!(book.needs_server());
        book.left(&id("a"), Fate::Doomed);
        assert!(!book.needs_server() && book.is_all_doomed());
    }

    #[test]
    fn what_is_doomed_is_not_used_again() {
        let mut book = Book::default();
        book.used(&id("a"), &names());
        book.left(&id("a"), Fate::Doomed);
        book.used(&id("a"), &names());
        book.left(&id("a"), Fate::Kept);
        assert_eq!(book.doomed(), [(id("a"), names())]);
        book.forget(&id("a"));
        assert!(book.is_empty());
    }
}
