//! Queue and writer of the audit log.
//!
//! A line waits for room in the queue for a moment at most. A destination that fails, such as a full disk, does not stop
//! the platform: the lines are dropped, counted, reported in the log of the platform, and by an event in the audit log as soon
//! as it can be written again.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::{
    sync::{
        mpsc::{Receiver, Sender, channel, error::TrySendError},
        oneshot,
    },
    time::timeout,
};

use super::{
    Scope, event,
    file::{FileOptions, RotatedFile, Sink, Stdout},
};
use crate::clock::Clock;

/// Lines in the queue.
const QUEUE: usize = 4096;
/// Bytes that are written at a time, unless a single line is longer.
const BATCH_BYTES: usize = 256 * 1024;
/// Time that a line waits for others: a write, and waking up the thread, would cost more than making the line.
const BATCH_DELAY: Duration = Duration::from_millis(2);
/// Time that a request waits for room in the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time that a shutdown waits for the queue.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Audit log. Clones share it; the last one ends the writer once the queue is empty.
#[derive(Clone, Debug, Default)]
pub struct AuditLog(Option<Arc<Shared>>);

struct Shared {
    scope: Scope,
    queue: Sender<Message>,
    counts: Arc<Counts>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("scope", &self.scope)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

enum Message {
    Line(Vec<u8>),
    /// Answered when all lines before it are written or lost.
    Flush(oneshot::Sender<()>),
}

#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    lost: AtomicU64,
    /// Lost events that no event in the log reports so far.
    unreported: AtomicU64,
    /// A line has waited in vain: the next ones do not wait until there is room.
    is_stalled: AtomicBool,
}

impl Counts {
    fn lose(&self, events: u64) {
        self.lost.fetch_add(events, Ordering::Relaxed);
        self.unreported.fetch_add(events, Ordering::Relaxed);
    }
}

/// Numbers of events since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditCounts {
    /// Events in the log.
    pub written: u64,
    /// Events that could not be written.
    pub lost: u64,
}

impl AuditLog {
    /// No log.
    pub fn off() -> Self {
        Self(None)
    }

    /// Log in a file, which is opened or created.
    pub fn to_file(options: FileOptions, scope: Scope) -> io::Result<Self> {
        Self::to(RotatedFile::open(options)?, scope)
    }

    /// Log on standard output.
    pub fn to_stdout(scope: Scope) -> io::Result<Self> {
        Self::to(Stdout, scope)
    }

    pub(super) fn to(sink: impl Sink, scope: Scope) -> io::Result<Self> {
        let (queue, messages) = channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let writer = Writer { sink, counts: Arc::clone(&counts), clock: Clock::system(), is_failing: false };
        thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(messages))?;
        Ok(Self(Some(Arc::new(Shared { scope, queue, counts }))))
    }

    /// Numbers of events.
    pub fn counts(&self) -> AuditCounts {
        let read = |shared: &Arc<Shared>| AuditCounts {
            written: shared.counts.written.load(Ordering::Relaxed),
            lost: shared.counts.lost.load(Ordering::Relaxed),
        };
        self.0.as_ref().map(read).unwrap_or_default()
    }

    /// Waits until the events so far are written, but not for a destination that hangs.
    pub async fn flush(&self) {
        let Some(shared) = &self.0 else { return };
        let (done, is_done) = oneshot::channel();
        let _ = timeout(FLUSH_TIMEOUT, async {
            // Errors mean that the writer has ended.
            if shared.queue.send(Message::Flush(done)).await.is_ok() {
                let _ = is_done.await;
            }
        })
        .await;
    }

    /// Recorded requests; `None` without a log.
    pub(super) fn scope(&self) -> Option<Scope> {
        self.0.as_ref().map(|shared| shared.scope)
    }

    /// Queues a line, and waits for room a moment. Cancel safe: a line is queued, lost and counted, or neither.
    pub(super) async fn send(&self, line: Vec<u8>) {
        let Some(shared) = &self.0 else { return };
        if shared.counts.is_stalled.load(Ordering::Relaxed) {
            self.try_send(line);
            return;
        }
        match timeout(QUEUE_TIMEOUT, shared.queue.reserve()).await {
            Ok(Ok(room)) => room.send(Message::Line(line)),
            Ok(Err(_)) => shared.counts.lose(1),
            Err(_) => {
                shared.counts.is_stalled.store(true, Ordering::Relaxed);
                shared.counts.lose(1);
                tracing::error!("the audit log hangs: events are lost until it is written again");
            }
        }
    }

    /// Queues a line if there is room.
    pub(super) fn try_send(&self, line: Vec<u8>) {
        let Some(Shared { queue, counts, .. }) = self.0.as_deref() else { return };
        match queue.try_send(Message::Line(line)) {
            Ok(()) => counts.is_stalled.store(false, Ordering::Relaxed),
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => counts.lose(1),
        }
    }
}

struct Writer<S> {
    sink: S,
    counts: Arc<Counts>,
    clock: Clock,
    is_failing: bool,
}

