//! First inventory of a plan, recorded with the finalizer before the first status.

use kube::api::DeleteParams;
use orchestra_controllers::{Controllers, Options};
use orchestra_testkit::{Fault, Matching};
use serde_json::json;

use crate::flow::platform::Platform;

/// Platform whose runtime has applied a plan, while the first status of the plan is held back.
async fn stopped_before_first_status() -> (Platform, Fault) {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    let status = Matching::any().path("/apis/score.dev/v1b1/namespaces/*/workloadplans/*/status");
    let held = platform.env.faults().hold(status, 1);
    platform.controllers = Some(platform.controllers_with(platform.env.faulty_client()).await);
    platform
        .apply("shop", json!({"containers": {"app": {"image": "nginx"}, "helper": {"image": "nginx"}}}))
        .await;
    held.until_triggered().await;
    assert!(platform.runtime.running("default", "shop").is_some());
    assert_eq!(platform.plans().get("shop").await.unwrap().status, None);
    (platform, held)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_changes_before_its_first_status_keeps_its_inventory() {
    let (platform, held) = stopped_before_first_status().await;
    platform.apply("shop", json!({"containers": {"app": {"image": "nginx"}}})).await;
    let generation = async || platform.plans().get("shop").await.unwrap().metadata.generation == Some(2);
    platform.env.eventually("the plan is changed", generation).await;
    held.release();
    // Objects of the first revision are pruned once the second is ready.
    let recorded = async || {
        let status = platform.plans().get("shop").await.unwrap().status.unwrap_or_default();
        status.inventory.into_iter().map(|item| item.name).collect::<Vec<_>>()
    };
    platform.until_ready("shop").await;
    platform.env.eventually("the helper is removed", async || recorded().await == ["app", "shop"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_whose_runtime_is_missing_keeps_its_finalizer_until_the_runtime_is_back() {
    let (mut platform, _held) = stopped_before_first_status().await;
    platform.controllers.take().unwrap().abort();
    platform.delete("shop").await;
    let without = Options { runtimes: Vec::new(), ..platform.options() };
    platform.controllers = Some(Controllers::start(platform.env.client(), without).await.unwrap());
    let waits = async || {
        let conditions =
            platform.workloads().get("shop").await.unwrap().status.unwrap_or_default().conditions;
        conditions.iter().any(|condition| condition.message.contains("the runtime `scripted` to stop it"))
    };
    platform.env.eventually("the status names the missing runtime", waits).await;
    platform.start_controllers().await;
    platform.until_gone("shop").await;
    assert!(platform.runtime.all().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_made_before_the_first_status_are_removed_by_the_next_process() {
    let (mut platform, _held) = stopped_before_first_status().await;
    platform.controllers.take().unwrap().abort();
    platform.delete("shop").await;
    // The next process finds the plan terminating, and starts nothing.
    platform.plans().delete("shop", &DeleteParams::default()).await.unwrap();
    platform.start_controllers().await;
    platform.until_gone("shop").await;
    assert!(platform.runtime.all().is_empty());
}
