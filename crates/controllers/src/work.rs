//! Runs a controller.
//!
//! A worker takes keys from its [queue](crate::queue), reconciles a bounded number of them at a time, and decides by
//! the outcome when each is due again. Each reconcile is a task of its own, so that one that panics, on whatever some
//! object contains, ends alone: its object is tried again later, and all others are served.

use std::{
    collections::HashMap,
    fmt::Display,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    task::{Id, JoinError, JoinHandle, JoinSet},
    time::{Instant, sleep_until, timeout},
};
use tracing::Instrument;

use crate::{
    backoff::Backoff,
    metrics::{Metrics, Outcome},
    queue::{Queue, Stage},
    stop::Stop,
};

/// What a controller does.
pub trait Reconcile: Send + Sync + 'static {
    /// What it does it for.
    type Key: Clone + Ord + Send + Sync + Display + 'static;

    /// Its name in logs and metrics.
    const NAME: &'static str;

    /// The namespace of a key. Namespaces take turns.
    fn namespace(key: &Self::Key) -> &str;

    /// Compares what is wanted with what there is, and acts on the difference. It must be safe to repeat.
    fn reconcile(&self, key: &Self::Key) -> impl Future<Output = Result<Next, Failure>> + Send;
}

/// When a key is due again after success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something changes.
    AwaitChange,
    /// After this time, or when something changes.
    After(Duration),
}

/// Why a reconcile did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Somebody else wrote first. It is tried again at once, but later after many in a row.
    Conflict(String),
    /// Something failed that may work later.
    Transient(String),
}

/// How a worker works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Reconciles at a time.
    pub concurrency: NonZeroUsize,
    /// How many of them are for what is new, and only for that: the others are for what is on its way. Without a number
    /// they are for both.
    pub beginning: Option<NonZeroUsize>,
    /// How long reconciles may go on after the stop.
    pub grace: Duration,
    /// Where it counts.
    pub metrics: Metrics,
    /// Numbers from 0 up to 1, for jitter.
    pub random: fn() -> f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: NonZeroUsize::MIN.saturating_add(7),
            beginning: None,
            grace: Duration::from_secs(10),
            metrics: Metrics::default(),
            random: fastrand::f64,
        }
    }
}

/// Wakes a worker. Clones wake the same.
pub struct Handle<K>(Arc<Shared<K>>);

