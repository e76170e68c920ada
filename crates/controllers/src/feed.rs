//! Keeps a cache up to date.
//!
//! This lists and watches by itself rather than with the watcher of `kube::runtime`, because that one keeps to itself
//! up to which revision it has told everything: the revision of a list, and those of bookmarks. A cache that reads its
//! own writes must know it to tell an object that is not yet told from one that is already gone.
//!
//! A feed never ends by itself. Requests that fail are tried again, and an object that cannot be read is reported and
//! left as it was: none of them may keep the news of all other objects from coming in.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use futures_util::StreamExt;
use kube::{
    Api, Error, Resource,
    api::{ListParams, WatchEvent, WatchParams},
};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    backoff,
    cache::{Cache, Change, Kind},
    known::{Place, Source, place, uid},
    legible::Legible,
    metrics::Metrics,
    stop::Stop,
};

/// Objects on one page of a list: what is read at a time, and then forgotten.
const PAGE: u32 = 100;
/// How long a page, or the beginning of a watch, may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a watch lasts before the server ends it, in seconds.
const WATCH: u32 = 290;
/// How long nothing may come from a watch; then its connection is dead.
const SILENCE: Duration = Duration::from_secs(WATCH as u64 + 5);
/// A watch that ends sooner, and without news, has failed.
const SHORT: Duration = Duration::from_secs(1);

/// Which objects of a kind are fed, in the words of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A selector of labels.
    pub labels: Option<String>,
    /// A selector of fields.
    pub fields: Option<String>,
}

/// Feeds a cache with what a server tells, until it is time to end.
///
/// Every change is told after the cache has it; those of the first list, before the cache counts as synced.
pub async fn feed<K: Kind>(
    cache: Cache<K>,
    api: Api<Legible<K>>,
    selection: Selection,
    metrics: Metrics,
    stop: Stop,
    on_change: impl FnMut(Change<K>) + Send,
) {
    let feed = Feed { cache, api, selection, metrics, on_change, failures: 0 };
    tokio::select! {
        biased;
        () = stop.requested() => {}
        () = feed.run() => {}
    }
}

struct Feed<K, F> {
    cache: Cache<K>,
    api: Api<Legible<K>>,
    selection: Selection,
    metrics: Metrics,
    on_change: F,
    /// Failures since the last news.
    failures: u32,
}

/// A list or a watch that failed.
struct Broken {
    reason: String,
    /// The revision from which a watch can go on; without one, everything must be listed again.
    resume: Option<String>,
}

impl Broken {
    fn relist(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), resume: None }
    }
}

impl<K: Kind, F: FnMut(Change<K>) + Send> Feed<K, F> {
    async fn run(mut self) {
        let mut from = None;
        loop {
            let step = match from {
                None => self.list().await,
                Some(version) => self.watch(version).await,
            };
            from = match step {
                Ok(version) => Some(version),
                Err(Broken { reason, resume }) => {
                    let kind = K::kind(&());
                    tracing::warn!(%kind, relist = resume.is_none(), "the watch broke: {reason}");
                    self.metrics.watch_failed(&kind);
                    sleep(backoff::delay(self.failures, fastrand::f64())).await;
                    self.failures = self.failures.saturating_add(1);
                    resume
                }
            };
        }
    }

