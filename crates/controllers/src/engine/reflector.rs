//! Reflector: list and watch that keep a cache up to date.
//!
//! `kube::runtime::watcher` does not expose the revisions of lists and bookmarks. A cache with read-your-writes needs them to tell an
//! object that is not visible yet from one that is gone.
//!
//! A reflector never ends by itself. Failed requests are retried with backoff, and an object that cannot be deserialized is counted and
//! kept apart: the others are still served.

use std::{collections::BTreeMap, num::ParseIntError, pin::pin, time::Duration};

use futures_util::StreamExt;
use kube::{
    Api, Error, Resource,
    api::{ListParams, WatchEvent, WatchParams},
};
use tokio::time::{Instant, error::Elapsed, sleep, timeout};

use crate::{
    engine::{
        backoff,
        cache::store::{ObjectName, Source, object_name, uid},
        cache::{Cache, Event, Kind, ObjectChange},
        deserialize_guard::DeserializeGuard,
        shutdown::Shutdown,
    },
    metrics::Metrics,
};

/// Objects per page of a list, which bounds the memory of a relist.
const PAGE_SIZE: u32 = 100;
/// Timeout of a page, and of the start of a watch.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// Duration of a watch in seconds, after which the server ends it.
const WATCH_SECONDS: u32 = 290;
/// Time without any event after which the connection counts as dead.
const IDLE_TIMEOUT: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 5);
/// A watch that ends sooner, without an event, has failed.
const MIN_WATCH_DURATION: Duration = Duration::from_secs(1);

/// Selection of objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
}

/// Keeps a cache up to date until shutdown.
///
/// `on_event` is called after the cache has the change; for the first list, before the cache counts as synced.
pub async fn reflect<K: Kind>(
    cache: Cache<K>,
    api: Api<DeserializeGuard<K>>,
    selection: Selection,
    metrics: Metrics,
    shutdown: Shutdown,
    on_event: impl FnMut(Event<K>) + Send,
) {
    let reflector = Reflector { cache, api, selection, metrics, on_event, failures: 0 };
    tokio::select! {
        biased;
        () = shutdown.requested() => {}
        () = reflector.run() => {}
    }
}

struct Reflector<K, F> {
    cache: Cache<K>,
    api: Api<DeserializeGuard<K>>,
    selection: Selection,
    metrics: Metrics,
    on_event: F,
    /// Consecutive failures.
    failures: u32,
}

/// Failure of a list or a watch.
struct Broken {
    error: WatchError,
    /// Revision from which a watch can resume; without one, everything is listed again.
    resume: Option<String>,
}

impl Broken {
    fn relist(error: impl Into<WatchError>) -> Self {
        Self { error: error.into(), resume: None }
    }
}

