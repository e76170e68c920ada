//! postgres: one server for each version that is asked for, with a database and a role for each instance.

mod book;
pub(super) mod cluster;
mod databases;
mod installed;
mod statements;
mod wire;

use std::{
    collections::BTreeMap,
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};

use self::{book::Names, cluster::Cluster, databases::Databases};
use super::{Id, Standing};
use crate::{SecretText, news::News, process::Launcher};

/// How soon it is looked again for what this machine lacks.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A database that is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) database: &'a str,
    pub(super) user: &'a str,
    pub(super) version: Option<&'a str>,
}

/// All servers of postgres.
#[derive(Debug)]
pub(super) struct Postgres {
    folder: PathBuf,
    launcher: Launcher,
    news: News,
    clusters: Mutex<Option<Clusters>>,
    /// One task for each instance that waits for a version to be installed.
    lookouts: Mutex<BTreeMap<Id, JoinSet<()>>>,
}

type Clusters = BTreeMap<u32, Arc<Databases>>;

impl Postgres {
    pub(super) fn new(folder: PathBuf, launcher: Launcher, news: News) -> Self {
        Self { folder, launcher, news, clusters: Mutex::default(), lookouts: Mutex::default() }
    }

    pub(super) async fn ensure(&self, id: &Id, wanted: Wanted<'_>, password: &SecretText) -> Standing {
        let unreadable = |error: io::Error| {
            Standing::Starting(format!(
                "The platform cannot read its folder `{}`: {error}.",
                self.folder.display()
            ))
        };
        let major = match wanted.version.map(|version| installed::major(version).ok_or(version)).transpose() {
            Ok(major) => major,
            Err(version) => {
                return Standing::Lacking(format!(
                    "`{version}` is not a version of postgres: ask for one like `16`, or for none."
                ));
            }
        };
        let home = match self.home(id) {
            Ok(Some(home)) => home,
            Ok(None) => {
                let found = installed::look(&self.launcher).await;
                match found.choose(major).map(|programs| self.cluster(programs.major)) {
                    Ok(Ok(home)) => home,
                    Ok(Err(error)) => return unreadable(error),
                    Err(why) => {
                        self.look_out(id, found);
                        return Standing::Lacking(why);
                    }
                }
            }
            Err(error) => return unreadable(error),
        };
        self.lookouts().remove(id);
        if let Some(major) = major.filter(|major| *major != home.major()) {
            return Standing::Lacking(format!(
                "The data is kept by postgres {}, which cannot become postgres {major}: ask for {0}, or delete the data.",
                home.major()
            ));
        }
        let names = Names { database: wanted.database.to_owned(), user: wanted.user.to_owned() };
        home.ensure(id, &names, password)
    }

    pub(super) fn release(&self, id: &Id, data: bool) -> bool {
        self.lookouts().remove(id);
        match self.home(id) {
            Ok(home) => home.is_none_or(|home| home.release(id, data)),
            Err(error) => {
                tracing::warn!(%error, "the databases of this machine cannot be read");
                false
            }
        }
    }

    /// The cluster in which an instance has its database.
    fn home(&self, id: &Id) -> io::Result<Option<Arc<Databases>>> {
        Ok(self.clusters()?.as_ref().and_then(|all| all.values().find(|one| one.knows(id)).cloned()))
    }

    /// The cluster of a version.
    fn cluster(&self, major: u32) -> io::Result<Arc<Databases>> {
        let mut clusters = self.clusters()?;
        let all = clusters.get_or_insert_default();
        if let Some(known) = all.get(&major) {
            return Ok(Arc::clone(known));
        }
        let begun = self.begin(major)?;
        all.insert(major, Arc::clone(&begun));
        Ok(begun)
    }

    /// All clusters; those of an earlier platform are looked after from the first question on.
    fn clusters(&self) -> io::Result<MutexGuard<'_, Option<Clusters>>> {
        let mut clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        if clusters.is_none() {
            let mut found = Clusters::new();
            for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
                if let Some(major) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
                    found.insert(major, self.begin(major)?);
                }
            }
            *clusters = Some(found);
        }
        Ok(clusters)
    }

    fn begin(&self, major: u32) -> io::Result<Arc<Databases>> {
        let folder = self.folder.join(major.to_string());
        let cluster = Cluster { folder, major, launcher: self.launcher.clone() };
        Databases::begin(cluster, self.news.clone()).map(Arc::new)
    }

    fn lookouts(&self) -> MutexGuard<'_, BTreeMap<Id, JoinSet<()>>> {
        self.lookouts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells an instance when this machine has other versions than now.
    fn look_out(&self, id: &Id, found: installed::Found) {
        let (launcher, news, told) = (self.launcher.clone(), self.news.clone(), id.clone());
        let mut task = JoinSet::new();
        task.spawn(async move {
            while installed::look(&launcher).await == found {
                sleep(LOOK_AGAIN).await;
            }
            news.tell(&told);
        });
        self.lookouts().insert(id.clone(), task);
    }
}
