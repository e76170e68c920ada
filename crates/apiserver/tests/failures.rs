//! Ledger on a store that is slow or fails.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    task::Poll,
};

use bytes::Bytes;
use orchestra_apiserver::{
    ledger::{Expected, Ledger, Options, WriteError},
    store::{Contents, Key, Revision, Store, StoreError, StoredChange},
};

/// Store whose disk the test can fill.
struct Full(Arc<AtomicBool>);

impl Store for Full {
    fn load(&self) -> Result<Contents, StoreError> {
        Ok(Contents::default())
    }

    fn commit(&mut self, _: &[StoredChange]) -> Result<(), StoreError> {
        if self.0.load(Ordering::SeqCst) {
            return Err(StoreError {
                action: "write to the store",
                cause: "no space left on device".to_owned(),
            });
        }
        Ok(())
    }
}

fn key(name: &str) -> Key {
    Key::new("things", "ns", name)
}

#[expect(clippy::unnecessary_wraps, reason = "as a write takes it")]
fn value(text: &str) -> Option<Bytes> {
    Some(Bytes::from(text.to_owned()))
}

#[tokio::test]
async fn a_failed_write_changes_nothing_and_reads_continue() {
    let is_full = Arc::new(AtomicBool::new(false));
    let ledger = Ledger::open(Full(Arc::clone(&is_full)), Options::default()).unwrap();
    ledger.write(key("a"), Expected::Absent, value("one")).await.unwrap();

    is_full.store(true, Ordering::SeqCst);
    let refused = ledger.write(key("a"), Expected::At(Revision(1)), value("two")).await;
    let why = "failed to write to the store: no space left on device".to_owned();
    assert_eq!(refused, Err(WriteError::Store(why)));
    assert_eq!(ledger.get(&key("a")).unwrap().value, "one");
    assert_eq!(ledger.revision(), Revision(1));
    assert!(ledger.events(Revision(1), 10).unwrap().is_empty());

    is_full.store(false, Ordering::SeqCst);
    let revision = ledger.write(key("a"), Expected::At(Revision(1)), value("two")).await;
    assert_eq!(revision, Ok(Revision(2)), "the number of a write that failed is not lost");
}

/// Store that reports the size of each batch, and commits when the test allows it.
struct Slow {
    began: Sender<usize>,
    go_on: Receiver<()>,
}

impl Store for Slow {
    fn load(&self) -> Result<Contents, StoreError> {
        Ok(Contents::default())
    }

    fn commit(&mut self, batch: &[StoredChange]) -> Result<(), StoreError> {
        let _ = self.began.send(batch.len());
        let _ = self.go_on.recv();
        Ok(())
    }
}

/// Queued write.
type Waiting = Pin<Box<dyn Future<Output = Result<Revision, WriteError>>>>;

async fn hand_over(ledger: &Ledger, name: &'static str) -> Waiting {
    let ledger = ledger.clone();
    let mut writing: Waiting =
        Box::pin(async move { ledger.write(key(name), Expected::Absent, value("x")).await });
    let first = std::future::poll_fn(|context| Poll::Ready(writing.as_mut().poll(context))).await;
    assert!(first.is_pending(), "{name} was answered at once: {first:?}");
    writing
}

#[tokio::test]
async fn queued_writes_share_a_commit_and_a_full_queue_refuses_writes() {
    let (began, begun) = channel();
    let (go, go_on) = channel();
    let ledger = Ledger::open(Slow { began, go_on }, Options { queue: 3, ..Options::default() }).unwrap();
    let first = hand_over(&ledger, "first").await;
    assert_eq!(begun.recv().unwrap(), 1, "the first goes alone");
    let waiting =
        [hand_over(&ledger, "b").await, hand_over(&ledger, "c").await, hand_over(&ledger, "d").await];
    assert_eq!(ledger.write(key("e"), Expected::Absent, value("x")).await, Err(WriteError::Busy));

    go.send(()).unwrap();
    assert_eq!(first.await, Ok(Revision(1)));
    assert_eq!(begun.recv().unwrap(), 3, "those that waited go together");
    go.send(()).unwrap();
    for (writer, revision) in waiting.into_iter().zip(2..) {
        assert_eq!(writer.await, Ok(Revision(revision)));
    }
}

#[tokio::test]
async fn one_of_conflicting_writes_wins_even_within_a_batch() {
    let (began, begun) = channel();
    let (go, go_on) = channel();
    let ledger = Ledger::open(Slow { began, go_on }, Options::default()).unwrap();
    let other = hand_over(&ledger, "other").await;
    begun.recv().unwrap();
    let conflicting = [hand_over(&ledger, "same").await, hand_over(&ledger, "same").await];
    go.send(()).unwrap();
    assert_eq!(other.await, Ok(Revision(1)));
    assert_eq!(begun.recv().unwrap(), 1, "the second is refused before anything is kept");
    go.send(()).unwrap();
    let [one, two] = conflicting;
    assert_eq!(one.await, Ok(Revision(2)));
    assert_eq!(two.await, Err(WriteError::Conflict(Some(Revision(2)))));
}

