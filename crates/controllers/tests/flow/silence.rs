//! A new plan tells by itself what is made for it, until its runtime has said something.

use kube::api::DeleteParams;
use orchestra_controllers::{Controllers, Options};
use orchestra_testkit::{Fault, Matching};
use serde_json::json;

use crate::flow::platform::Platform;

/// A platform whose runtime has made something, of which it cannot say anything yet.
async fn silenced() -> (Platform, Fault) {
    let mut platform = Platform::start().await;
    platform.end().await;
    let saying = Matching::any().path("/apis/score.dev/v1b1/namespaces/*/workloadplans/*/status");
    let held = platform.env.faults().hold(saying, 1);
    platform.controllers = Some(platform.controllers_with(platform.env.faulty_client()).await);
    platform
        .apply("shop", json!({"containers": {"app": {"image": "nginx"}, "helper": {"image": "nginx"}}}))
        .await;
    held.strikes().await;
    assert!(platform.runtime.running("default", "shop").is_some());
    assert_eq!(platform.plans().get("shop").await.unwrap().status, None);
    (platform, held)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_of_which_nothing_was_said_changes_only_when_something_was() {
    let (platform, held) = silenced().await;
    platform.apply("shop", json!({"containers": {"app": {"image": "nginx"}}})).await;
    let is_looked_at = async || {
        let status = platform.workloads().get("shop").await.unwrap().status;
        status.is_some_and(|status| status.observed_generation == Some(2))
    };
    platform.env.eventually("the edit is looked at", is_looked_at).await;
    assert_eq!(platform.plans().get("shop").await.unwrap().metadata.generation, Some(1));
    held.release();
    let noted = async || {
        let status = platform.plans().get("shop").await.unwrap().status.unwrap_or_default();
        status.inventory.into_iter().map(|item| item.name).collect::<Vec<_>>()
    };
    platform.env.eventually("the edit is carried out", async || noted().await == ["app", "shop"]).await;
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_runtime_that_is_absent_may_have_made_is_held_until_it_is_back() {
    let (mut platform, _held) = silenced().await;
    platform.controllers.take().unwrap().abort();
    platform.delete("shop").await;
    let without = Options { runtimes: Vec::new(), ..platform.options() };
    platform.controllers = Some(Controllers::start(platform.env.client(), without).await.unwrap());
    let waits = async || {
        let conditions =
            platform.workloads().get("shop").await.unwrap().status.unwrap_or_default().conditions;
        conditions.iter().any(|condition| condition.message.contains("the runtime `scripted` to stop it"))
    };
    platform.env.eventually("it is said what is waited for", waits).await;
    platform.begin().await;
    platform.until_gone("shop").await;
    assert!(platform.runtime.all().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_made_before_anything_was_said_is_taken_down_by_the_next_process() {
    let (mut platform, _held) = silenced().await;
    platform.controllers.take().unwrap().abort();
    platform.delete("shop").await;
    // The next process finds it on its way out, and has nothing to start any more.
    platform.plans().delete("shop", &DeleteParams::default()).await.unwrap();
    platform.begin().await;
    platform.until_gone("shop").await;
    assert!(platform.runtime.all().is_empty());
}