impl<S: Sink> Writer<S> {
    fn run(mut self, mut messages: Receiver<Message>) {
        while let Some(first) = messages.blocking_recv() {
            if matches!(first, Message::Line(_)) {
                thread::sleep(BATCH_DELAY);
            }
            let (mut batch, mut flushed) = (Vec::new(), Vec::new());
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Line(line) if batch.is_empty() => batch = line,
                    Message::Line(line) => batch.extend_from_slice(&line),
                    Message::Flush(done) => flushed.push(done),
                }
                next = if batch.len() < BATCH_BYTES { messages.try_recv().ok() } else { None };
            }
            self.report_loss();
            if !batch.is_empty() {
                self.write(&batch);
            }
            for done in flushed {
                // Nobody waits any more.
                let _ = done.send(());
            }
        }
    }

    /// Writes the number of lost events, so that the log itself shows that it has a gap.
    fn report_loss(&mut self) {
        let lost = self.counts.unreported.swap(0, Ordering::Relaxed);
        if lost == 0 {
            return;
        }
        let written = self.sink.write(&event::loss(&self.clock, lost));
        if let Err((_, error)) = written {
            self.counts.unreported.fetch_add(lost, Ordering::Relaxed);
            self.failed(&error);
        } else {
            self.is_failing = false;
            tracing::warn!("the audit log is written again; {lost} events are missing in it");
        }
    }

    fn write(&mut self, lines: &[u8]) {
        let count = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').skip(1).count() as u64;
        let all = count(lines);
        let written = match self.sink.write(lines) {
            Ok(()) => {
                self.is_failing = false;
                all
            }
            Err((bytes, error)) => {
                self.failed(&error);
                count(&lines[..bytes.min(lines.len())])
            }
        };
        self.counts.written.fetch_add(written, Ordering::Relaxed);
        if written < all {
            self.counts.lose(all - written);
        }
    }

    /// Reports the first of several failures.
    fn failed(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.is_failing, true) {
            tracing::error!(
                "failed to write the audit log: {error}; events are lost until it can be written"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::Value;

    use super::*;

    /// Destination that is full after some bytes, or hangs.
    #[derive(Clone, Default)]
    struct Disk {
        room: Arc<Mutex<usize>>,
        lines: Arc<Mutex<Vec<u8>>>,
        /// It hangs until the other half is dropped.
        gate: Arc<Mutex<Option<std::sync::mpsc::Receiver<()>>>>,
    }

    impl Disk {
        fn with_room(bytes: usize) -> Self {
            Self { room: Arc::new(Mutex::new(bytes)), ..Self::default() }
        }

        fn text(&self) -> String {
            String::from_utf8(self.lines.lock().unwrap().clone()).unwrap()
        }
    }

    impl Sink for Disk {
        fn write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
            if let Some(gate) = self.gate.lock().unwrap().take() {
                let _ = gate.recv();
            }
            let mut room = self.room.lock().unwrap();
            let bytes = lines.len().min(*room);
            *room -= bytes;
            self.lines.lock().unwrap().extend_from_slice(&lines[..bytes]);
            if bytes < lines.len() { Err((bytes, io::ErrorKind::StorageFull.into())) } else { Ok(()) }
        }
    }

    #[tokio::test]
    async fn a_full_disk_loses_events_and_the_log_says_so_once_it_has_space_again() {
        let disk = Disk::with_room(7);
        let log = AuditLog::to(disk.clone(), Scope::Changes).unwrap();
        for _ in 0..3 {
            log.send(b"line\n".to_vec()).await;
            log.flush().await;
        }
        assert_eq!(log.counts(), AuditCounts { written: 1, lost: 2 });
        *disk.room.lock().unwrap() = usize::MAX;
        log.send(b"last\n".to_vec()).await;
        log.flush().await;
        assert_eq!(log.counts(), AuditCounts { written: 2, lost: 2 });
        let text = disk.text();
        let lines: Vec<&str> = text.lines().collect();
        let report = lines[1].trim_start_matches("li");
        let report: Value = serde_json::from_str(report).unwrap();
        assert_eq!(report["annotations"]["orchestra/lost-events"], "2");
        assert_eq!(lines[2..], ["last"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_destination_that_hangs_delays_one_request_and_loses_the_others() {
        let disk = Disk::with_room(usize::MAX);
        let log = AuditLog::to(disk.clone(), Scope::Changes).unwrap();
        let (hanging, gate) = std::sync::mpsc::channel();
        *disk.gate.lock().unwrap() = Some(gate);
        // The queue, and what the writer has taken from it.
        let mut sent = 0_u64;
        while log.counts().lost == 0 {
            log.send(b"line\n".to_vec()).await;
            sent += 1;
        }
        let before = tokio::time::Instant::now();
        for _ in 0..100 {
            log.send(b"line\n".to_vec()).await;
            sent += 1;
        }
        assert_eq!(before.elapsed(), Duration::ZERO, "only the first one waits");
        drop(hanging);
        // The writer is a thread, for which the paused time does not wait.
        tokio::time::resume();
        log.flush().await;
        let AuditCounts { written, lost } = log.counts();
        assert_eq!(written + lost, sent);
        assert_eq!(disk.text().lines().filter(|line| *line == "line").count() as u64, written);
        log.send(b"line\n".to_vec()).await;
        log.flush().await;
        assert!(disk.text().contains(&format!("\"orchestra/lost-events\":\"{lost}\"")));
    }
}
