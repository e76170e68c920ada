//! How much the controllers write and say.

use orchestra_api::{ConditionType, Reason};
use orchestra_controllers::metrics::Metrics;
use orchestra_testkit::scripted::RunScript;
use serde_json::json;

use crate::flow::{
    counting::Counter,
    observing::{web, with_database},
    platform::Platform,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_takes_at_most_eight_writes_and_two_events_to_become_ready() {
    let mut platform = Platform::start().await;
    let counter = Counter::default();
    platform.begin_with(counter.client(&platform.env), Metrics::default()).await;
    platform.idle().await;
    counter.take();
    platform.apply("hello", web()).await;
    platform.until_ready("hello").await;
    platform.idle().await;
    let writes = counter.take_writes();
    assert!(writes.len() <= 8, "{} writes: {writes:#?}", writes.len());
    platform.end().await;
    let events = platform.events_of("default", "Workload", "hello").await;
    assert!((1..=2).contains(&events.len()), "{events:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_that_is_long_on_its_way_says_so() {
    let platform = Platform::start().await;
    platform.runtime.script("default", "hello", RunScript::Start);
    platform.apply("hello", web()).await;
    platform.until_not("hello", ConditionType::Ready, Reason::RuntimeProvisioning).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_that_start_again_write_nothing_about_workloads_that_are_ready() {
    let mut platform = Platform::start().await;
    platform.policy("memory", json!({"limits": {"claims": 5}})).await;
    for n in 0..20 {
        let spec = if n % 2 == 0 { web() } else { with_database(&json!({"type": "postgres"})) };
        platform.apply(&format!("app-{n}"), spec).await;
    }
    for n in 0..20 {
        platform.until_ready(&format!("app-{n}")).await;
    }
    let policies = platform.policies();
    let counted =
        async || policies.get("memory").await.map(|policy| policy.status.is_some_and(|s| s.matched == 20));
    platform.env.eventually("all workloads are counted", counted).await;
    let counter = Counter::default();
    platform.begin_with(counter.client(&platform.env), Metrics::default()).await;
    platform.idle().await;
    // Policies are counted at leisure.
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    platform.end().await;
    let writes: Vec<_> = counter.take_writes();
    // The scripted provisioner keeps its secrets with a client of its own.
    assert_eq!(writes, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_told_once_for_each_cause() {
    let mut platform = Platform::start().await;
    let broken = RunScript::Degrade(Reason::RuntimeDegraded, "It stops again and again.".to_owned());
    platform.runtime.script("default", "hello", broken.clone());
    platform.apply("hello", web()).await;
    platform.until_not("hello", ConditionType::Ready, Reason::RuntimeDegraded).await;
    // The same again, and the same after a start.
    platform.runtime.script("default", "hello", broken);
    platform.begin().await;
    platform.idle().await;
    platform.end().await;
    let events = platform.events_of("default", "Workload", "hello").await;
    let told: Vec<_> = events.iter().filter_map(|event| event.reason.as_deref()).collect();
    assert_eq!(told, ["RuntimeDegraded"], "{events:#?}");
}
