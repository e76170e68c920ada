//! Event recorder: deduplicates, retries, and never blocks the caller.

use std::time::Duration;

use axum::http::StatusCode;
use k8s_openapi::api::{core::v1::ObjectReference, events::v1::Event};
use kube::{Api, Client, api::ListParams};
use orchestra_controllers::{
    engine::shutdown::{self, ShutdownTrigger},
    events::{NewEvent, Recorder, Severity},
};
use orchestra_testkit::{Matching, TestEnv, Verb};
use tokio::task::JoinHandle;

struct Recording {
    recorder: Recorder,
    stopper: ShutdownTrigger,
    task: JoinHandle<()>,
}

fn start(client: Client) -> Recording {
    let (stopper, stop) = shutdown::channel();
    let (recorder, task) = Recorder::start(client, "workload", "pod-1", stop);
    Recording { recorder, stopper, task }
}

impl Recording {
    fn record(&self, uid: &str, note: &str) {
        let regarding = ObjectReference {
            api_version: Some("score.dev/v1".to_owned()),
            kind: Some("Workload".to_owned()),
            namespace: Some("default".to_owned()),
            name: Some("shop".to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        };
        let event = NewEvent {
            severity: Severity::Warning,
            reason: "ResourceMissing".to_owned(),
            action: "Resolve".to_owned(),
            note: note.to_owned(),
        };
        self.recorder.record(&regarding, event);
    }

    /// Stops the recorder and returns the notes of all written events.
    async fn notes(self, env: &TestEnv) -> Vec<String> {
        self.stopper.trigger();
        self.task.await.unwrap();
        events(env).await.into_iter().filter_map(|event| event.note).collect()
    }
}

async fn events(env: &TestEnv) -> Vec<Event> {
    let events: Api<Event> = Api::namespaced(env.client(), "default");
    let mut events = events.list(&ListParams::default()).await.unwrap().items;
    events.sort_by(|a, b| a.note.cmp(&b.note));
    events
}

#[tokio::test]
async fn an_event_has_the_object_the_cause_and_the_reporter() {
    let env = TestEnv::start().await;
    let recording = start(env.client());
    recording.record("1", "the database is missing");
    recording.stopper.trigger();
    recording.task.await.unwrap();
    let event = events(&env).await.remove(0);
    assert!(event.metadata.name.unwrap().starts_with("shop."));
    assert_eq!(event.regarding.unwrap().uid.as_deref(), Some("1"));
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.reason.as_deref(), Some("ResourceMissing"));
    assert_eq!(event.action.as_deref(), Some("Resolve"));
    assert_eq!(event.note.as_deref(), Some("the database is missing"));
    assert_eq!(event.reporting_controller.as_deref(), Some("score.dev/workload"));
    assert_eq!(event.reporting_instance.as_deref(), Some("pod-1"));
}

#[tokio::test]
async fn a_repeated_event_of_an_object_is_written_once_in_ten_minutes() {
    let env = TestEnv::start().await;
    let recording = start(env.client());
    for _ in 0..50 {
        recording.record("1", "a");
    }
    recording.record("1", "b");
    recording.record("2", "a");
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(9)).await;
    recording.record("1", "a");
    tokio::time::advance(Duration::from_mins(1)).await;
    recording.record("1", "b");
    tokio::time::resume();
    assert_eq!(recording.notes(&env).await, ["a", "a", "b", "b"]);
}

#[tokio::test]
async fn a_failed_write_of_an_event_is_retried() {
    let env = TestEnv::start().await;
    let creates = Matching::any().verb(Verb::Create);
    env.faults().fail(creates.clone(), 1, StatusCode::SERVICE_UNAVAILABLE);
    env.faults().drop_answer(creates, 2);
    let recording = start(env.faulty_client());
    recording.record("1", "a");
    assert_eq!(recording.notes(&env).await, ["a"]);
}

#[tokio::test]
async fn an_event_that_could_not_be_written_is_recorded_when_it_occurs_again() {
    let env = TestEnv::start().await;
    let creates = Matching::any().verb(Verb::Create);
    for attempt in 1..=3 {
        env.faults().fail(creates.clone(), attempt, StatusCode::SERVICE_UNAVAILABLE);
    }
    let next = env.faults().hold(creates, 4);
    let recording = start(env.faulty_client());
    recording.record("1", "a");
    recording.record("2", "b");
    // Events are written in order: the first one was given up.
    next.until_triggered().await;
    recording.record("1", "a");
    next.release();
    assert_eq!(recording.notes(&env).await, ["a", "b"]);
}

#[tokio::test]
async fn a_server_that_does_not_answer_does_not_block_the_caller() {
    let env = TestEnv::start().await;
    let held = env.faults().hold(Matching::any().verb(Verb::Create), 1);
    let recording = start(env.faulty_client());
    recording.record("1", "held");
    held.until_triggered().await;
    for n in 0..2000 {
        recording.record("1", &format!("{n:04}"));
    }
    held.release();
    let notes = recording.notes(&env).await;
    assert!(
        (2..=513).contains(&notes.len()),
        "the queue is bounded, but {} events were written",
        notes.len()
    );
}

#[tokio::test]
async fn a_long_note_is_truncated_between_characters() {
    let env = TestEnv::start().await;
    let recording = start(env.client());
    recording.record("1", &"é".repeat(2000));
    let notes = recording.notes(&env).await;
    assert!(notes[0].len() <= 1024 && notes[0].ends_with("é…"), "{}", notes[0].len());
}
