use std::{pin::Pin, sync::atomic::AtomicUsize, sync::atomic::Ordering::SeqCst};

use orchestra_core::driver::DriverError;
use tokio::sync::{Semaphore, mpsc};

use super::*;
use crate::engine::shutdown;

type Outcomes = Pin<Box<dyn Future<Output = Result<Action, Error>> + Send>>;

/// Scripted reconciler.
struct Script(Box<dyn Fn(String) -> Outcomes + Send + Sync>);

impl Reconcile for Script {
    type Key = String;
    const NAME: &'static str = "script";

    fn namespace(key: &String) -> &str {
        key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    async fn reconcile(&self, key: &String) -> Result<Action, Error> {
        (self.0)(key.clone()).await
    }
}

fn script<F: Future<Output = Result<Action, Error>> + Send + 'static>(
    script: impl Fn(String) -> F + Send + Sync + 'static,
) -> Arc<Script> {
    Arc::new(Script(Box::new(move |key| Box::pin(script(key)))))
}

fn options(concurrency: usize) -> Options {
    let concurrency = NonZeroUsize::new(concurrency).unwrap();
    Options { concurrency, random: || 1.0, ..Options::default() }
}

/// Start times in milliseconds of the first reconciles of a key, all with this result.
async fn times(count: usize, end: fn() -> Result<Action, Error>) -> Vec<u128> {
    let (_stopper, stop) = shutdown::channel();
    let (times, mut starts) = mpsc::unbounded_channel();
    let start = Instant::now();
    let reconciler = script(move |_| {
        times.send(start.elapsed().as_millis()).unwrap();
        std::future::ready(end())
    });
    let (handle, _task) = Worker::start(reconciler, options(2), stop);
    handle.enqueue("a/1".to_owned());
    let mut all = Vec::new();
    while all.len() < count {
        all.push(starts.recv().await.unwrap());
    }
    all
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_with_exponential_backoff() {
    let failing = times(5, || Err(Error::Retry(DriverError::unreachable("no network").into()))).await;
    assert_eq!(failing, [0, 100, 300, 700, 1500]);
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_retried_at_once_and_after_many_with_backoff() {
    let conflicting =
        times(8, || Err(Error::Gone { kind: "Workload".to_owned(), name: "a".to_owned() })).await;
    assert_eq!(conflicting, [0, 0, 0, 0, 0, 0, 100, 300]);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_requeued_after_the_given_delay() {
    assert_eq!(times(3, || Ok(Action::After(Duration::from_mins(1)))).await, [0, 60_000, 120_000]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_retried_and_does_not_end_the_worker() {
    let (_stopper, stop) = shutdown::channel();
    let (ends, mut ended) = mpsc::unbounded_channel();
    let bad_reconciles = Arc::new(AtomicUsize::new(0));
    let reconciler = script(move |key| {
        let (ends, bad_reconciles) = (ends.clone(), Arc::clone(&bad_reconciles));
        async move {
            assert!(
                key != "a/bad" || bad_reconciles.fetch_add(1, SeqCst) > 0,
                "the first reconcile of a bad object"
            );
            ends.send(key).unwrap();
            Ok(Action::AwaitChange)
        }
    });
    let options = options(1);
    let metrics = options.metrics.clone();
    let (handle, _task) = Worker::start(reconciler, options, stop);
    handle.enqueue("a/bad".to_owned());
    handle.enqueue("a/good".to_owned());
    assert_eq!(ended.recv().await.unwrap(), "a/good");
    assert_eq!(ended.recv().await.unwrap(), "a/bad");
    handle.idle().await;
    let text = metrics.encode();
    assert!(text.contains(r#"orchestra_reconcile_total{controller="script",result="panic"} 1"#), "{text}");
    assert!(text.contains(r#"orchestra_reconcile_total{controller="script",result="ok"} 2"#), "{text}");
}

/// Worker whose reconciles report their start, and end when the gate has a permit.
struct Gated {
    handle: Handle<String>,
    task: JoinHandle<()>,
    stopper: shutdown::ShutdownTrigger,
    started: mpsc::UnboundedReceiver<String>,
    gate: Arc<Semaphore>,
    ended: Arc<AtomicUsize>,
}

fn gated(concurrency: usize) -> Gated {
    gated_with(options(concurrency))
}

fn gated_with(options: Options) -> Gated {
    let (stopper, stop) = shutdown::channel();
    let (starts, started) = mpsc::unbounded_channel();
    let (gate, ended) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at, ends) = (Arc::clone(&gate), Arc::clone(&ended));
    let reconciler = script(move |key| {
        let (starts, gate, ended) = (starts.clone(), Arc::clone(&at), Arc::clone(&ends));
        async move {
            starts.send(key).unwrap();
            gate.acquire().await.unwrap().forget();
            ended.fetch_add(1, SeqCst);
            Ok(Action::AwaitChange)
        }
    });
    let (handle, task) = Worker::start(reconciler, options, stop);
    Gated { handle, task, stopper, started, gate, ended }
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_bounded() {
    let mut worker = gated(3);
    (0..10).for_each(|n| worker.handle.enqueue(format!("a/{n}")));
    for _ in 0..3 {
        worker.started.recv().await.unwrap();
    }
    // The paused clock advances when all tasks are idle.
    tokio::time::timeout(Duration::from_secs(1), worker.started.recv()).await.unwrap_err();
    worker.gate.add_permits(10);
    worker.handle.idle().await;
    assert_eq!(worker.ended.load(SeqCst), 10);
}

/// Keys whose reconciles have started, until no further one starts.
async fn started(worker: &mut Gated) -> Vec<String> {
    let mut started = Vec::new();
    // The paused clock advances when all tasks are idle.
    while let Ok(Some(key)) = tokio::time::timeout(Duration::from_secs(1), worker.started.recv()).await {
        started.push(key);
    }
    started
}

#[tokio::test(start_paused = true)]
async fn settled_keys_leave_slots_for_changes_and_are_not_starved_by_them() {
    let mut worker = gated(4);
    (0..9).for_each(|n| worker.handle.enqueue_resync(format!("a/settled-{n}")));
    assert_eq!(started(&mut worker).await, ["a/settled-0", "a/settled-1"]);
    (0..9).for_each(|n| worker.handle.enqueue(format!("a/new-{n}")));
    assert_eq!(started(&mut worker).await, ["a/new-0", "a/new-1"]);
    worker.gate.add_permits(4);
    let mut next = started(&mut worker).await;
    next.sort();
    assert_eq!(next, ["a/new-2", "a/new-3", "a/new-4", "a/settled-2"]);
    worker.gate.add_permits(14);
    worker.handle.idle().await;
    assert_eq!(worker.ended.load(SeqCst), 18);
}

#[tokio::test(start_paused = true)]
async fn new_keys_and_keys_in_progress_have_separate_slots() {
    let mut worker = gated_with(Options { starting: NonZeroUsize::new(2), ..options(5) });
    (0..9).for_each(|n| worker.handle.enqueue(format!("a/new-{n}")));
    assert_eq!(started(&mut worker).await, ["a/new-0", "a/new-1"]);
    // A new key that waits becomes one in progress.
    worker.handle.enqueue_in_progress("a/new-8".to_owned());
    (0..9).for_each(|n| worker.handle.enqueue_in_progress(format!("a/in-progress-{n}")));
    assert_eq!(started(&mut worker).await, ["a/new-8", "a/in-progress-0", "a/in-progress-1"]);
    worker.gate.add_permits(18);
    worker.handle.idle().await;
    assert_eq!(worker.ended.load(SeqCst), 18);
}

#[tokio::test(start_paused = true)]
async fn a_key_enqueued_during_its_reconcile_is_reconciled_again() {
    let mut worker = gated(3);
    worker.handle.enqueue("a/1".to_owned());
    worker.started.recv().await.unwrap();
    worker.handle.enqueue("a/1".to_owned());
    worker.handle.enqueue("a/1".to_owned());
    worker.gate.add_permits(5);
    worker.handle.idle().await;
    assert_eq!(worker.ended.load(SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn after_shutdown_reconciles_in_progress_complete_and_no_other_starts() {
    let mut worker = gated(1);
    worker.handle.enqueue("a/1".to_owned());
    worker.handle.enqueue("a/2".to_owned());
    worker.started.recv().await.unwrap();
    worker.stopper.trigger();
    worker.gate.add_permits(5);
    worker.task.await.unwrap();
    assert_eq!(worker.ended.load(SeqCst), 1);
    // The key that is left does not keep it waiting.
    worker.handle.idle().await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_is_aborted_after_the_grace_period() {
    let mut worker = gated(1);
    worker.handle.enqueue("a/1".to_owned());
    worker.started.recv().await.unwrap();
    let stopped = Instant::now();
    worker.stopper.trigger();
    worker.task.await.unwrap();
    assert_eq!((stopped.elapsed(), worker.ended.load(SeqCst)), (Duration::from_secs(10), 0));
}

#[tokio::test]
async fn a_key_can_be_enqueued_from_any_thread() {
    let (_stopper, stop) = shutdown::channel();
    let (ends, mut ended) = mpsc::unbounded_channel();
    let reconciler = script(move |key| {
        ends.send(key).unwrap();
        std::future::ready(Ok(Action::AwaitChange))
    });
    let (handle, _task) = Worker::start(reconciler, options(1), stop);
    std::thread::spawn(move || handle.enqueue("a/1".to_owned())).join().unwrap();
    assert_eq!(ended.recv().await.unwrap(), "a/1");
}
