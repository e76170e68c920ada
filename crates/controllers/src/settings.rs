//! The platform's document, as it is in force.
//!
//! It is read from one config map and followed. A document with faults is reported (an event on the config map, a
//! metric, the log) and changes nothing: the last good one stays in force, also over a restart, since it is kept in
//! a config map beside. When it is mended, that is told as well.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
};
use orchestra_api::{
    SYSTEM_NAMESPACE,
    config::{CONFIG_KEY, CONFIG_MAP, IN_FORCE_MAP},
};
use orchestra_core::config::{self, Config, Ground};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    cache::Cache,
    feed::{Selection, feed},
    legible::Legible,
    metrics::Metrics,
    record::{Recorder, Report, Severity},
    stop::Stop,
};

/// The platform's document, as it is in force. Clones share it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What holds where the document says nothing.
    ground: Ground,
    config: Arc<RwLock<Arc<Config>>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self::on(Ground::Machine)
    }
}

impl Settings {
    /// What holds before a document is known.
    pub(crate) fn on(ground: Ground) -> Self {
        Self { ground, config: Arc::new(RwLock::new(Arc::new(Config::builtin_on(ground)))) }
    }

    /// The document.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, config: Config) {
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }
}

/// Follows the document.
pub struct Keeper {
    settings: Settings,
    api: Api<ConfigMap>,
    client: Client,
    recorder: Recorder,
    metrics: Metrics,
    /// Whether a document was refused, and none taken since: the next one that is taken is then worth telling.
    refused: AtomicBool,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

impl Keeper {
    /// Reads the document for the first time.
    pub async fn load(
        settings: Settings,
        client: Client,
        recorder: Recorder,
        metrics: Metrics,
    ) -> kube::Result<Self> {
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
        let refused = AtomicBool::new(false);
        let keeper = Self { settings, api, client, recorder, metrics, refused };
        // First what was in force before: it stays if the document has faults now.
        if let Some(kept) = keeper.api.get_opt(IN_FORCE_MAP).await?
            && let Ok(config) = config::check_on(keeper.settings.ground, &text(&kept))
        {
            keeper.settings.set(config);
        }
        let map = keeper.api.get_opt(CONFIG_MAP).await?;
        keeper.take(map.as_ref()).await;
        Ok(keeper)
    }

    /// Follows the document until it is time to end, and tells of each change.
    pub async fn follow(self, stop: Stop, on_change: impl Fn() + Send + Sync) {
        let (sender, mut changes) = mpsc::unbounded_channel();
        let api: Api<Legible<ConfigMap>> = Api::namespaced(self.client.clone(), SYSTEM_NAMESPACE);
        let selection = Selection { fields: Some(format!("metadata.name={CONFIG_MAP}")), labels: None };
        let fed = feed(Cache::default(), api, selection, self.metrics.clone(), stop, move |change| {
            // The receiver lives as long as the feed.
            let _ = sender.send((!change.gone).then_some(change.object));
        });
        let taken = async {
            while let Some(map) = changes.recv().await {
                if self.take(map.as_ref()).await {
                    on_change();
                }
            }
        };
        tokio::join!(fed, taken);
    }

    /// Takes a document, and tells whether another one is now in force.
    async fn take(&self, map: Option<&ConfigMap>) -> bool {
        if map.is_none() && *self.settings.config() != Config::builtin_on(self.settings.ground) {
            self.metrics.config_valid(false);
            tracing::warn!(
                "the platform's document is gone, and the last good one stays in force; an empty one would not"
            );
            return false;
        }
        if let Some(map) =
            map.filter(|map| !map.data.as_ref().is_some_and(|data| data.contains_key(CONFIG_KEY)))
        {
            self.metrics.config_valid(false);
            self.complain(
                map,
                &format!("the key `{CONFIG_KEY}` is missing; an empty document would be an empty text"),
            );
            return false;
        }
        let text = map.map(text).unwrap_or_default();
        match config::check_on(self.settings.ground, &text) {
            Ok(config) => {
                self.metrics.config_valid(true);
                let changed = *self.settings.config() != config;
                self.settings.set(config);
                if let Some(map) = map
                    && self.refused.swap(false, Ordering::Relaxed)
                {
                    let note = "The document is in force: what was wrong with it is mended.";
                    self.tell(map, Severity::Normal, "ConfigTaken", note.to_owned());
                }
                if changed {
                    tracing::info!("the platform's document has changed");
                    self.keep(&text).await;
                }
                changed
            }
            Err(faults) => {
                self.metrics.config_valid(false);
                let more = faults.len().saturating_sub(1);
                let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
                if let (Some(map), Some(first)) = (map, faults.first()) {
                    self.complain(map, &format!("{first}{more}. `orchestra config check` says it all"));
                }
                false
            }
        }
    }

    /// Keeps the document for the next start. If that fails, this one does not suffer.
    async fn keep(&self, text: &str) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": IN_FORCE_MAP}, "data": {CONFIG_KEY: text},
        });
        let params = PatchParams::apply("score.dev/settings").force();
        if let Err(error) = self.api.patch(IN_FORCE_MAP, &params, &Patch::Apply(map)).await {
            tracing::warn!("failed to keep the platform's document for the next start: {error}");
        }
    }

    fn complain(&self, map: &ConfigMap, why: &str) {
        let note = format!("The document is not taken, and the last good one stays in force: {why}.");
        tracing::warn!("{note}");
        self.refused.store(true, Ordering::Relaxed);
        self.tell(map, Severity::Warning, "ConfigInvalid", note);
    }

    fn tell(&self, map: &ConfigMap, severity: Severity, reason: &str, note: String) {
        let regarding = ObjectReference { namespace: map.namespace(), ..map.object_ref(&()) };
        let (reason, action) = (reason.to_owned(), "Load".to_owned());
        self.recorder.record(&regarding, Report { severity, reason, action, note });
    }
}

fn text(map: &ConfigMap) -> String {
    map.data.as_ref().and_then(|data: &BTreeMap<_, _>| data.get(CONFIG_KEY)).cloned().unwrap_or_default()
}
