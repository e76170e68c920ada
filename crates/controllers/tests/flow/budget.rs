//! Number of writes and events of the controllers.

use orchestra_api::{ConditionType, Reason};
use orchestra_controllers::metrics::Metrics;
use orchestra_testkit::scripted::RunScript;
use serde_json::json;

use crate::flow::{
    counting::Counter,
    platform::Platform,
    support::{db_workload, web_workload},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_takes_at_most_nine_writes_and_two_events_to_become_ready() {
    let mut platform = Platform::start().await;
    let counter = Counter::default();
    platform.start_controllers_with(counter.client(&platform.env), Metrics::default()).await;
    platform.idle().await;
    counter.take();
    platform.apply("hello", web_workload()).await;
    platform.until_ready("hello").await;
    platform.idle().await;
    let writes = counter.take_writes();
    assert!(writes.len() <= 9, "{} writes: {writes:#?}", writes.len());
    platform.stop_controllers().await;
    let events = platform.events_of("default", "Workload", "hello").await;
    assert!((1..=2).contains(&events.len()), "{events:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_that_starts_slowly_reports_provisioning() {
    let platform = Platform::start().await;
    platform.runtime.script("default", "hello", RunScript::Start);
    platform.apply("hello", web_workload()).await;
    platform.until_false("hello", ConditionType::Ready, Reason::RuntimeProvisioning).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_controllers_write_nothing_about_ready_workloads() {
    let mut platform = Platform::start().await;
    platform.policy("memory", json!({"limits": {"claims": 5}})).await;
    for n in 0..20 {
        let spec = if n % 2 == 0 { web_workload() } else { db_workload(&json!({"type": "postgres"})) };
        platform.apply(&format!("app-{n}"), spec).await;
    }
    for n in 0..20 {
        platform.until_ready(&format!("app-{n}")).await;
    }
    let policies = platform.policies();
    let counted =
        async || policies.get("memory").await.map(|policy| policy.status.is_some_and(|s| s.matched == 20));
    platform.env.eventually("all workloads are counted", counted).await;
    let (counter, metrics) = (Counter::default(), Metrics::default());
    platform.start_controllers_with(counter.client(&platform.env), metrics.clone()).await;
    platform.idle().await;
    // `idle` does not wait for the policy controller. It counts once at startup, when all caches are synced.
    let counted = async || {
        let text = metrics.encode();
        if text.contains(r#"orchestra_reconcile_total{controller="policy",result="ok"}"#) {
            Ok(true)
        } else {
            Err(text)
        }
    };
    platform.env.eventually("the policy controller has reconciled", counted).await;
    platform.stop_controllers().await;
    // The scripted provisioner writes Secrets through its own client, which is not counted.
    assert_eq!(counter.take_writes(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_recorded_once_per_cause() {
    let mut platform = Platform::start().await;
    let broken = RunScript::Degrade(Reason::RuntimeDegraded, "It stops again and again.".to_owned());
    platform.runtime.script("default", "hello", broken.clone());
    platform.apply("hello", web_workload()).await;
    platform.until_false("hello", ConditionType::Ready, Reason::RuntimeDegraded).await;
    // The same failure again, also after a restart.
    platform.runtime.script("default", "hello", broken);
    platform.start_controllers().await;
    platform.idle().await;
    platform.stop_controllers().await;
    let events = platform.events_of("default", "Workload", "hello").await;
    let reasons: Vec<_> = events.iter().filter_map(|event| event.reason.as_deref()).collect();
    assert_eq!(reasons, ["RuntimeDegraded"], "{events:#?}");
}
