//! Worker of one controller.
//!
//! It takes keys from its [queue](crate::engine::queue), reconciles a bounded number of them concurrently, and requeues each by the result.
//! Each reconcile is a task, so that a panic affects one object only: it is retried with backoff, and all others are served.

use std::{
    collections::HashMap,
    fmt::Display,
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use orchestra_core::decision::Requeue;
use tokio::{
    sync::{Notify, watch},
    task::{Id, JoinError, JoinHandle, JoinSet},
    time::{Instant, sleep_until, timeout},
};
use tracing::Instrument;

use crate::{
    engine::{
        backoff::Backoff,
        queue::{Queue, Stage},
        shutdown::Shutdown,
    },
    error::Error,
    metrics::{Metrics, ReconcileOutcome},
};

/// A controller.
pub trait Reconcile: Send + Sync + 'static {
    /// Key of what it reconciles.
    type Key: Clone + Ord + Send + Sync + Display + 'static;

    /// Name in logs and metrics.
    const NAME: &'static str;

    /// Namespace of a key. Namespaces take turns.
    fn namespace(key: &Self::Key) -> &str;

    /// Reconciles the object behind a key. Idempotent.
    fn reconcile(&self, key: &Self::Key) -> impl Future<Output = Result<Action, Error>> + Send;
}

/// Requeue after a successful reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// When something changes.
    AwaitChange,
    /// After this time, or when something changes.
    After(Duration),
}

/// Result of a reconcile that ends as core decided.
pub(crate) fn requeue(requeue: Requeue) -> Result<Action, Error> {
    match requeue {
        Requeue::OnChange => Ok(Action::AwaitChange),
        Requeue::After(wait) => Ok(Action::After(wait)),
        Requeue::Backoff(cause) => Err(Error::Retry(cause)),
    }
}

/// Default time that reconciles have to complete after the shutdown request: enough for a request, and below the 30 seconds after
/// which a cluster kills a process.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(10);

/// Options of a worker.
#[derive(Clone, Debug)]
pub struct Options {
    /// Concurrent reconciles.
    pub concurrency: NonZeroUsize,
    /// Number of them reserved for new keys; the others are for keys in progress. Without it they are for both.
    pub starting: Option<NonZeroUsize>,
    /// Time that reconciles have to complete after the shutdown request.
    pub grace: Duration,
    /// Metrics.
    pub metrics: Metrics,
    /// Published number of keys that are due.
    pub backlog: Arc<AtomicUsize>,
    /// Random numbers in `0..1`, for jitter.
    pub random: fn() -> f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: NonZeroUsize::MIN.saturating_add(7),
            starting: None,
            grace: SHUTDOWN_GRACE_PERIOD,
            metrics: Metrics::default(),
            backlog: Arc::default(),
            random: fastrand::f64,
        }
    }
}

/// Handle of a worker's queue. Clones share it.
pub struct Handle<K>(Arc<Shared<K>>);

struct Shared<K> {
    queue: Mutex<Queue<K>>,
    enqueued: Notify,
    /// True when the worker has ended; also touched whenever a reconcile ends.
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
    /// Enqueues a new or changed key. It never blocks.
    pub fn enqueue(&self, key: K) {
        self.queue().push(key, Stage::New);
        self.0.enqueued.notify_one();
    }

    /// Enqueues a settled key, after all others.
    pub fn enqueue_resync(&self, key: K) {
        self.queue().push(key, Stage::Resync);
        self.0.enqueued.notify_one();
    }

    /// Enqueues a key in progress.
    pub fn enqueue_in_progress(&self, key: K) {
        self.queue().push(key, Stage::InProgress);
        self.0.enqueued.notify_one();
    }

    /// Enqueues a key after a delay, unless it is due before.
    pub fn enqueue_after(&self, key: K, wait: Duration) {
        self.queue().push_at(key, Instant::now() + wait, Stage::New);
        self.0.enqueued.notify_one();
    }

    /// Enqueues a key in progress after a delay, unless it is due before.
    pub fn enqueue_in_progress_after(&self, key: K, wait: Duration) {
        self.queue().push_at(key, Instant::now() + wait, Stage::InProgress);
        self.0.enqueued.notify_one();
    }