struct Shared<K> {
    queue: Mutex<Queue<K>>,
    woken: Notify,
    /// Whether the worker has ended; it is also touched whenever a reconcile ends.
    ended: watch::Sender<bool>,
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> std::fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl<K: Ord + Clone> Handle<K> {
    /// Wants a key to be reconciled. It never waits, and may be called from any thread.
    pub fn wake(&self, key: K) {
        self.queue().push(key, Stage::New);
        self.0.woken.notify_one();
    }

    /// Wants a key to be reconciled that is on its way.
    pub fn pursue(&self, key: K) {
        self.queue().push(key, Stage::Begun);
        self.0.woken.notify_one();
    }

    /// Wants a key to be reconciled after this time, if it is not before.
    pub fn wake_in(&self, key: K, wait: Duration) {
        self.queue().push_at(key, Instant::now() + wait, Stage::New);
        self.0.woken.notify_one();
    }

    /// Wants a key to be reconciled after this time that is on its way.
    pub fn pursue_in(&self, key: K, wait: Duration) {
        self.queue().push_at(key, Instant::now() + wait, Stage::Begun);
        self.0.woken.notify_one();
    }

    /// Waits until nothing is due now and nothing is in progress, or the worker has ended.
    pub async fn idle(&self) {
        let mut ended = self.0.ended.subscribe();
        while !*ended.borrow_and_update() && !self.queue().is_idle(Instant::now()) {
            // It cannot fail: the sender lives as long as the handle.
            let _ = ended.changed().await;
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue<K>> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reconciles until it is stopped.
pub struct Worker<R: Reconcile> {
    reconciler: Arc<R>,
    options: Options,
    handle: Handle<R::Key>,
    backoff: Backoff<R::Key, fn() -> f64>,
    tasks: JoinSet<Result<Next, Failure>>,
    running: HashMap<Id, Running<R::Key>>,
}

/// A reconcile in progress.
struct Running<K> {
    key: K,
    stage: Stage,
    begun: Instant,
}

/// How a task ended.
type Joined = Result<(Id, Result<Next, Failure>), JoinError>;

impl<R: Reconcile> Worker<R> {
    /// Starts a worker. It ends after the stop, when the reconciles in progress have ended or their grace is over.
    pub fn start(reconciler: Arc<R>, options: Options, stop: Stop) -> (Handle<R::Key>, JoinHandle<()>) {
        let handle = Handle(Arc::new(Shared {
            queue: Mutex::new(Queue::new(R::namespace)),
            woken: Notify::new(),
            ended: watch::Sender::new(false),
        }));
        let backoff = Backoff::new(options.random);
        let (tasks, running) = (JoinSet::new(), HashMap::new());
        let worker = Self { reconciler, options, handle: handle.clone(), backoff, tasks, running };
        (handle, tokio::spawn(worker.run(stop)))
    }

    async fn run(mut self, stop: Stop) {
        while !stop.is_requested() {
            let due = self.fill();
            let next_due = async {
                match due {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.requested() => {}
                Some(joined) = self.tasks.join_next_with_id() => self.settle(joined),
                () = self.handle.0.woken.notified() => {}
                () = next_due => {}
            }
        }
        self.finish().await;
        self.handle.0.ended.send_replace(true);
    }

    /// Starts as many reconciles as may be, and tells when the next key is due.
    fn fill(&mut self) -> Option<Instant> {
        let handle = self.handle.clone();
        let mut queue = handle.queue();
        queue.ripen(Instant::now());
        // What is on its way comes first.
        for stage in [Stage::Begun, Stage::New] {
            while self.has_room(stage) {
                let begun = Instant::now();
                let Some(key) = queue.take(begun, stage) else { break };
                let span = tracing::info_span!("reconcile", controller = R::NAME, key = %key);
                let (reconciler, own) = (Arc::clone(&self.reconciler), key.clone());
                let task = async move { reconciler.reconcile(&own).await }.instrument(span);
                self.running.insert(self.tasks.spawn(task).id(), Running { key, stage, begun });
            }
        }
        self.options.metrics.queue_depth(R::NAME, queue.depth());
        queue.next_due()
    }

    /// Whether there is room for one more of a stage.
    fn has_room(&self, stage: Stage) -> bool {
        let all = self.options.concurrency.get();
        let Some(beginning) = self.options.beginning else { return self.running.len() < all };
        let room = match stage {
            Stage::New => beginning.get().min(all),
            Stage::Begun => all.saturating_sub(beginning.get()).max(1),
        };
        self.running.values().filter(|running| running.stage == stage).count() < room
    }

    /// Decides what follows from the end of a reconcile.
    fn settle(&mut self, joined: Joined) {
        let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(Running { key, stage, begun }) = self.running.remove(&id) else { return };
        let now = Instant::now();
        let (outcome, again) = self.judge(&key, joined.map(|(_, result)| result));
        self.options.metrics.reconciled(R::NAME, outcome, now.duration_since(begun));
        let mut queue = self.handle.queue();
        match again {
            Some(Duration::ZERO) => queue.push(key.clone(), stage),
            // What is too far off to be told is as good as never.
            Some(wait) => {
                now.checked_add(wait).into_iter().for_each(|at| queue.push_at(key.clone(), at, stage));
            }
            None => {}
        }
        queue.done(&key);
        drop(queue);
        self.handle.0.ended.send_modify(|_| {});
    }

    /// How a reconcile ended, and after what time it is due again.
    fn judge(
        &mut self,
        key: &R::Key,
        result: Result<Result<Next, Failure>, JoinError>,
    ) -> (Outcome, Option<Duration>) {
        let controller = R::NAME;
        match result {
            Ok(Ok(next)) => {
                self.backoff.succeeded(key);
                let again = match next {
                    Next::AwaitChange => None,
                    Next::After(wait) => Some(wait),
                };
                (Outcome::Ok, again)
            }
            Ok(Err(Failure::Conflict(reason))) => {
                let wait = self.backoff.conflicted(key);
                tracing::debug!(controller, %key, ?wait, "conflict: {reason}");
                (Outcome::Conflict, Some(wait))
            }
            Ok(Err(Failure::Transient(reason))) => {
                let wait = self.backoff.failed(key);
                tracing::warn!(controller, %key, ?wait, "failed to reconcile: {reason}");
                (Outcome::Transient, Some(wait))
            }
            Err(error) => {
                let wait = self.backoff.failed(key);
                tracing::error!(controller, %key, ?wait, "a reconcile panicked: {error}");
                (Outcome::Panic, Some(wait))
            }
        }
    }

    /// Waits for what is in progress, as long as its grace lasts.
    async fn finish(&mut self) {
        let grace = self.options.grace;
        let rest = async {
            while let Some(joined) = self.tasks.join_next_with_id().await {
                self.settle(joined);
            }
        };
        if timeout(grace, rest).await.is_err() {
            let left = self.running.len();
            tracing::warn!(
                controller = R::NAME,
                left,
                "reconciles did not end in {grace:?} and are given up"
            );
            self.tasks.shutdown().await;
        }
    }
}

impl<R: Reconcile> std::fmt::Debug for Worker<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("controller", &R::NAME).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
