//! The platform's own provisioner files: config maps of the platform's namespace with a label, each key a file. A file that
//! cannot be read is told in the log and changes nothing: what was last good under its name stays.

use std::{
    collections::BTreeMap,
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
    provision::template::{Extension, builtin},
    template::{Entry, load},
};
use tokio::sync::OnceCell;

use crate::DriverError;

/// What the name of a file ends with.
const SUFFIX: &str = ".provisioners.yaml";

/// The entries of a file, or what is wrong with it.
pub fn read(text: &str) -> Result<Vec<Entry>, String> {
    let entries = load(text).map_err(|fault| fault.to_string())?;
    for entry in &entries {
        Extension::read(&entry.extension).map_err(|fault| format!("{}: {fault}", entry.uri))?;
    }
    Ok(entries)
}

/// The files of a config map, by `map/key`.
pub fn of(map: &ConfigMap) -> impl Iterator<Item = (String, &str)> {
    let name = map.name_any();
    let files = map.data.iter().flatten().filter(|(key, _)| key.ends_with(SUFFIX));
    files.map(move |(key, text)| (format!("{name}/{key}"), text.as_str()))
}

/// The config maps with the platform's files.
pub async fn maps(client: &Client) -> kube::Result<Vec<ConfigMap>> {
    let chosen = ListParams::default().labels(&selector());
    Ok(Api::namespaced(client.clone(), SYSTEM_NAMESPACE).list(&chosen).await?.items)
}

fn selector() -> String {
    format!("{}=true", label::PROVISIONERS)
}

/// The platform's files, as far as they can be read.
#[derive(Clone)]
pub(super) struct Files {
    client: Client,
    loaded: Arc<OnceCell<()>>,
    /// The entries of each file, in the order of their names.
    known: Arc<Mutex<BTreeMap<String, Vec<Entry>>>>,
}

impl Files {
    pub(super) fn new(client: Client) -> Self {
        Self { client, loaded: Arc::default(), known: Arc::default() }
    }

    /// The entry that is meant: one of the platform's own, or else one that is built in.
    pub(super) async fn choose(
        &self,
        uri: Option<&str>,
        resource: (&str, &str, &str),
    ) -> Result<Option<Entry>, DriverError> {
        self.loaded.get_or_try_init(|| self.load()).await?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let own = builtin::choose(known.values().flatten(), uri, resource);
        Ok(own.or_else(|| builtin::choose(builtin::entries().iter(), uri, resource)).cloned())
    }

    async fn load(&self) -> Result<(), DriverError> {
        let maps = maps(&self.client).await.map_err(|error| {
            tracing::warn!("the platform's provisioner files cannot be listed: {error}");
            DriverError::unreachable(
                "The platform cannot read its own provisioner files at the moment; it tries again.",
            )
        })?;
        for map in &maps {
            self.take_in(map);
        }
        Ok(())
    }

    fn take_in(&self, map: &ConfigMap) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = format!("{}/", map.name_any());
        let before: Vec<(String, Vec<Entry>)> = known
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
                    after.extend(known.get(&name).cloned().map(|entries| (name, entries)));
                }
            }
        }
        let is_new = before.into_iter().collect::<BTreeMap<_, _>>() != after;
        known.retain(|name, _| !name.starts_with(&prefix));
        known.extend(after);
        is_new
    }

    fn drop_map(&self, map: &ConfigMap) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (prefix, before) = (format!("{}/", map.name_any()), known.len());
        known.retain(|name, _| !name.starts_with(&prefix));
        known.len() != before
    }

    /// Follows the files; an item for each time that one has changed.
    pub(super) fn follow(&self) -> BoxStream<'static, ()> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM_NAMESPACE);
        let events = watcher(api, watcher::Config::default().labels(&selector())).default_backoff();
        let files = self.clone();
        let changes = events.filter_map(move |event| {
            let is_new = match event {
                Ok(watcher::Event::Apply(map) | watcher::Event::InitApply(map)) => files.take_in(&map),
                Ok(watcher::Event::Delete(map)) => files.drop_map(&map),
                Ok(watcher::Event::Init | watcher::Event::InitDone) => false,
                Err(error) => {
                    tracing::warn!("the watch of provisioner files broke: {error}");
                    false
                }
            };
            std::future::ready(is_new.then_some(()))
        });
        changes.boxed()
    }
}