    /// Waits until nothing is due now and nothing is in progress, or the worker has ended.
    pub async fn idle(&self) {
        let mut ended = self.0.ended.subscribe();
        while !*ended.borrow_and_update() && !self.queue().is_idle(Instant::now()) {
            // The sender lives as long as the handle.
            let _ = ended.changed().await;
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue<K>> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Worker of one controller.
pub struct Worker<R: Reconcile> {
    reconciler: Arc<R>,
    options: Options,
    handle: Handle<R::Key>,
    backoff: Backoff<R::Key, fn() -> f64>,
    tasks: JoinSet<Result<Action, Error>>,
    running: HashMap<Id, Running<R::Key>>,
}

/// Reconcile in progress.
struct Running<K> {
    key: K,
    stage: Stage,
    started: Instant,
}

/// Result of a task.
type Joined = Result<(Id, Result<Action, Error>), JoinError>;

impl<R: Reconcile> Worker<R> {
    /// Starts a worker. After the shutdown request it waits for reconciles in progress, at most for the grace period.
    pub fn start(
        reconciler: Arc<R>,
        options: Options,
        shutdown: Shutdown,
    ) -> (Handle<R::Key>, JoinHandle<()>) {
        let handle = Handle(Arc::new(Shared {
            queue: Mutex::new(Queue::new(R::namespace)),
            enqueued: Notify::new(),
            ended: watch::Sender::new(false),
        }));
        let backoff = Backoff::new(options.random);
        let (tasks, running) = (JoinSet::new(), HashMap::new());
        let worker = Self { reconciler, options, handle: handle.clone(), backoff, tasks, running };
        (handle, tokio::spawn(worker.run(shutdown)))
    }

    async fn run(mut self, shutdown: Shutdown) {
        while !shutdown.is_requested() {
            let due = self.fill();
            let next_due = async {
                match due {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = shutdown.requested() => {}
                Some(joined) = self.tasks.join_next_with_id() => self.settle(joined),
                () = self.handle.0.enqueued.notified() => {}
                () = next_due => {}
            }
        }
        self.finish().await;
        self.handle.0.ended.send_replace(true);
    }

    /// Starts as many reconciles as allowed, and returns when the next key is due.
    fn fill(&mut self) -> Option<Instant> {
        let handle = self.handle.clone();
        let mut queue = handle.queue();
        queue.promote_due(Instant::now());
        // Keys in progress come first.
        for stage in [Stage::InProgress, Stage::New, Stage::Resync] {
            while self.has_room(stage, queue.has_due(Stage::Resync)) {
                let started = Instant::now();
                let Some(key) = queue.take(started, stage) else { break };
                let span = tracing::info_span!("reconcile", controller = R::NAME, key = %key);
                let (reconciler, own) = (Arc::clone(&self.reconciler), key.clone());
                let task = async move { reconciler.reconcile(&own).await }.instrument(span);
                self.running.insert(self.tasks.spawn(task).id(), Running { key, stage, started });
            }
        }
        self.options.metrics.queue_depth(R::NAME, queue.depth());
        self.options.backlog.store(queue.depth(), Ordering::Relaxed);
        queue.next_due()
    }

    /// True if another reconcile of a stage may start. While settled keys wait, they have one slot, so that they are not starved, and
    /// at most half of all, so that a change finds a free one.
    fn has_room(&self, stage: Stage, resyncs_wait: bool) -> bool {
        let all = self.options.concurrency.get();
        let running = |stage| self.running.values().filter(|running| running.stage == stage).count();
        let (resyncs, changes) = (running(Stage::Resync), running(Stage::New) + running(Stage::InProgress));
        if resyncs + changes >= all {
            return false;
        }
        let for_changes = (all - usize::from(resyncs_wait)).max(1);
        match (stage, self.options.starting) {
            (Stage::Resync, _) => resyncs < (all / 2).max(1),
            (_, _) if changes >= for_changes => false,
            (_, None) => true,
            (Stage::New, Some(starting)) => running(stage) < starting.get().min(all),
            (Stage::InProgress, Some(starting)) => running(stage) < all.saturating_sub(starting.get()).max(1),
        }
    }

    /// Requeues a key by the result of its reconcile.
    fn settle(&mut self, joined: Joined) {
        let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(Running { key, stage, started }) = self.running.remove(&id) else { return };
        let now = Instant::now();
        let (outcome, again) = self.classify(&key, joined.map(|(_, result)| result));
        self.options.metrics.reconciled(R::NAME, outcome, now.duration_since(started));
        let mut queue = self.handle.queue();
        match again {
            Some(Duration::ZERO) => queue.push(key.clone(), stage),
            // A time that cannot be represented never comes.
            Some(wait) => {
                now.checked_add(wait).into_iter().for_each(|at| queue.push_at(key.clone(), at, stage));
            }
            None => {}
        }
        queue.done(&key);
        drop(queue);
        self.handle.0.ended.send_modify(|_| {});
    }

    /// Outcome for the metrics, and the delay until the next reconcile.
    fn classify(
        &mut self,
        key: &R::Key,
        result: Result<Result<Action, Error>, JoinError>,
    ) -> (ReconcileOutcome, Option<Duration>) {
        let controller = R::NAME;
        match result {
            Ok(Ok(next)) => {
                self.backoff.succeeded(key);
                let requeue_after = match next {
                    Action::AwaitChange => None,
                    Action::After(wait) => Some(wait),
                };
                (ReconcileOutcome::Ok, requeue_after)
            }
            Ok(Err(error)) if error.is_conflict() => {
                let wait = self.backoff.conflicted(key);
                tracing::debug!(controller, %key, ?wait, "conflict: {error}");
                (ReconcileOutcome::Conflict, Some(wait))
            }
            Ok(Err(error)) => {
                let wait = self.backoff.failed(key);
                tracing::warn!(controller, %key, ?wait, "failed to reconcile: {error}");
                (ReconcileOutcome::Transient, Some(wait))
            }
            Err(error) => {
                let wait = self.backoff.failed(key);
                tracing::error!(controller, %key, ?wait, "a reconcile panicked: {error}");
                (ReconcileOutcome::Panic, Some(wait))
            }
        }
    }

    /// Waits for reconciles in progress, at most for the grace period.
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
mod tests;
