use std::{pin::Pin, sync::atomic::AtomicUsize, sync::atomic::Ordering::SeqCst};

use tokio::sync::{Semaphore, mpsc};

use super::*;
use crate::engine::shutdown;

type Outcomes = Pin<Box<dyn Future<Output = Result<Action, Error>> + Send>>;

/// A reconciler that does what the test says.
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
    play: impl Fn(String) -> F + Send + Sync + 'static,
) -> Arc<Script> {
    Arc::new(Script(Box::new(move |key| Box::pin(play(key)))))
}

fn options(concurrency: usize) -> Options {
    let concurrency = NonZeroUsize::new(concurrency).unwrap();
    Options { concurrency, random: || 1.0, ..Options::default() }
}

/// The times, in milliseconds from the start, of the first reconciles of a key that always ends like this.
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
async fn failures_wait_longer_each_time() {
    let failing = times(5, || Err(Error::Retry("no network".to_owned()))).await;
    assert_eq!(failing, [0, 100, 300, 700, 1500]);
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_tried_again_at_once_but_not_for_ever() {
    let conflicting =
        times(8, || Err(Error::Gone { kind: "Workload".to_owned(), name: "a".to_owned() })).await;
    assert_eq!(conflicting, [0, 0, 0, 0, 0, 0, 100, 300]);
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_looked_at_later_is_looked_at_then() {
    assert_eq!(times(3, || Ok(Action::After(Duration::from_mins(1)))).await, [0, 60_000, 120_000]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_neither_the_worker_nor_the_care_for_its_object() {
    let (_stopper, stop) = shutdown::channel();
    let (ends, mut ended) = mpsc::unbounded_channel();
    let bad_looks = Arc::new(AtomicUsize::new(0));
    let reconciler = script(move |key| {
        let (ends, bad_looks) = (ends.clone(), Arc::clone(&bad_looks));
        async move {
            assert!(key != "a/bad" || bad_looks.fetch_add(1, SeqCst) > 0, "the first look at a bad object");
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

/// A worker whose reconciles tell that they have begun, and end when the gate lets them.
struct Gated {
    handle: Handle<String>,
    task: JoinHandle<()>,
    stopper: shutdown::ShutdownTrigger,
    begun: mpsc::UnboundedReceiver<String>,
    gate: Arc<Semaphore>,
    ended: Arc<AtomicUsize>,
}

fn gated(concurrency: usize) -> Gated {
    gated_with(options(concurrency))
}

fn gated_with(options: Options) -> Gated {
    let (stopper, stop) = shutdown::channel();
    let (begins, begun) = mpsc::unbounded_channel();
    let (gate, ended) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at, ends) = (Arc::clone(&gate), Arc::clone(&ended));
    let reconciler = script(move |key| {
        let (begins, gate, ended) = (begins.clone(), Arc::clone(&at), Arc::clone(&ends));
        async move {
            begins.send(key).unwrap();
            gate.acquire().await.unwrap().forget();
            ended.fetch_add(1, SeqCst);
            Ok(Action::AwaitChange)
        }
    });
    let (handle, task) = Worker::start(reconciler, options, stop);
    Gated { handle, task, stopper, begun, gate, ended }
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_given_number_run_at_a_time() {
    let mut worker = gated(3);
    (0..10).for_each(|n| worker.handle.enqueue(format!("a/{n}")));
    for _ in 0..3 {
        worker.begun.recv().await.unwrap();
    }
    // Time passes by itself when nothing else can happen.
    tokio::time::timeout(Duration::from_secs(1), worker.begun.recv()).await.unwrap_err();
    worker.gate.add_permits(10);
    worker.handle.idle().await;
    assert_eq!(worker.ended.load(SeqCst), 10);
}

#[tokio::test(start_paused = true)]
async fn many_new_ones_leave_room_for_what_is_on_its_way_and_the_other_way_round() {
    let mut worker = gated_with(Options { starting: NonZeroUsize::new(2), ..options(5) });
    let begun = async |worker: &mut Gated| {
        let mut begun = Vec::new();
        while let Ok(Some(key)) = tokio::time::timeout(Duration::from_secs(1), worker.begun.recv()).await {
            begun.push(key);
        }
        begun
    };
    (0..9).for_each(|n| worker.handle.enqueue(format!("a/new-{n}")));
    assert_eq!(begun(&mut worker).await, ["a/new-0", "a/new-1"]);
    // One of those that wait is on its way, as it turns out.
    worker.handle.enqueue_in_progress("a/new-8".to_owned());
    (0..9).for_each(|n| worker.handle.enqueue_in_progress(format!("a/on-its-way-{n}")));
    assert_eq!(begun(&mut worker).await, ["a/new-8", "a/on-its-way-0", "a/on-its-way-1"]);
    worker.gate.add_permits(18);
    worker.handle.idle().await;
    assert_eq!(worker.ended.load(SeqCst), 18);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_woken_while_it_is_reconciled_is_reconciled_again() {
    let mut worker = gated(3);
    worker.handle.enqueue("a/1".to_owned());
    worker.begun.recv().await.unwrap();
    worker.handle.enqueue("a/1".to_owned());
    worker.handle.enqueue("a/1".to_owned());
    worker.gate.add_permits(5);
    worker.handle.idle().await;
    assert_eq!(worker.ended.load(SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn after_the_stop_work_in_progress_ends_and_no_other_begins() {
    let mut worker = gated(1);
    worker.handle.enqueue("a/1".to_owned());
    worker.handle.enqueue("a/2".to_owned());
    worker.begun.recv().await.unwrap();
    worker.stopper.trigger();
    worker.gate.add_permits(5);
    worker.task.await.unwrap();
    assert_eq!(worker.ended.load(SeqCst), 1);
    // It does not wait for what will never be done.
    worker.handle.idle().await;
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_end_is_given_up_after_its_grace() {
    let mut worker = gated(1);
    worker.handle.enqueue("a/1".to_owned());
    worker.begun.recv().await.unwrap();
    let stopped = Instant::now();
    worker.stopper.trigger();
    worker.task.await.unwrap();
    assert_eq!((stopped.elapsed(), worker.ended.load(SeqCst)), (Duration::from_secs(10), 0));
}

#[tokio::test]
async fn a_worker_can_be_woken_from_any_thread() {
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