#[tokio::test]
async fn a_full_store_refuses_new_objects_and_can_be_cleaned_up() {
    // Two objects of 1,000 bytes with their overhead, and an eighth for updates.
    let options = Options { store_bytes: 3200, ..Options::default() };
    let ledger = Ledger::open(Full(Arc::default()), options).unwrap();
    let large = value(&"x".repeat(1000));
    let one = ledger.write(key("one"), Expected::Absent, large.clone()).await.unwrap();
    let two = ledger.write(key("two"), Expected::Absent, large.clone()).await.unwrap();
    assert_eq!(ledger.write(key("three"), Expected::Absent, large.clone()).await, Err(WriteError::Full));
    let marked = value(&"x".repeat(1100));
    let one =
        ledger.write(key("one"), Expected::At(one), marked).await.expect("an update may grow it a little");
    let huge = value(&"x".repeat(2000));
    assert_eq!(ledger.write(key("two"), Expected::At(two), huge).await, Err(WriteError::Full));
    ledger.write(key("one"), Expected::At(one), None).await.unwrap();
    ledger.write(key("three"), Expected::Absent, large).await.expect("there is room again");
}

#[tokio::test]
async fn a_namespace_takes_its_share_of_the_store_and_leaves_the_rest_to_others() {
    // Two objects of 1,000 bytes with their overhead.
    let options = Options { namespace_bytes: 3200, ..Options::default() };
    let ledger = Ledger::open(Full(Arc::default()), options).unwrap();
    let large = value(&"x".repeat(1000));
    let of = |namespace, name| Key::new("configmaps", namespace, name);
    let refused = Err(WriteError::NamespaceFull { limit: 3200 });
    let one = ledger.write(of("greedy", "one"), Expected::Absent, large.clone()).await.unwrap();
    ledger.write(of("greedy", "two"), Expected::Absent, large.clone()).await.unwrap();
    assert_eq!(ledger.write(of("greedy", "three"), Expected::Absent, large.clone()).await, refused);
    let marked = value(&"x".repeat(1100));
    let one = ledger.write(of("greedy", "one"), Expected::At(one), marked).await.expect("a small growth");

    ledger.write(of("other", "one"), Expected::Absent, large.clone()).await.expect("others have room");
    for name in ["a", "b", "c"] {
        let of_cluster = ledger.write(of("", name), Expected::Absent, large.clone()).await;
        of_cluster.expect("objects of the whole cluster are written by administrators only");
    }
    let marked = value(&"x".repeat(2000));
    let refused_mark = ledger.write(of("greedy", "one"), Expected::At(one), marked.clone()).await;
    assert_eq!(refused_mark, refused, "beyond the margin");
    let one = ledger.write(of("greedy", "one"), Expected::ToMark(one), marked).await;
    let one = one.expect("what is marked as deleted may grow, or nobody could clean up");
    ledger.write(of("greedy", "one"), Expected::At(one), None).await.unwrap();
    ledger.write(of("greedy", "three"), Expected::Absent, large).await.expect("there is room again");
}

/// Store that records the thread of each commit.
struct Recorded(Arc<Mutex<Vec<Option<String>>>>);

impl Store for Recorded {
    fn load(&self) -> Result<Contents, StoreError> {
        Ok(Contents::default())
    }

    fn commit(&mut self, _: &[StoredChange]) -> Result<(), StoreError> {
        self.0.lock().unwrap().push(std::thread::current().name().map(str::to_owned));
        Ok(())
    }
}

#[tokio::test]
async fn a_single_write_to_a_fast_disk_is_committed_by_its_caller_and_several_go_to_the_thread_that_batches_them()
 {
    let threads = Arc::new(Mutex::new(Vec::new()));
    let ledger = Ledger::open(Recorded(Arc::clone(&threads)), Options::default()).unwrap();
    let own = std::thread::current().name().map(str::to_owned);
    let names: Vec<String> = (0..64).map(|number| format!("n{number}")).collect();
    for round in 0.. {
        assert!(round < 1000, "each commit took more than a millisecond");
        let key = Key::new("configmaps", "default", &format!("single-{round}"));
        ledger.write(key, Expected::Absent, value("x")).await.unwrap();
        if threads.lock().unwrap().last() == Some(&own) {
            break;
        }
    }
    threads.lock().unwrap().clear();
    let several = names
        .iter()
        .map(|name| ledger.write(Key::new("configmaps", "default", name), Expected::Absent, value("x")));
    for written in futures_util::future::join_all(several).await {
        written.unwrap();
    }
    let of_others = threads.lock().unwrap().clone();
    assert!(of_others.iter().all(|thread| thread.as_deref() == Some("ledger")), "{of_others:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_on_many_threads_share_one_order_without_gaps() {
    let ledger = Ledger::open(Full(Arc::default()), Options::default()).unwrap();
    let writers = (0..8).map(|writer| {
        let ledger = ledger.clone();
        tokio::spawn(async move {
            let mut revisions = Vec::new();
            for number in 0..200 {
                let name = format!("{writer}-{number}");
                let key = Key::new("configmaps", "default", &name);
                let revision = ledger.write(key.clone(), Expected::Absent, value(&name)).await.unwrap();
                assert_eq!(ledger.get(&key).map(|object| object.revision), Some(revision), "it is visible");
                revisions.push(revision.0);
            }
            revisions
        })
    });
    let mut all = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        let revisions = writer.await.unwrap();
        assert!(revisions.is_sorted(), "the writes of one writer are in order");
        all.extend(revisions);
    }
    all.sort_unstable();
    assert_eq!(all, (1..=1600).collect::<Vec<_>>());
    let events: Vec<_> =
        ledger.events(Revision(0), 2000).unwrap().iter().map(|event| event.revision.0).collect();
    assert_eq!(events, all);
}
