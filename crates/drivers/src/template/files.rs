//! Provisioner files of the platform's administrators: labelled config maps of the system namespace, each key a file. A file that cannot be
//! parsed is logged and ignored: its last good version stays in force.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::stream::{BoxStream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    api::ListParams,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};
use orchestra_api::{SYSTEM_NAMESPACE, label};
use orchestra_core::{
    provision::template::{Extension, ExtensionError, builtin},
    template::{Entry, FileFault, load},
};
use tokio::sync::OnceCell;

use super::unreadable_config_map;
use crate::DriverError;

/// Suffix of file names.
const SUFFIX: &str = ".provisioners.yaml";

/// Error of a provisioner file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file is not a list of entries.
    #[error(transparent)]
    Format(#[from] FileFault),
    /// The field `x-orchestra` of an entry is invalid.
    #[error("{uri}: {source}")]
    Extension {
        /// URI of the entry.
        uri: String,
        /// Error of the parser.
        source: ExtensionError,
    },
}

/// Parses the entries of a file.
pub fn read(text: &str) -> Result<Vec<Entry>, FileError> {
    let entries = load(text)?;
    for entry in &entries {
        Extension::read(&entry.extension)
            .map_err(|source| FileError::Extension { uri: entry.uri.clone(), source })?;
    }
    Ok(entries)
}

/// Files of a config map, by `map/key`.
pub fn of(map: &ConfigMap) -> impl Iterator<Item = (String, &str)> {
    let name = map.name_any();
    let files = map.data.iter().flatten().filter(|(key, _)| key.ends_with(SUFFIX));
    files.map(move |(key, text)| (format!("{name}/{key}"), text.as_str()))
}

/// Config maps with provisioner files.
pub async fn maps(client: &Client) -> kube::Result<Vec<ConfigMap>> {
    let chosen = ListParams::default().labels(&selector());
    Ok(Api::namespaced(client.clone(), SYSTEM_NAMESPACE).list(&chosen).await?.items)
}

fn selector() -> String {
    format!("{}=true", label::PROVISIONERS)
}

/// Provisioner files, as far as they can be parsed.
#[derive(Clone)]
pub(super) struct ProvisionerFiles {
    client: Client,
    loaded: Arc<OnceCell<()>>,
    /// Entries of each file, in the order of names.
    entries_by_name: Arc<Mutex<BTreeMap<String, Vec<Entry>>>>,
}

impl ProvisionerFiles {
    pub(super) fn new(client: Client) -> Self {
        Self { client, loaded: Arc::default(), entries_by_name: Arc::default() }
    }

    /// Entry for a resource: one of the platform's administrators, or else a built-in one.
    pub(super) async fn choose(
        &self,
        uri: Option<&str>,
        resource: (&str, &str, &str),
    ) -> Result<Option<Entry>, DriverError> {
        self.loaded.get_or_try_init(|| self.load()).await?;
        let entries_by_name = self.entries_by_name.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(builtin::find(&entries_by_name, uri, resource).map(|(entry, _)| entry.clone()))
    }

    async fn load(&self) -> Result<(), DriverError> {
        let read = maps(&self.client).await;
        let maps = read.map_err(|error| unreadable_config_map("", "the provisioner files", error))?;
        for map in &maps {
            self.ingest(map);
        }
        Ok(())
    }

    fn ingest(&self, map: &ConfigMap) -> bool {
        let mut entries_by_name = self.entries_by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = format!("{}/", map.name_any());
        let before: Vec<(String, Vec<Entry>)> = entries_by_name
            .iter()
            .filter(|(name, _)| name.starts_with(&prefix))
            .map(|(n, e)| (n.clone(), e.clone()))
            .collect();
        let mut after = BTreeMap::new();
        for (name, text) in of(map) {
            match read(text) {
                Ok(entries) => {
                    after.insert(name, entries);
                }
                Err(fault) => {
                    tracing::warn!(
                        file = name,
                        "a provisioner file cannot be used, the last good one stays: {fault}"
                    );
                    after.extend(entries_by_name.get(&name).cloned().map(|entries| (name, entries)));
                }
            }
        }
        let is_new = before.into_iter().collect::<BTreeMap<_, _>>() != after;
        entries_by_name.retain(|name, _| !name.starts_with(&prefix));
        entries_by_name.extend(after);
        is_new
    }

    fn drop_map(&self, map: &ConfigMap) -> bool {
        let mut entries_by_name = self.entries_by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let (prefix, before) = (format!("{}/", map.name_any()), entries_by_name.len());
        entries_by_name.retain(|name, _| !name.starts_with(&prefix));
        entries_by_name.len() != before
    }

    /// Drops the files of config maps that a list does not have.
    fn retain(&self, listed: &BTreeSet<String>) -> bool {
        let mut entries_by_name = self.entries_by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let before = entries_by_name.len();
        entries_by_name.retain(|name, _| name.split_once('/').is_some_and(|(map, _)| listed.contains(map)));
        entries_by_name.len() != before
    }

    /// Updates the files after an event, given the config maps that the current list has so far. Returns whether they have changed.
    pub(super) fn handle(
        &self,
        listed: &mut BTreeSet<String>,
        event: watcher::Result<watcher::Event<ConfigMap>>,
    ) -> bool {
        match event {
            Ok(watcher::Event::Apply(map)) => self.ingest(&map),
            Ok(watcher::Event::Delete(map)) => self.drop_map(&map),
            Ok(watcher::Event::Init) => {
                listed.clear();
                false
            }
            Ok(watcher::Event::InitApply(map)) => {
                listed.insert(map.name_any());
                self.ingest(&map)
            }
            // A config map that was deleted while the watch was broken has no event of its own.
            Ok(watcher::Event::InitDone) => self.retain(listed),
            Err(error) => {
                tracing::warn!("the watch of provisioner files broke: {error}");
                false
            }
        }
    }

    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<String> {
        self.entries_by_name.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Stream with an item for each change of the files.
    pub(super) fn follow(&self) -> BoxStream<'static, ()> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM_NAMESPACE);
        let events = watcher(api, watcher::Config::default().labels(&selector())).default_backoff();
        let files = self.clone();
        let mut listed = BTreeSet::new();
        let changes = events
            .filter_map(move |event| std::future::ready(files.handle(&mut listed, event).then_some(())));
        changes.boxed()
    }
}