/// Error of a list or a watch.
#[derive(Debug, thiserror::Error)]
enum WatchError {
    #[error(transparent)]
    Api(#[from] Error),
    #[error(transparent)]
    Timeout(#[from] Elapsed),
    #[error("list has an invalid resourceVersion {version:?}")]
    InvalidVersion {
        version: String,
        #[source]
        source: ParseIntError,
    },
    #[error("event without a resourceVersion")]
    NoVersion,
    #[error("watch closed immediately")]
    ClosedAtOnce,
}

impl<K: Kind, F: FnMut(Event<K>) + Send> Reflector<K, F> {
    async fn run(mut self) {
        let mut from = None;
        loop {
            let step = match from {
                None => self.list().await,
                Some(version) => self.watch(version).await,
            };
            from = match step {
                Ok(version) => Some(version),
                Err(Broken { error, resume }) => {
                    let kind = K::kind(&());
                    tracing::warn!(%kind, relist = resume.is_none(), "watch failed: {error}");
                    self.metrics.watch_failed(&kind);
                    sleep(backoff::delay(self.failures, fastrand::f64())).await;
                    self.failures = self.failures.saturating_add(1);
                    resume
                }
            };
        }
    }

    /// Lists all objects and returns the revision.
    async fn list(&mut self) -> Result<String, Broken> {
        let mut params = ListParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            limit: Some(PAGE_SIZE),
            ..ListParams::default()
        };
        let mut listed: BTreeMap<ObjectName, Box<str>> = BTreeMap::new();
        let mut first = None;
        let (text, version) = loop {
            let page = timeout(REQUEST_TIMEOUT, self.api.list(&params))
                .await
                .map_err(Broken::relist)?
                .map_err(Broken::relist)?;
            // All pages have the revision of the first.
            let (text, version) = match first.take() {
                Some(started) => started,
                None => self.begin(page.metadata.resource_version.unwrap_or_default())?,
            };
            for object in page.items {
                let (namespace, name) = object_name(object.meta());
                listed.insert((namespace.into(), name.into()), uid(object.meta()).into());
                self.ingest(object, Source::List);
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                break (text, version);
            }
            first = Some((text, version));
        };
        let vanished = self.cache.store_mut().end_list(version, &listed);
        self.emit(vanished);
        self.cache.set_synced();
        self.failures = 0;
        Ok(text)
    }

    fn begin(&self, version: String) -> Result<(String, u64), Broken> {
        let number = version.parse().map_err(|source| {
            Broken::relist(WatchError::InvalidVersion { version: version.clone(), source })
        })?;
        if self.cache.store_mut().begin_list(number) {
            tracing::warn!(kind = %K::kind(&()), "resourceVersion went backwards; relisting");
        }
        Ok((version, number))
    }

    /// Watches from a revision until the watch ends, and returns the revision to resume from.
    async fn watch(&mut self, mut version: String) -> Result<String, Broken> {
        let params = WatchParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            timeout: Some(WATCH_SECONDS),
            ..WatchParams::default()
        };
        let started = Instant::now();
        let mut silent = true;
        let events = match timeout(REQUEST_TIMEOUT, self.api.watch(&params, &version)).await {
            Ok(Ok(events)) => events,
            Ok(Err(error)) => return Err(broken(error, version)),
            Err(slow) => return Err(Broken { error: slow.into(), resume: Some(version) }),
        };
        let mut events = pin!(events);
        loop {
            // The connection is dead: resume with another one.
            let event = match timeout(IDLE_TIMEOUT, events.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(error))) => return Err(broken(error, version)),
                Ok(None) if silent && started.elapsed() < MIN_WATCH_DURATION => {
                    return Err(Broken { error: WatchError::ClosedAtOnce, resume: Some(version) });
                }
                Ok(None) | Err(_) => return Ok(version),
            };
            let next = match &event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                    object.meta().resource_version.clone()
                }
                WatchEvent::Bookmark(bookmark) => Some(bookmark.metadata.resource_version.clone()),
                WatchEvent::Error(status) => return Err(broken(Error::Api(status.clone()), version)),
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.ingest(object, Source::Watch);
                }
                WatchEvent::Deleted(object) => {
                    let change = self.cache.store_mut().delete(object.0.map_err(|invalid| invalid.metadata));
                    self.emit(change);
                }
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
            }
            version = next.ok_or_else(|| Broken::relist(WatchError::NoVersion))?;
            if let Ok(number) = version.parse() {
                self.cache.store_mut().passed(number);
            }
            silent = false;
            self.failures = 0;
        }
    }

    fn ingest(&mut self, object: DeserializeGuard<K>, source: Source) {
        match object.0 {
            Ok(object) => {
                let changes = self.cache.store_mut().apply(object, source);
                self.emit(changes);
            }
            Err(invalid) => {
                let (kind, (namespace, name)) = (K::kind(&()), object_name(&invalid.metadata));
                tracing::warn!(%kind, namespace, name, "object cannot be deserialized: {}", invalid.error);
                self.metrics.malformed(&kind);
                let change = self.cache.store_mut().malformed(&invalid.metadata, &invalid.json, source);
                self.emit(change);
            }
        }
    }

    fn emit(&mut self, changes: impl IntoIterator<Item = ObjectChange<K>>) {
        changes.into_iter().map(Event::Changed).for_each(&mut self.on_event);
        if self.cache.store_mut().take_invalid_changed() {
            (self.on_event)(Event::InvalidChanged);
        }
    }
}

/// Recovery from an error of a watch.
fn broken(error: Error, version: String) -> Broken {
    let relist = match &error {
        // The revision is too old, or unknown to the server.
        Error::Api(status) => matches!(status.code, 410 | 504),
        // An event is lost.
        Error::SerdeError(_) => true,
        _ => false,
    };
    Broken { error: error.into(), resume: (!relist).then_some(version) }
}
