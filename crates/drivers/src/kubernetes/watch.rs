//! Watches that keep the cache current and notify about changed Workloads.

use std::{collections::BTreeSet, pin::pin, time::Duration};

use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::{
    Api, Client,
    core::{DynamicObject, PartialObjectMeta},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};
use orchestra_core::observe::kubernetes::{Cause, EventQueries, events};
use tokio::sync::watch;

use super::{
    cache::{Cache, Unexplained},
    kind::Kind,
    object_state::WatchedObject,
    selector,
};
use crate::{crd::until_served, events::events_of, notify::Notifier};

/// Page size of lists: bounds the memory of one page, whose objects are dropped after they were summarised.
const PAGE_SIZE: u32 = 50;
/// Interval of event queries about failures without a known cause.
const EXPLAIN_INTERVAL: Duration = Duration::from_secs(1);
/// Event queries at the same time.
const MAX_CONCURRENT_QUERIES: usize = 8;
/// State of the watches.
#[derive(Clone, Debug)]
pub(super) struct Watching {
    pub(super) cache: Cache,
    pub(super) notifier: Notifier,
    pub(super) sync: watch::Sender<SyncStatus>,
}

/// Progress of the first lists.
#[derive(Clone, Debug, Default)]
pub(super) struct SyncStatus {
    /// Kinds that have been listed.
    pub(super) listed: BTreeSet<Kind>,
    /// Kinds that may not be listed.
    denied: BTreeSet<Kind>,
    /// True once nothing waits for the first lists any longer: Workloads were reconciled without what these reveal later.
    pub(super) is_wait_over: bool,
}

impl SyncStatus {
    /// True if all kinds are listed or forbidden.
    pub(super) fn is_all(&self) -> bool {
        Kind::WATCHED.iter().all(|kind| self.listed.contains(kind) || self.denied.contains(kind))
    }
}

impl Watching {
    /// Watches a kind.
    pub(super) async fn kind(self, client: Client, kind: Kind) {
        let api: Api<DynamicObject> = Api::all_with(client, &kind.resource());
        let config = watcher::Config::default().labels(selector(kind)).page_size(PAGE_SIZE);
        let mut events = pin!(watcher(api, config).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.handle(kind, event),
                Err(error) => {
                    tracing::warn!(?kind, "the watch broke: {error}");
                    if is_denied(&error) {
                        self.sync.send_modify(|sync| {
                            sync.denied.insert(kind);
                        });
                    }
                }
            }
        }
    }

    /// Watches `HTTPRoute` objects, once their definition is installed.
    pub(super) async fn gateway(self, client: Client) {
        let resource = Kind::HttpRoute.resource();
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        until_served(&api).await;
        self.kind(client, Kind::HttpRoute).await;
    }

    /// Watches the metadata of config maps, whose data may be large: a changed one is read when it is needed.
    pub(super) async fn files(self, client: Client) {
        let kind = Kind::ConfigMap;
        let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &kind.resource());
        let config = watcher::Config::default().labels(selector(kind)).page_size(PAGE_SIZE);
        let mut events = pin!(watcher(api, config).default_backoff());
        while let Some(event) = events.next().await {
            let outdated = match event {
                Ok(watcher::Event::Init) => {
                    self.cache.relist_started(kind);
                    Vec::new()
                }
                Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                    self.cache.invalidate(kind, &WatchedObject::of_metadata(object.metadata))
                }
                Ok(watcher::Event::Delete(object)) => {
                    self.cache.remove(kind, &WatchedObject::of_metadata(object.metadata))
                }
                Ok(watcher::Event::InitDone) => self.cache.relist_done(kind),
                Err(error) => {
                    tracing::warn!(?kind, "the watch broke: {error}");
                    Vec::new()
                }
            };
            for id in outdated {
                self.notifier.notify(&id);
            }
        }
    }

    fn handle(&self, kind: Kind, event: watcher::Event<DynamicObject>) {
        let is_reconciled_later = {
            let sync = self.sync.borrow();
            !sync.is_wait_over && !sync.listed.contains(&kind)
        };
        let changed = match event {
            watcher::Event::Init => {
                self.cache.relist_started(kind);
                Vec::new()
            }
            watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
                self.cache.store(kind, &WatchedObject::new(object))
            }
            watcher::Event::Delete(object) => self.cache.remove(kind, &WatchedObject::new(object)),
            watcher::Event::InitDone => {
                let gone = self.cache.relist_done(kind);
                self.sync.send_modify(|sync| {
                    sync.listed.insert(kind);
                });
                gone
            }
        };
        // At startup everything is reconciled after the first lists.
        for id in changed.iter().filter(|_| !is_reconciled_later) {
            self.notifier.notify(id);
        }
    }

    /// Queries events of failures without a known cause, and notifies about Workloads whose status changes with time.
    pub(super) async fn explain_stuck(self, client: Client) {
        let mut queries = EventQueries::default();
        let mut last = Timestamp::now();
        loop {
            tokio::time::sleep(EXPLAIN_INTERVAL).await;
            let now = Timestamp::now();
            for id in self.cache.recovered(last, now) {
                self.notifier.notify(&id);
            }
            last = now;
            let due = queries.due(self.cache.unexplained(now));
            let asking = due.into_iter().map(|object| {
                let (client, me) = (client.clone(), &self);
                async move {
                    let Some(cause) = cause_of(client, &object).await else { return };
                    if me.cache.set_cause(&object, cause) {
                        me.notifier.notify(&object.id);
                    }
                }
            });
            futures_util::stream::iter(asking).buffer_unordered(MAX_CONCURRENT_QUERIES).collect::<()>().await;
        }
    }
}

/// True if a list is forbidden.
fn is_denied(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 403)
}

/// Cause of a failure, from events; `None` if there are no events, or no longer.
async fn cause_of(client: Client, object: &Unexplained) -> Option<Option<Cause>> {
    events::cause(&events_of(client, &object.id.0, &object.uid).await?)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;

    /// Number of notifications about a Workload whose Deployment is in the first list.
    fn notified_by_first_list(is_wait_over: bool) -> usize {
        let sync = watch::Sender::new(SyncStatus { is_wait_over, ..SyncStatus::default() });
        let watching = Watching { cache: Cache::default(), notifier: Notifier::default(), sync };
        let mut notified = watching.notifier.subscribe();
        let deployment = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "d", "resourceVersion": "7",
                "labels": {"score.dev/workload": "web"}},
            "spec": {"replicas": 1},
        });
        let deployment = serde_json::from_value(deployment).unwrap();
        for event in [watcher::Event::Init, watcher::Event::InitApply(deployment), watcher::Event::InitDone] {
            watching.handle(Kind::Deployment, event);
        }
        std::iter::from_fn(|| notified.next().now_or_never()).count()
    }

    #[test]
    fn a_first_list_that_comes_after_the_first_reconciles_is_notified() {
        assert_eq!(notified_by_first_list(true), 1);
        assert_eq!(notified_by_first_list(false), 0, "it is reconciled afterwards anyway");
    }
}
