//! postgres: one server for each requested version, with a database and a role for each instance.

pub(super) mod cluster;
mod database_registry;
mod databases;
mod installed;
mod statements;
mod wire;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{task::JoinSet, time::sleep};

use self::{cluster::Cluster, database_registry::Names, databases::Databases};
use super::{INSTALL_CHECK_INTERVAL, ServerStatus, not_installed::NotInstalled};
use crate::{NamespacedName, SecretText, notify::Notifier, process::Launcher};

/// Name of the server, as users call it.
const NAME: &str = "postgres";

/// Requested database.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestedDatabase<'a> {
    pub(super) database: &'a str,
    pub(super) user: &'a str,
    pub(super) version: Option<&'a str>,
}

/// All postgres servers.
#[derive(Debug)]
pub(super) struct Postgres {
    folder: PathBuf,
    launcher: Launcher,
    notifier: Notifier,
    clusters: Mutex<Option<Clusters>>,
    /// One task for each instance that waits for a version to be installed.
    install_watches: Mutex<BTreeMap<NamespacedName, JoinSet<()>>>,
}

type Clusters = BTreeMap<u32, Arc<Databases>>;

impl Postgres {
    pub(super) fn new(folder: PathBuf, launcher: Launcher, notifier: Notifier) -> Self {
        Self { folder, launcher, notifier, clusters: Mutex::default(), install_watches: Mutex::default() }
    }

    pub(super) async fn ensure(
        &self,
        id: &NamespacedName,
        wanted: RequestedDatabase<'_>,
        password: &SecretText,
    ) -> ServerStatus {
        let unreadable = |error: io::Error| {
            let folder = self.folder.display();
            ServerStatus::Down(format!("The data of {NAME} in `{folder}` cannot be read: {error}; retrying."))
        };
        let major = match wanted.version.map(|version| installed::major(version).ok_or(version)).transpose() {
            Ok(major) => major,
            Err(version) => {
                let why = NotInstalled::NotAVersion { server: NAME, wanted: version.to_owned() };
                return ServerStatus::Unavailable(why.to_string());
            }
        };
        let databases = match self.databases_of(id) {
            Ok(Some(databases)) => databases,
            Ok(None) => {
                let found = installed::find(&self.launcher).await;
                match found.choose(major).map(|programs| self.cluster(programs.major)) {
                    Ok(Ok(databases)) => databases,
                    Ok(Err(error)) => return unreadable(error),
                    Err(why) => {
                        self.watch_installs(id, found);
                        return ServerStatus::Unavailable(why.to_string());
                    }
                }
            }
            Err(error) => return unreadable(error),
        };
        self.install_watches().remove(id);
        if let Some(major) = major.filter(|major| *major != databases.major()) {
            let why = NotInstalled::OtherData { server: NAME, current: databases.major(), wanted: major };
            return ServerStatus::Unavailable(why.to_string());
        }
        let names = Names { database: wanted.database.to_owned(), user: wanted.user.to_owned() };
        databases.ensure(id, &names, password)
    }

    pub(super) fn release(&self, id: &NamespacedName, data: bool) -> bool {
        self.install_watches().remove(id);
        match self.databases_of(id) {
            Ok(databases) => databases.is_none_or(|databases| databases.release(id, data)),
            Err(error) => {
                tracing::warn!(%error, "the databases of this machine cannot be read");
                false
            }
        }
    }

    /// Cluster with the database of an instance.
    fn databases_of(&self, id: &NamespacedName) -> io::Result<Option<Arc<Databases>>> {
        Ok(self.clusters()?.as_ref().and_then(|all| all.values().find(|one| one.contains(id)).cloned()))
    }

    /// Cluster of a version.
    fn cluster(&self, major: u32) -> io::Result<Arc<Databases>> {
        let mut clusters = self.clusters()?;
        let all = clusters.get_or_insert_default();
        if let Some(databases) = all.get(&major) {
            return Ok(Arc::clone(databases));
        }
        let databases = self.begin(major)?;
        all.insert(major, Arc::clone(&databases));
        Ok(databases)
    }

    /// All clusters; those of an earlier platform are managed from the first call on.
    fn clusters(&self) -> io::Result<MutexGuard<'_, Option<Clusters>>> {
        let mut clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        if clusters.is_none() {
            let mut found = Clusters::new();
            for major in majors(&self.folder)? {
                found.insert(major, self.begin(major)?);
            }
            *clusters = Some(found);
        }
        Ok(clusters)
    }

    fn begin(&self, major: u32) -> io::Result<Arc<Databases>> {
        let folder = self.folder.join(major.to_string());
        let cluster = Cluster { folder, major, launcher: self.launcher.clone() };
        Databases::begin(cluster, self.notifier.clone()).map(Arc::new)
    }

    fn install_watches(&self) -> MutexGuard<'_, BTreeMap<NamespacedName, JoinSet<()>>> {
        self.install_watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies an instance when the installed versions change.
    fn watch_installs(&self, id: &NamespacedName, found: installed::InstalledVersions) {
        let (launcher, notifier, instance) = (self.launcher.clone(), self.notifier.clone(), id.clone());
        let mut task = JoinSet::new();
        task.spawn(async move {
            while installed::find(&launcher).await == found {
                sleep(INSTALL_CHECK_INTERVAL).await;
            }
            notifier.notify(&instance);
        });
        self.install_watches().insert(id.clone(), task);
    }
}

/// Major versions with data in a folder.
fn majors(folder: &Path) -> io::Result<Vec<u32>> {
    let entries = match fs::read_dir(folder) {
        // Nothing was created yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_data_are_found_and_an_unreadable_folder_is_an_error() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("postgres");
        assert_eq!(majors(&folder).unwrap(), Vec::<u32>::new(), "nothing was created yet");
        fs::create_dir_all(folder.join("17")).unwrap();
        fs::create_dir_all(folder.join("lost+found")).unwrap();
        assert_eq!(majors(&folder).unwrap(), [17_u32]);
        // A file instead of a folder without permissions, which root can read.
        let file = data.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(majors(&file).is_err());
    }

    #[tokio::test]
    async fn a_database_whose_data_cannot_be_read_is_down_with_the_cause() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("postgres");
        fs::write(&folder, "").unwrap();
        let postgres = Postgres::new(folder, Launcher { program: PathBuf::new() }, Notifier::default());
        let wanted = RequestedDatabase { database: "shop", user: "shop", version: None };
        let id = ("default".to_owned(), "db".to_owned());
        let status = postgres.ensure(&id, wanted, &SecretText::new(b"x".to_vec())).await;
        let ServerStatus::Down(why) = &status else { panic!("{status:?}") };
        assert!(why.contains("Not a directory"), "{why}");
    }
}
