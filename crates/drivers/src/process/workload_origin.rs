//! Store of workload origins: one file in the data folder, readable by its user alone.
//!
//! `image: .` is the folder of the Score file, a resource of type `environment` the shell in which it was applied. Both exist
//! only on the author's machine, so they are stored beside the platform's data and not in the object.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use futures_util::stream::BoxStream;

use crate::{NamespacedName, WorkloadOrigin, WorkloadOrigins, notify::Notifier};

/// Name of the file.
const FILE: &str = "folders.json";

/// Store of workload origins. Clones share the file and the notifications.
#[derive(Clone, Debug)]
pub struct OriginStore {
    data: PathBuf,
    notifier: Notifier,
}

impl OriginStore {
    /// The store of a data folder that exists.
    pub fn open(data: &Path) -> Self {
        Self { data: data.to_owned(), notifier: Notifier::default() }
    }

    /// Origin of a Workload, if it is recorded.
    pub fn find(&self, namespace: &str, name: &str) -> io::Result<Option<WorkloadOrigin>> {
        Ok(self.read()?.remove(&key(namespace, name)))
    }

    /// Removes the origin of a Workload.
    pub fn forget(&self, namespace: &str, name: &str) -> io::Result<()> {
        self.change(|all| {
            all.remove(&key(namespace, name));
        })
        .map(drop)
    }

    /// Removes the origins of a namespace.
    pub(super) fn forget_namespace(&self, namespace: &str) -> io::Result<()> {
        if !self.namespaces()?.contains(namespace) {
            return Ok(());
        }
        self.change(|all| all.retain(|key, _| namespace_of(key) != namespace)).map(drop)
    }

    /// Namespaces with origins.
    pub(super) fn namespaces(&self) -> io::Result<BTreeSet<String>> {
        Ok(self.read()?.keys().map(|key| namespace_of(key).to_owned()).collect())
    }

    /// Removes the origins of all Workloads but these.
    pub fn retain(&self, existing: &BTreeSet<NamespacedName>) -> io::Result<()> {
        let kept: BTreeSet<String> = existing.iter().map(|(namespace, name)| key(namespace, name)).collect();
        self.change(|all| all.retain(|key, _| kept.contains(key))).map(drop)
    }

    /// Workloads whose recorded origin changes from now on.
    pub(super) fn changes(&self) -> BoxStream<'static, NamespacedName> {
        self.notifier.subscribe()
    }

    fn read(&self) -> io::Result<BTreeMap<String, WorkloadOrigin>> {
        match fs::read(self.data.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(error),
        }
    }

    /// Changes the file under a lock and replaces it atomically: several commands may record at once. Returns whether the
    /// content changed.
    fn change(&self, edit: impl FnOnce(&mut BTreeMap<String, WorkloadOrigin>)) -> io::Result<bool> {
        let open = |name: &str| {
            File::options().write(true).create(true).truncate(false).mode(0o600).open(self.data.join(name))
        };
        let lock = open("folders.lock")?;
        lock.lock()?;
        let mut all = self.read()?;
        let before = all.clone();
        edit(&mut all);
        if all == before {
            return Ok(false);
        }
        let mut file = open("folders.new")?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec_pretty(&all)?)?;
        file.sync_all()?;
        fs::rename(self.data.join("folders.new"), self.data.join(FILE))?;
        Ok(true)
    }
}

impl WorkloadOrigins for OriginStore {
    fn is_recorded(&self, namespace: &str, name: &str) -> io::Result<bool> {
        Ok(self.find(namespace, name)?.is_some_and(|origin| origin.first_plan.is_none()))
    }

    fn record(&self, namespace: &str, name: &str, origin: WorkloadOrigin) -> io::Result<()> {
        let is_new = self.change(|all| {
            all.insert(key(namespace, name), origin);
        })?;
        if is_new {
            self.notifier.notify(&(namespace.to_owned(), name.to_owned()));
        }
        Ok(())
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

fn namespace_of(key: &str) -> &str {
    key.split_once('/').map_or(key, |(namespace, _)| namespace)
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, StreamExt as _};

    use super::*;

    fn origin(folder: &str) -> WorkloadOrigin {
        WorkloadOrigin { folder: folder.into(), ..WorkloadOrigin::default() }
    }

    #[test]
    fn an_origin_is_found_until_it_is_forgotten() {
        let data = tempfile::tempdir().unwrap();
        let store = OriginStore::open(data.path());
        let find = |name: &str| store.find("default", name).unwrap();
        assert_eq!(find("hello"), None);
        store.record("default", "hello", origin("/here")).unwrap();
        store.record("default", "other", origin("/there")).unwrap();
        assert_eq!(find("hello"), Some(origin("/here")));
        store.forget("default", "hello").unwrap();
        assert_eq!((find("hello"), find("other")), (None, Some(origin("/there"))));
        store.retain(&[("default".to_owned(), "hello".to_owned())].into()).unwrap();
        assert_eq!(find("other"), None);
    }

    #[test]
    fn only_a_changed_origin_notifies() {
        let data = tempfile::tempdir().unwrap();
        let store = OriginStore::open(data.path());
        let mut changes = store.changes();
        let id = ("default".to_owned(), "hello".to_owned());
        store.record(&id.0, &id.1, origin("/here")).unwrap();
        assert_eq!(changes.next().now_or_never(), Some(Some(id.clone())));
        store.record(&id.0, &id.1, origin("/here")).unwrap();
        assert_eq!(changes.next().now_or_never(), None);
        store.record(&id.0, &id.1, origin("/there")).unwrap();
        assert_eq!(changes.next().now_or_never(), Some(Some(id)));
    }

    #[test]
    fn only_the_user_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let data = tempfile::tempdir().unwrap();
        OriginStore::open(data.path()).record("default", "hello", origin("/here")).unwrap();
        let mode = fs::metadata(data.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_of_the_previous_version_is_read() {
        let data = tempfile::tempdir().unwrap();
        let text = r#"{"default/hello": {"folder": "/here", "path": "/bin", "environment": {"KEY": "1"}}}"#;
        fs::write(data.path().join(FILE), text).unwrap();
        let found = OriginStore::open(data.path()).find("default", "hello").unwrap().unwrap();
        assert_eq!((found.folder, found.path.as_deref()), ("/here".into(), Some("/bin")));
        assert_eq!(found.environment, [("KEY".to_owned(), "1".to_owned())].into());
    }
}
