//! What a ledger does when its store cannot keep up or cannot keep anything.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    task::Poll,
};

use bytes::Bytes;
use orchestra_apiserver::{
    ledger::{Expected, Ledger, Options, WriteError},
    store::{Change, Contents, Key, Revision, Store, StoreError},
};

/// A store whose disk is full whenever the test says so.
struct Full(Arc<AtomicBool>);

impl Store for Full {
    fn load(&self) -> Result<Contents, StoreError> {
        Ok(Contents::default())
    }

    fn commit(&mut self, _: &[Change]) -> Result<(), StoreError> {
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
async fn a_write_that_cannot_be_kept_changes_nothing_and_reads_go_on() {
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

/// A store that tells how many changes came together, and waits for the word to go on.
struct Slow {
    began: Sender<usize>,
    go_on: Receiver<()>,
}

impl Store for Slow {
    fn load(&self) -> Result<Contents, StoreError> {
        Ok(Contents::default())
    }

    fn commit(&mut self, batch: &[Change]) -> Result<(), StoreError> {
        let _ = self.began.send(batch.len());
        let _ = self.go_on.recv();
        Ok(())
    }
}

/// A write that has been handed over, and whose answer is still to come.
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
async fn writers_that_wait_together_share_a_commit_and_more_than_the_queue_holds_are_refused() {
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
async fn of_writers_that_want_the_same_one_wins_even_within_a_batch() {
    let (began, begun) = channel();
    let (go, go_on) = channel();
    let ledger = Ledger::open(Slow { began, go_on }, Options::default()).unwrap();
    let other = hand_over(&ledger, "other").await;
    begun.recv().unwrap();
    let rivals = [hand_over(&ledger, "same").await, hand_over(&ledger, "same").await];
    go.send(()).unwrap();
    assert_eq!(other.await, Ok(Revision(1)));
    assert_eq!(begun.recv().unwrap(), 1, "the second is refused before anything is kept");
    go.send(()).unwrap();
    let [one, two] = rivals;
    assert_eq!(one.await, Ok(Revision(2)));
    assert_eq!(two.await, Err(WriteError::Conflict(Some(Revision(2)))));
}
