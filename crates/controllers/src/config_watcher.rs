//! Orchestrator config in force, and its watcher.
//!
//! The config is read from a config map and hot-reloaded. An invalid one is reported (an event on the config map, a metric, the log) and
//! changes nothing: the last good one stays in force, also across restarts, since it is kept in a second config map.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
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
use orchestra_core::config::{self, Config, ConfigEvent, PlatformKind, Reload};
use serde_json::json;
use tokio::{sync::mpsc, time::timeout};

use crate::{
    engine::{
        backoff,
        cache::{Cache, Event},
        deserialize_guard::DeserializeGuard,
        reflector::{Selection, reflect},
        shutdown::Shutdown,
    },
    events::{NewEvent, Recorder, Severity},
    metrics::Metrics,
};

/// Orchestrator config in force. Clones share it.
#[derive(Clone, Debug)]
pub struct SharedConfig {
    /// Kind of the platform, which decides the built-in config.
    platform: PlatformKind,
    config: Arc<RwLock<Arc<Config>>>,
}

impl Default for SharedConfig {
    fn default() -> Self {
        Self::builtin(PlatformKind::MACHINE)
    }
}

impl SharedConfig {
    /// Built-in config of a platform.
    pub(crate) fn builtin(platform: PlatformKind) -> Self {
        Self { platform, config: Arc::new(RwLock::new(Arc::new(Config::builtin_for(platform)))) }
    }

    /// The config.
    pub fn get(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, config: Arc<Config>) {
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
    }
}

/// Watcher of the config map.
pub struct ConfigWatcher {
    config: SharedConfig,
    api: Api<ConfigMap>,
    client: Client,
    recorder: Recorder,
    metrics: Metrics,
    /// True if the last config map was rejected.
    rejected: bool,
    /// Text of the stored last good config.
    stored: Option<String>,
    /// Text to store as the last good config.
    pending: Option<String>,
    /// Consecutive failures to store it.
    failures: u32,
}

impl fmt::Debug for ConfigWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfigWatcher")
    }
}

impl ConfigWatcher {
    /// Loads the config.
    pub async fn load(
        config: SharedConfig,
        client: Client,
        recorder: Recorder,
        metrics: Metrics,
    ) -> kube::Result<Self> {
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
        // The last good config first: it stays in force if the current one is invalid.
        let kept = api.get_opt(IN_FORCE_MAP).await?;
        match config::last_good(config.platform, kept.as_ref()) {
            Ok(last_good) => last_good.into_iter().for_each(|last_good| config.set(last_good)),
            Err(problem) => {
                tracing::warn!(
                    config_map = IN_FORCE_MAP,
                    "the stored last good config is invalid and is ignored: {problem}"
                );
            }
        }
        let stored = kept.as_ref().and_then(config::text).map(ToOwned::to_owned);
        let mut watcher = Self {
            config,
            api,
            client,
            recorder,
            metrics,
            rejected: false,
            stored,
            pending: None,
            failures: 0,
        };
        let map = watcher.api.get_opt(CONFIG_MAP).await?;
        watcher.reload(map.as_ref()).await;
        Ok(watcher)
    }

    /// Watches the config map until shutdown, and calls back after each change.
    pub async fn watch(mut self, shutdown: Shutdown, on_change: impl Fn() + Send + Sync) {
        let (sender, mut changes) = mpsc::unbounded_channel();
        let api: Api<DeserializeGuard<ConfigMap>> = Api::namespaced(self.client.clone(), SYSTEM_NAMESPACE);
        let selection = Selection { fields: Some(format!("metadata.name={CONFIG_MAP}")), labels: None };
        let reflector =
            reflect(Cache::default(), api, selection, self.metrics.clone(), shutdown, move |event| {
                if let Event::Changed(change) = event {
                    // The receiver lives as long as the reflector.
                    let _ = sender.send((!change.gone).then_some(change.object));
                }
            });
        let reloads = async {
            loop {
                let map = if self.pending.is_none() {
                    changes.recv().await
                } else {
                    let delay = backoff::delay(self.failures, fastrand::f64());
                    let Ok(map) = timeout(delay, changes.recv()).await else {
                        self.store().await;
                        continue;
                    };
                    map
                };
                let Some(map) = map else { return };
                if self.reload(map.as_ref()).await {
                    on_change();
                }
            }
        };
        tokio::join!(reflector, reloads);
    }

    /// Executes [`config::reload`]. True if the config in force has changed.
    async fn reload(&mut self, map: Option<&ConfigMap>) -> bool {
        let (before, stored, pending) = (self.config.get(), self.stored.as_deref(), self.pending.as_deref());
        let reload = config::reload(self.config.platform, map, &before, stored, pending, self.rejected);
        let Reload { config, changed, store, event, problem, rejected } = reload;
        self.rejected = rejected;
        self.metrics.config_valid(problem.is_none());
        if let Some(problem) = &problem {
            tracing::warn!(
                "the orchestrator config is invalid, and the last good one stays in force: {problem}"
            );
        }
        if let (Some(map), Some(event)) = (map, event) {
            self.record(map, event);
        }
        self.config.set(config);
        if changed {
            tracing::info!("the orchestrator config has changed");
        }
        if self.pending != store {
            self.pending = store;
            self.failures = 0;
        }
        self.store().await;
        changed
    }

    /// Stores the last good config for the next start. A failure does not affect this process, and is retried.
    async fn store(&mut self) {
        let Some(text) = self.pending.clone() else { return };
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": IN_FORCE_MAP}, "data": {CONFIG_KEY: text},
        });
        let params = PatchParams::apply("score.dev/config").force();
        match self.api.patch(IN_FORCE_MAP, &params, &Patch::Apply(map)).await {
            Ok(_) => {
                self.stored = self.pending.take();
                self.failures = 0;
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                tracing::warn!("failed to store the last good orchestrator config; retrying: {error}");
            }
        }
    }

    fn record(&self, map: &ConfigMap, ConfigEvent { warning, reason, note }: ConfigEvent) {
        let regarding = ObjectReference { namespace: map.namespace(), ..map.object_ref(&()) };
        let severity = if warning { Severity::Warning } else { Severity::Normal };
        let (reason, action) = (reason.to_owned(), "Load".to_owned());
        self.recorder.record(&regarding, NewEvent { severity, reason, action, note });
    }
}
