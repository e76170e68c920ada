//! Endpoint in the status of a Workload.

use axum::http::StatusCode;
use kube::api::{DeleteParams, Patch, PatchParams};
use orchestra_api::Workload;
use orchestra_testkit::{Matching, Verb, scripted::RunScript};
use serde_json::json;

use crate::flow::{platform::Platform, support::web_workload};

async fn until_endpoint(platform: &Platform, name: &str, expected: Option<&str>) -> Workload {
    let workloads = platform.workloads();
    platform
        .env
        .eventually(format!("the endpoint of {name} is {expected:?}"), async || {
            let workload = workloads.get(name).await.unwrap();
            let endpoint = workload.status.as_ref().and_then(|status| status.endpoint.clone());
            if endpoint.as_deref() == expected { Ok(Some(workload)) } else { Err(format!("{endpoint:?}")) }
        })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_is_kept_until_the_runtime_withdraws_it() {
    let mut platform = Platform::start().await;
    let published = Some("http://shop.default.example.test");
    platform.apply("shop", web_workload()).await;
    platform.until_ready("shop").await;
    until_endpoint(&platform, "shop", published).await;
    // An invalid address, written while the controllers are stopped, is ignored.
    platform.stop_controllers().await;
    let exposures = platform.exposures();
    let exposure = exposures.get("shop").await.unwrap();
    platform
        .write_status(&exposures, &exposure, json!({"exposures": [{"url": "not an address", "priority": 9}]}))
        .await;
    platform.runtime.script("default", "shop", RunScript::Start);
    platform.start_controllers().await;
    // A starting runtime publishes no address, which withdraws the previous one.
    until_endpoint(&platform, "shop", None).await;
    platform.runtime.script("default", "shop", RunScript::Run);
    until_endpoint(&platform, "shop", published).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_of_a_workload_that_keeps_starting_is_shown() {
    let platform = Platform::start().await;
    platform.runtime.script("default", "shop", RunScript::Start);
    platform.apply("shop", web_workload()).await;
    let type_ = orchestra_api::ConditionType::RuntimeReady;
    platform.until_false("shop", type_, orchestra_api::Reason::RuntimeProvisioning).await;
    until_endpoint(&platform, "shop", None).await;
    platform.runtime.script("default", "shop", RunScript::StartReachable);
    until_endpoint(&platform, "shop", Some("http://shop.default.example.test")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exposure_that_is_created_while_the_plan_is_being_run_gets_its_address() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    let path = |resource: &str| format!("/apis/score.dev/*/namespaces/default/{resource}/shop");
    let writes = |resource: &str| Matching::any().verb(Verb::Patch).path(&path(resource));
    let faults = platform.env.faults();
    let denied = faults.fail(writes("workloadexposures"), 1, StatusCode::FORBIDDEN);
    // The workload controller writes the plan, then the plan controller adds its finalizer.
    let held = faults.hold(writes("workloadplans"), 2);
    platform.controllers = Some(platform.controllers_with(platform.env.faulty_client()).await);
    platform.apply("shop", web_workload()).await;
    held.until_triggered().await;
    assert!(denied.is_triggered());
    let exposures = platform.exposures();
    platform.env.eventually("the exposure exists", async || exposures.get("shop").await.is_ok()).await;
    held.release();
    platform.until_ready("shop").await;
    until_endpoint(&platform, "shop", Some("http://shop.default.example.test")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_without_ports_is_ready_without_an_endpoint() {
    let platform = Platform::start().await;
    platform.apply("worker", json!({"containers": {"app": {"image": "nginx"}}})).await;
    let workload = platform.until_ready("worker").await;
    assert_eq!(workload.status.unwrap().endpoint, None);
    let mut spec = web_workload();
    spec["service"]["ports"] = json!({"metrics": {"port": 9090}});
    platform.apply("worker", spec).await;
    let workload = platform.until_ready("worker").await;
    assert_eq!(workload.status.unwrap().endpoint, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_exposure_of_an_earlier_workload_of_the_same_name_is_ignored() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    let object = json!({
        "apiVersion": "score.dev/v1b1", "kind": "WorkloadExposure", "metadata": {"name": "shop"},
        "spec": {"workloadRef": {"name": "shop", "uid": "of-another"}, "runtimeClass": "scripted", "observedWorkloadGeneration": 1},
    });
    let exposures = platform.exposures();
    let foreign = exposures.patch("shop", &PatchParams::apply("x"), &Patch::Apply(object)).await.unwrap();
    platform
        .write_status(
            &exposures,
            &foreign,
            json!({"exposures": [{"url": "http://of-another", "priority": 1}]}),
        )
        .await;
    platform.start_controllers().await;
    platform.apply("shop", web_workload()).await;
    let type_ = orchestra_api::ConditionType::RuntimeReady;
    let message = platform.until_false("shop", type_, orchestra_api::Reason::RuntimeProvisioning).await;
    assert!(message.contains("earlier workload"), "{message}");
    until_endpoint(&platform, "shop", None).await;
    // Its deletion unblocks the new workload.
    exposures.delete("shop", &DeleteParams::default()).await.unwrap();
    platform.until_ready("shop").await;
    until_endpoint(&platform, "shop", Some("http://shop.default.example.test")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_a_workload_has_one_writer() {
    let platform = Platform::start().await;
    platform.apply("shop", web_workload()).await;
    platform.until_ready("shop").await;
    let workload = platform.workloads().get("shop").await.unwrap();
    let fields = workload.metadata.managed_fields.unwrap_or_default();
    let writers: Vec<_> = fields
        .iter()
        .filter(|entry| entry.subresource.is_some())
        .filter_map(|entry| entry.manager.as_deref())
        .collect();
    assert_eq!(writers, ["score.dev/workload"]);
}
