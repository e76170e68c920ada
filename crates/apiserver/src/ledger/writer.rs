//! Writer of the ledger.
//!
//! Writes wait in a queue for the writer's thread, which commits all that wait with one sync. A single write to a fast disk
//! is committed by its caller instead, since two switches between threads take as long as the sync.

use std::{
    collections::BTreeMap,
    fmt,
    future::poll_fn,
    io,
    sync::{
        Arc, Mutex, MutexGuard, RwLock,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    task::Poll,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::sync::{oneshot, watch};

use super::{Expected, Options, State, WriteError, read, space::object_size, write};
use crate::store::{Key, Revision, Store, StoredChange};

/// Time of a commit up to which the next one may be done by its caller, which is blocked as long: less than a request may
/// compute without a pause.
const MAX_CALLER_COMMIT_TIME: Duration = Duration::from_millis(1);

/// Result of a write.
type Written = Result<Revision, WriteError>;

/// Wanted write.
pub(super) struct Write {
    pub(super) key: Key,
    pub(super) expected: Expected,
    pub(super) value: Option<Bytes>,
}

/// Write in the queue.
struct Request {
    write: Write,
    answer: oneshot::Sender<Written>,
}

/// The writer, and the queue of its thread. Clones share them.
#[derive(Clone)]
pub(super) struct Writing {
    writer: Arc<Mutex<Writer>>,
    queue: SyncSender<Request>,
    /// Writes that were begun and not answered.
    in_flight: Arc<AtomicUsize>,
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").finish_non_exhaustive()
    }
}

impl Writing {
    /// Starts the writer's thread. It ends with the last clone.
    pub(super) fn start(writer: Writer, queue: usize) -> io::Result<Self> {
        let (queue, requests) = sync_channel(queue);
        let writing = Self { writer: Arc::new(Mutex::new(writer)), queue, in_flight: Arc::default() };
        let writer = Arc::clone(&writing.writer);
        thread::Builder::new().name("ledger".to_owned()).spawn(move || run(&writer, &requests))?;
        Ok(writing)
    }

    /// Commits a write, or waits until the thread has committed it.
    pub(super) async fn write(&self, write: Write) -> Written {
        let in_flight = InFlight::count(&self.in_flight);
        let mut write = write;
        if in_flight.is_alone() && self.idle_writer().is_some() {
            // Whoever begins several writes at once begins the others now, so that they share a sync.
            yield_once().await;
            if in_flight.is_alone() {
                match self.write_as_caller(write) {
                    Ok(written) => return written,
                    Err(busy) => write = busy,
                }
            }
        }
        let (answer, answered) = oneshot::channel();
        match self.queue.try_send(Request { write, answer }) {
            Ok(()) => answered.await.unwrap_or(Err(WriteError::Ended)),
            Err(TrySendError::Full(_)) => Err(WriteError::Busy),
            Err(TrySendError::Disconnected(_)) => Err(WriteError::Ended),
        }
    }

    /// Commits a write on this thread if the writer is idle and the disk is fast; else returns it.
    fn write_as_caller(&self, write: Write) -> Result<Written, Write> {
        let Some(mut writer) = self.idle_writer() else { return Err(write) };
        Ok(writer.write(vec![write]).pop().unwrap_or(Err(WriteError::Ended)))
    }

    /// The writer, if it is idle and the disk is fast.
    fn idle_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        self.writer.try_lock().ok().filter(|writer| writer.is_fast)
    }
}

/// A write in flight.
struct InFlight<'a>(&'a AtomicUsize);

impl<'a> InFlight<'a> {
    fn count(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::AcqRel);
        Self(all)
    }

    /// True if no other write is in flight.
    fn is_alone(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Lets the other futures of this task, and other tasks, go first.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Thread of the writer.
fn run(writer: &Mutex<Writer>, requests: &Receiver<Request>) {
    while let Ok(first) = requests.recv() {
        // A writer that has panicked may have committed what is not visible.
        let Ok(mut writer) = writer.lock() else { return };
        let rest = requests.try_iter().take(writer.options.batch.saturating_sub(1));
        let batch = std::iter::once(first).chain(rest).map(|Request { write, answer }| (write, answer));
        let (writes, answers): (Vec<_>, Vec<_>) = batch.unzip();
        for (answer, written) in answers.into_iter().zip(writer.write(writes)) {
            // The caller may have been cancelled.
            let _ = answer.send(written);
        }
    }
}

/// Commits batches of writes, and makes them visible.
pub(super) struct Writer {
    pub(super) state: Arc<RwLock<State>>,
    pub(super) store: Box<dyn Store>,
    pub(super) announce: watch::Sender<Revision>,
    pub(super) options: Options,
    /// True if the last commit took at most [`MAX_CALLER_COMMIT_TIME`].
    pub(super) is_fast: bool,
}

impl Writer {
    /// Commits all writes whose precondition holds, with one sync, and returns their results in the same order.
    fn write(&mut self, writes: Vec<Write>) -> Vec<Written> {
        let (changes, mut results) = self.decide(writes);
        let Some(last) = changes.last().map(|change| change.revision) else { return results };
        let began = Instant::now();
        let committed = self.store.commit(&changes);
        self.is_fast = began.elapsed() <= MAX_CALLER_COMMIT_TIME;
        match committed {
            Ok(()) => {
                let mut state = write(&self.state);
                for change in &changes {
                    state.apply(change, self.options);
                }
                drop(state);
                self.announce.send_replace(last);
            }
            Err(error) => {
                for result in results.iter_mut().filter(|result| result.is_ok()) {
                    *result = Err(WriteError::Store(error.to_string()));
                }
            }
        }
        results
    }

    /// Changes of the writes whose precondition holds after all writes before them, and the results if these are committed.
    fn decide(&self, writes: Vec<Write>) -> (Vec<StoredChange>, Vec<Written>) {
        let state = read(&self.state);
        let mut revision = state.revision;
        let mut space = state.space.part(writes.iter().map(|write| &write.key.namespace));
        // Revision and size after the writes before.
        let mut pending: BTreeMap<Key, (Option<Revision>, usize)> = BTreeMap::new();
        let mut changes = Vec::new();
        let mut results = Vec::with_capacity(writes.len());
        for Write { key, expected, value } in writes {
            let (now, size) = pending.get(&key).copied().unwrap_or_else(|| {
                let version = state.objects.get(&key).and_then(|versions| versions.last());
                match version {
                    Some((revision, Some(value))) => (Some(*revision), object_size(Some(value))),
                    _ => (None, 0),
                }
            });
            let holds = match expected {
                Expected::Absent => now.is_none(),
                Expected::At(revision) | Expected::ToMark(revision) => now == Some(revision),
            };
            // The removal of an absent object is no change.
            if !holds || (now.is_none() && value.is_none()) {
                results.push(Err(WriteError::Conflict(now)));
                continue;
            }
            let new_size = object_size(value.as_ref());
            let is_limited = !matches!(expected, Expected::ToMark(_));
            if let Err(refused) = space.admit(&key.namespace, size, new_size, &self.options)
                && is_limited
            {
                results.push(Err(refused));
                continue;
            }
            space.replace(&key.namespace, size, new_size);
            revision = revision.next();
            pending.insert(key.clone(), (value.as_ref().map(|_| revision), new_size));
            results.push(Ok(revision));
            changes.push(StoredChange { revision, key, value });
        }
        (changes, results)
    }
}
