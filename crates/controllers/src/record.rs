//! Tells users what happened to an object, as Kubernetes events.
//!
//! Events are a courtesy. Reporting one never waits and never fails: what cannot be written soon is dropped. And they
//! are told once per cause: reconciles repeat, and a user who reads the same line fifty times misses the one that is
//! new.

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
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::{backoff, stop::Stop};

/// How long the same is not told again.
const QUIET: Duration = Duration::from_mins(10);
/// How many causes are remembered, and how many events may wait.
const CAUSES: usize = 4096;
const WAITING: usize = 512;
/// How long a note may be, in bytes.
const NOTE: usize = 1024;
/// How long the part of an event's name may be that comes from its object: names have up to 253 characters.
const STEM: usize = 236;
/// How often an event is tried.
const TRIES: u32 = 3;
/// How long one try may take, and how long events may be written after the stop.
const PATIENCE: Duration = Duration::from_secs(5);

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How users should take it.
    pub severity: Severity,
    /// Why it happened: one word, for machines.
    pub reason: String,
    /// What was done or tried: one word, for machines.
    pub action: String,
    /// What happened, for humans. A long one is cut.
    pub note: String,
}

/// How users should take an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// All is well.
    Normal,
    /// Something needs attention.
    Warning,
}

/// Writes events. Clones write through the same queue.
#[derive(Clone, Debug)]
pub struct Recorder {
    controller: String,
    instance: String,
    events: mpsc::Sender<Event>,
    told: Arc<Mutex<Told>>,
}

/// The causes that were told, the oldest first.
#[derive(Debug, Default)]
struct Told {
    causes: BTreeSet<u64>,
    times: VecDeque<(Instant, u64)>,
}

impl Recorder {
    /// Starts to write the events of a controller; the instance tells which process it runs in.
    pub fn start(client: Client, controller: &str, instance: &str, stop: Stop) -> (Self, JoinHandle<()>) {
        let (events, queue) = mpsc::channel(WAITING);
        let recorder = Self {
            controller: format!("score.dev/{controller}"),
            instance: instance.to_owned(),
            events,
            told: Arc::default(),
        };
        (recorder, tokio::spawn(write_all(client, queue, stop)))
    }

    /// Reports what happened to an object, unless the same was reported lately.
    pub fn record(&self, regarding: &ObjectReference, report: Report) {
        let mut hasher = DefaultHasher::new();
        (&regarding.uid, &regarding.kind, &regarding.namespace, &regarding.name).hash(&mut hasher);
        (&report.reason, &report.note).hash(&mut hasher);
        let cause = hasher.finish();
        let now = Instant::now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.forget(now);
        if told.causes.contains(&cause) {
            return;
        }
        match self.events.try_send(self.event(regarding, report)) {
            Ok(()) => told.add(now, cause),
            Err(error) => tracing::debug!(controller = self.controller, "an event is dropped: {error}"),
        }
    }

    fn event(&self, regarding: &ObjectReference, report: Report) -> Event {
        let stem = cut(regarding.name.as_deref().unwrap_or("unnamed"), STEM);
        // Events about what has no namespace go where users look first.
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let severity = match report.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        let note = match cut(&report.note, NOTE) {
            all if all.len() == report.note.len() => report.note,
            _ => format!("{}…", cut(&report.note, NOTE - '…'.len_utf8())),
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
            reason: Some(report.reason),
            action: Some(report.action),
            note: Some(note),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            ..Event::default()
        }
    }
}

impl Told {
    /// Forgets what was told long ago.
    fn forget(&mut self, now: Instant) {
        while let Some((_, cause)) = self.times.pop_front_if(|(at, _)| *at + QUIET <= now) {
            self.causes.remove(&cause);
        }
    }

    /// Remembers a cause, and forgets the oldest if there are too many.
    fn add(&mut self, now: Instant, cause: u64) {
        if self.times.len() >= CAUSES
            && let Some((_, oldest)) = self.times.pop_front()
        {
            self.causes.remove(&oldest);
        }
        self.causes.insert(cause);
        self.times.push_back((now, cause));
    }
}

/// The text up to so many bytes, without half a character.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Writes what is queued; after the stop, what still waits, for a while.
async fn write_all(client: Client, mut queue: mpsc::Receiver<Event>, stop: Stop) {
    let patience = async {
        stop.requested().await;
        sleep(PATIENCE).await;
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
            let Some(event) = event else { return };
            write(&client, &event).await;
        }
    };
    tokio::select! {
        () = all => {}
        () = patience => tracing::warn!("events that still waited after the stop are dropped"),
    }
}

async fn write(client: &Client, event: &Event) {
    let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    for tried in 0..TRIES {
        let answer = timeout(PATIENCE, api.create(&PostParams::default(), event)).await;
        let reason = match answer {
            Ok(Ok(_)) => return,
            // The answer to an earlier try was lost.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 && tried > 0 => return,
            Ok(Err(kube::Error::Api(status))) if (400..500).contains(&status.code) && status.code != 429 => {
                tracing::warn!(namespace, "an event was refused: {}", status.message);
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(slow) => slow.to_string(),
        };
        tracing::debug!(namespace, "failed to write an event: {reason}");
        sleep(backoff::delay(tried, fastrand::f64())).await;
    }
    tracing::warn!(namespace, "an event is dropped after {TRIES} tries");
}
