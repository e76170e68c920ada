//! Recorder of Kubernetes events.
//!
//! Recording never blocks and never fails: an event that cannot be written soon is dropped. Each cause is recorded once per interval, since
//! reconciles repeat.

use std::{
    collections::{BTreeSet, VecDeque, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use orchestra_core::denial::{WriteOf, is_retried};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::engine::{backoff, shutdown::Shutdown};

/// Time for which the same event is not recorded again.
const REPEAT_INTERVAL: Duration = Duration::from_mins(10);
/// Causes that are remembered; the oldest is forgotten first.
const MAX_CAUSES: usize = 4096;
/// Events that wait to be written: more than a burst has, and less than a megabyte. Further ones are dropped.
const MAX_QUEUED_EVENTS: usize = 512;
/// Maximum length of a note in bytes, as the API limits it.
const MAX_NOTE_BYTES: usize = 1024;
/// Maximum length of the part of an event's name that comes from its object: names have up to 253 characters.
const MAX_STEM: usize = 236;
/// Attempts per event.
const MAX_ATTEMPTS: u32 = 3;
/// Timeout of an attempt, and of the queue after shutdown.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Event to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// Type of the event.
    pub severity: Severity,
    /// Machine-readable reason.
    pub reason: String,
    /// Machine-readable action.
    pub action: String,
    /// Sentence for people; truncated if too long.
    pub note: String,
}

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// All is well.
    Normal,
    /// Something needs attention.
    Warning,
}

/// Recorder of events. Clones share its queue.
#[derive(Clone, Debug)]
pub struct Recorder {
    controller: String,
    instance: String,
    events: mpsc::Sender<Queued>,
    recent: Arc<Mutex<Recent>>,
}

/// Event that waits to be written.
#[derive(Debug)]
struct Queued {
    event: Event,
    cause: u64,
    /// Causes of its recorder.
    recent: Arc<Mutex<Recent>>,
}

/// Causes recorded lately, the oldest first.
#[derive(Debug, Default)]
struct Recent {
    causes: BTreeSet<u64>,
    times: VecDeque<(Instant, u64)>,
}

impl Recorder {
    /// Starts a recorder for a controller in a process.
    pub fn start(client: Client, controller: &str, instance: &str, stop: Shutdown) -> (Self, JoinHandle<()>) {
        let (events, queue) = mpsc::channel(MAX_QUEUED_EVENTS);
        let recorder = Self {
            controller: format!("score.dev/{controller}"),
            instance: instance.to_owned(),
            events,
            recent: Arc::default(),
        };
        (recorder, tokio::spawn(write_all(client, queue, stop)))
    }

    /// Records an event about an object, unless the same was recorded lately.
    pub fn record(&self, regarding: &ObjectReference, event: NewEvent) {
        let mut hasher = DefaultHasher::new();
        (&regarding.uid, &regarding.kind, &regarding.namespace, &regarding.name).hash(&mut hasher);
        (&event.reason, &event.note).hash(&mut hasher);
        let cause = hasher.finish();
        let now = Instant::now();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.forget(now);
        if recent.causes.contains(&cause) {
            return;
        }
        let event = self.event(regarding, event);
        let queued = self.events.try_send(Queued { event, cause, recent: Arc::clone(&self.recent) });
        if queued.is_ok() {
            recent.add(now, cause);
        } else {
            tracing::debug!(controller = self.controller, "event dropped: the queue is full or closed");
        }
    }

    fn event(&self, regarding: &ObjectReference, event: NewEvent) -> Event {
        let stem = cut(regarding.name.as_deref().unwrap_or("unnamed"), MAX_STEM);
        // Events about cluster-scoped objects go to the default namespace.
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let severity = match event.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        let note = match cut(&event.note, MAX_NOTE_BYTES) {
            all if all.len() == event.note.len() => event.note,
            _ => format!("{}…", cut(&event.note, MAX_NOTE_BYTES - '…'.len_utf8())),
        };
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{stem}.{:016x}", fastrand::u64(..))),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(Timestamp::now())),
            regarding: Some(regarding.clone()),
            type_: Some(severity.to_owned()),
            reason: Some(event.reason),
            action: Some(event.action),
            note: Some(note),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            ..Event::default()
        }
    }
}

impl Recent {
    /// Drops causes older than the interval.
    fn forget(&mut self, now: Instant) {
        while let Some((_, cause)) = self.times.pop_front_if(|(at, _)| *at + REPEAT_INTERVAL <= now) {
            self.causes.remove(&cause);
        }
    }

    /// Adds a cause, and drops the oldest if there are too many.
    fn add(&mut self, now: Instant, cause: u64) {
        if self.times.len() >= MAX_CAUSES
            && let Some((_, oldest)) = self.times.pop_front()
        {
            self.causes.remove(&oldest);
        }
        self.causes.insert(cause);
        self.times.push_back((now, cause));
    }

    /// Removes a cause whose event was not written, so that its next occurrence is recorded.
    fn remove(&mut self, cause: u64) {
        self.causes.remove(&cause);
        self.times.retain(|(_, known)| *known != cause);
    }
}

/// Text of at most this many bytes, cut at a character boundary.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Writes queued events; after shutdown, the rest of the queue until the timeout.
async fn write_all(client: Client, mut queue: mpsc::Receiver<Queued>, stop: Shutdown) {
    let drain_timeout = async {
        stop.requested().await;
        sleep(REQUEST_TIMEOUT).await;
    };
    let all = async {
        loop {
            let event = tokio::select! {
                () = stop.requested(), if !queue.is_closed() => {
                    queue.close();
                    continue;
                }
                event = queue.recv() => event,
            };
            let Some(Queued { event, cause, recent }) = event else { return };
            if write(&client, &event).await == Written::GivenUp {
                recent.lock().unwrap_or_else(PoisonError::into_inner).remove(cause);
            }
        }
    };
    tokio::select! {
        () = all => {}
        () = drain_timeout => tracing::warn!("events in the queue dropped after shutdown"),
    }
}

/// Outcome of the attempts to write an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// The API has answered: it was stored, or would be rejected again.
    Answered,
    /// All attempts failed.
    GivenUp,
}

async fn write(client: &Client, event: &Event) -> Written {
    let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    for attempt in 0..MAX_ATTEMPTS {
        let answer = timeout(REQUEST_TIMEOUT, api.create(&PostParams::default(), event)).await;
        let reason = match answer {
            Ok(Ok(_)) => return Written::Answered,
            // The answer to an earlier attempt was lost.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 && attempt > 0 => {
                return Written::Answered;
            }
            Ok(Err(kube::Error::Api(status))) if !is_retried(WriteOf::Event, &status) => {
                tracing::warn!(namespace, "event rejected: {}", status.message);
                return Written::Answered;
            }
            Ok(Err(error)) => error.to_string(),
            Err(slow) => slow.to_string(),
        };
        tracing::debug!(namespace, "failed to write an event: {reason}");
        sleep(backoff::delay(attempt, fastrand::f64())).await;
    }
    tracing::warn!(namespace, "event dropped after {MAX_ATTEMPTS} attempts");
    Written::GivenUp
}