    /// Takes in all objects, and tells as of which revision.
    async fn list(&mut self) -> Result<String, Broken> {
        let mut params = ListParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            limit: Some(PAGE),
            ..ListParams::default()
        };
        let mut listed: BTreeMap<Place, Box<str>> = BTreeMap::new();
        let mut first = None;
        let (text, version) = loop {
            let page = timeout(PATIENCE, self.api.list(&params))
                .await
                .map_err(|slow| Broken::relist(slow.to_string()))?;
            let page = page.map_err(|error| Broken::relist(error.to_string()))?;
            // All pages are as of the revision of the first.
            let (text, version) = match first.take() {
                Some(begun) => begun,
                None => self.begin(page.metadata.resource_version.unwrap_or_default())?,
            };
            for object in page.items {
                let (namespace, name) = place(object.meta());
                listed.insert((namespace.into(), name.into()), uid(object.meta()).into());
                self.take_in(object, Source::List);
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                break (text, version);
            }
            first = Some((text, version));
        };
        let vanished = self.cache.known_mut().end_list(version, &listed);
        vanished.into_iter().for_each(&mut self.on_change);
        self.cache.is_synced();
        self.failures = 0;
        Ok(text)
    }

    fn begin(&self, version: String) -> Result<(String, u64), Broken> {
        let number = version.parse();
        let number = number.map_err(|_| Broken::relist(format!("a list as of revision {version:?}")))?;
        if self.cache.known_mut().begin_list(number) {
            tracing::warn!(kind = %K::kind(&()), "the server has lost its history; the list counts");
        }
        Ok((version, number))
    }

    /// Takes in what happens after a revision, until the watch ends; tells from which revision to go on.
    async fn watch(&mut self, mut version: String) -> Result<String, Broken> {
        let params = WatchParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            timeout: Some(WATCH),
            ..WatchParams::default()
        };
        let begun = Instant::now();
        let mut silent = true;
        let events = match timeout(PATIENCE, self.api.watch(&params, &version)).await {
            Ok(Ok(events)) => events,
            Ok(Err(error)) => return Err(broken(&error, version)),
            Err(slow) => return Err(Broken { reason: slow.to_string(), resume: Some(version) }),
        };
        let mut events = pin!(events);
        loop {
            // A connection without any news is dead, and the watch goes on with another.
            let event = match timeout(SILENCE, events.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(error))) => return Err(broken(&error, version)),
                Ok(None) if silent && begun.elapsed() < SHORT => {
                    let reason = "it ended as soon as it had begun".to_owned();
                    return Err(Broken { reason, resume: Some(version) });
                }
                Ok(None) | Err(_) => return Ok(version),
            };
            let next = match &event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                    object.meta().resource_version.clone()
                }
                WatchEvent::Bookmark(bookmark) => Some(bookmark.metadata.resource_version.clone()),
                WatchEvent::Error(status) => return Err(broken(&Error::Api(status.clone()), version)),
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.take_in(object, Source::Watch);
                }
                WatchEvent::Deleted(object) => {
                    let change = self.cache.known_mut().delete(object.0.map_err(|invalid| invalid.metadata));
                    change.into_iter().for_each(&mut self.on_change);
                }
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
            }
            version = next.ok_or_else(|| Broken::relist("an event without a revision"))?;
            if let Ok(number) = version.parse() {
                self.cache.known_mut().passed(number);
            }
            silent = false;
            self.failures = 0;
        }
    }

    fn take_in(&mut self, object: Legible<K>, source: Source) {
        match object.0 {
            Ok(object) => {
                let changes = self.cache.known_mut().apply(object, source);
                changes.into_iter().for_each(&mut self.on_change);
            }
            Err(invalid) => {
                let (kind, (namespace, name)) = (K::kind(&()), place(&invalid.metadata));
                tracing::warn!(%kind, namespace, name, "an object cannot be read: {}", invalid.error);
                self.metrics.malformed(&kind);
                let change = self.cache.known_mut().malformed(&invalid.metadata, source);
                change.into_iter().for_each(&mut self.on_change);
            }
        }
    }
}

/// How to go on after an error of a watch.
fn broken(error: &Error, version: String) -> Broken {
    let relist = match error {
        // The revision is too old, or the server has never heard of it.
        Error::Api(status) => matches!(status.code, 410 | 504),
        // What was told is lost.
        Error::SerdeError(_) => true,
        _ => false,
    };
    Broken { reason: error.to_string(), resume: (!relist).then_some(version) }
}
