//! Keeps what is known of the cluster up to date, and tells about whom there is news.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    time::Duration,
};

use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::ListParams,
    core::{DynamicObject, PartialObjectMeta},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};
use orchestra_core::observe::kubernetes::{Cause, news};
use tokio::sync::watch;

use super::{
    held::Passing,
    kind::Kind,
    memory::{Memory, Puzzle},
    selector,
};
use crate::{events::told_about, news::News};

/// Objects on one page of a list: what is read at a time, and then forgotten.
const PAGE: u32 = 50;
/// How often what puzzles is looked into.
const LOOK: Duration = Duration::from_secs(1);
/// How many questions are asked at a time.
const QUESTIONS: usize = 30;
/// After so many looks, a puzzle is looked into less often:
const PATIENCE: u32 = 120;
/// once in so many looks.
const SELDOM: u32 = 5;
/// Those that wait for others to go are woken once in so many looks.
const REFUSED: u32 = 30;
/// How often it is looked whether the cluster has learnt a kind.
const LEARNING: Duration = Duration::from_mins(1);

/// What watches need.
#[derive(Clone, Debug)]
pub(super) struct Watching {
    pub(super) memory: Memory,
    pub(super) news: News,
    pub(super) seen: watch::Sender<Seen>,
}

/// What has been seen of the cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The kinds that have been listed once.
    pub(super) listed: BTreeSet<Kind>,
    /// The kinds that may not be listed.
    denied: BTreeSet<Kind>,
}

impl Seen {
    /// Whether there is nothing more to wait for.
    pub(super) fn is_all(&self) -> bool {
        Kind::WATCHED.iter().all(|kind| self.listed.contains(kind) || self.denied.contains(kind))
    }
}

impl Watching {
    /// Watches a kind, for ever.
    pub(super) async fn kind(self, client: Client, kind: Kind) {
        let api: Api<DynamicObject> = Api::all_with(client, &kind.resource());
        let config = watcher::Config::default().labels(selector(kind)).page_size(PAGE);
        let mut events = pin!(watcher(api, config).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.take_in(kind, event),
                Err(error) => {
                    tracing::warn!(?kind, "the watch broke: {error}");
                    if is_denied(&error) {
                        self.seen.send_modify(|seen| {
                            seen.denied.insert(kind);
                        });
                    }
                }
            }
        }
    }

    /// Watches routes of the Gateway API, once the cluster knows them.
    pub(super) async fn gateway(self, client: Client) {
        let resource = Kind::HttpRoute.resource();
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        while api.list_metadata(&ListParams::default().limit(1)).await.is_err() {
            tokio::time::sleep(LEARNING).await;
        }
        self.kind(client, Kind::HttpRoute).await;
    }

    /// Watches whether files change, and not what is in them: what has changed is read when it is needed.
    pub(super) async fn files(self, client: Client) {
        let kind = Kind::ConfigMap;
        let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &kind.resource());
        let config = watcher::Config::default().labels(selector(kind)).page_size(PAGE);
        let mut events = pin!(watcher(api, config).default_backoff());
        while let Some(event) = events.next().await {
            let outdated = match event {
                Ok(watcher::Event::Init) => {
                    self.memory.begin(kind);
                    Vec::new()
                }
                Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                    self.memory.notice(kind, &Passing::of_metadata(object.metadata))
                }
                Ok(watcher::Event::Delete(object)) => {
                    self.memory.gone(kind, &Passing::of_metadata(object.metadata))
                }
                Ok(watcher::Event::InitDone) => self.memory.end(kind),
                Err(error) => {
                    tracing::warn!(?kind, "the watch broke: {error}");
                    Vec::new()
                }
            };
            for id in outdated {
                self.news.tell(&id);
            }
        }
    }

    fn take_in(&self, kind: Kind, event: watcher::Event<DynamicObject>) {
        let is_first = !self.seen.borrow().listed.contains(&kind);
        let news = match event {
            watcher::Event::Init => {
                self.memory.begin(kind);
                Vec::new()
            }
            watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
                self.memory.take_in(kind, &Passing::new(object))
            }
            watcher::Event::Delete(object) => self.memory.gone(kind, &Passing::new(object)),
            watcher::Event::InitDone => {
                let gone = self.memory.end(kind);
                self.seen.send_modify(|seen| {
                    seen.listed.insert(kind);
                });
                gone
            }
        };
        // Everybody looks at everything anyway at first.
        for id in news.iter().filter(|_| !is_first) {
            self.news.tell(id);
        }
    }

    /// Looks into what does not run, by what the cluster tells about it; and wakes those about whom time alone brings
    /// news.
    pub(super) async fn inquire(self, client: Client) {
        let mut looks: BTreeMap<Puzzle, u32> = BTreeMap::new();
        let mut last = Timestamp::now();
        let mut round = 0_u32;
        loop {
            tokio::time::sleep(LOOK).await;
            round = round.wrapping_add(1);
            let now = Timestamp::now();
            for id in self.memory.mended(last, now) {
                self.news.tell(&id);
            }
            last = now;
            if round.is_multiple_of(REFUSED) {
                for id in self.memory.all_refused() {
                    self.news.tell(&id);
                }
            }
            let puzzles = self.memory.puzzles(now);
            looks.retain(|puzzle, _| puzzles.contains(puzzle));
            let mut due = Vec::new();
            for puzzle in puzzles {
                let looks = looks.entry(puzzle.clone()).or_default();
                *looks += 1;
                if *looks > 1 && (*looks < PATIENCE || looks.is_multiple_of(SELDOM)) {
                    due.push((*looks, puzzle));
                }
            }
            // The newest first: the others have been asked about already.
            due.sort();
            let asking = due.into_iter().take(QUESTIONS).map(|(_, puzzle)| {
                let (client, me) = (client.clone(), &self);
                async move {
                    let Some(cause) = ask(client, &puzzle).await else { return };
                    if me.memory.tell(&puzzle, cause) {
                        me.news.tell(&puzzle.id);
                    }
                }
            });
            futures_util::stream::iter(asking).buffer_unordered(8).collect::<()>().await;
        }
    }
}

/// Whether a list is not allowed.
fn is_denied(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 403)
}

/// Why something does not run, by what the cluster tells about it. `None` if nothing is told, or no longer.
async fn ask(client: Client, puzzle: &Puzzle) -> Option<Option<Cause>> {
    news::cause(&told_about(client, &puzzle.id.0, &puzzle.uid).await?)
}
