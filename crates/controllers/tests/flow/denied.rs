//! Writes that the API denies.

use axum::http::StatusCode;
use orchestra_testkit::{Matching, Verb};

use crate::flow::{platform::Platform, support::web_workload};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cause_of_a_denied_write_is_an_event_about_the_object_of_the_platform() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    let plan =
        Matching::any().verb(Verb::Patch).path("/apis/score.dev/v1b1/namespaces/default/workloadplans/hello");
    let denied = [1, 2].map(|nth| platform.env.faults().fail(plan.clone(), nth, StatusCode::FORBIDDEN));
    platform.controllers = Some(platform.controllers_with(platform.env.faulty_client()).await);
    platform.apply("hello", web_workload()).await;
    platform.until_ready("hello").await;
    assert!(denied.iter().all(orchestra_testkit::Fault::is_triggered));
    platform.stop_controllers().await;
    let events = platform.events_of("default", "WorkloadPlan", "hello").await;
    let texts: Vec<_> = events.iter().map(|event| (event.reason.as_deref(), event.note.as_deref())).collect();
    // The second one is the same.
    assert_eq!(texts, [(Some("PolicyViolation"), Some("injected fault"))]);
}
