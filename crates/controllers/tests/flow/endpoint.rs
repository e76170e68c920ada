//! The one address that users see.

use kube::api::{DeleteParams, Patch, PatchParams};
use orchestra_api::Workload;
use orchestra_testkit::scripted::RunScript;
use serde_json::json;

use crate::flow::{observing::web, platform::Platform};

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
async fn an_address_is_mirrored_and_kept_until_the_runtime_withdraws_it() {
    let mut platform = Platform::start().await;
    let published = Some("http://shop.default.example.test");
    platform.apply("shop", web()).await;
    platform.until_ready("shop").await;
    until_endpoint(&platform, "shop", published).await;
    // An address that is none changes nothing; while nobody is at work, another writes what he likes.
    platform.end().await;
    let exposures = platform.exposures();
    let exposure = exposures.get("shop").await.unwrap();
    platform
        .say(&exposures, &exposure, json!({"exposures": [{"url": "not an address", "priority": 9}]}))
        .await;
    platform.runtime.script("default", "shop", RunScript::Start);
    platform.begin().await;
    // The runtime says that nothing is published while it starts again: that is a withdrawal.
    until_endpoint(&platform, "shop", None).await;
    platform.runtime.script("default", "shop", RunScript::Run);
    until_endpoint(&platform, "shop", published).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_without_ports_is_ready_without_an_address() {
    let platform = Platform::start().await;
    platform.apply("worker", json!({"containers": {"app": {"image": "nginx"}}})).await;
    let workload = platform.until_ready("worker").await;
    assert_eq!(workload.status.unwrap().endpoint, None);
    let mut spec = web();
    spec["service"]["ports"] = json!({"metrics": {"port": 9090}});
    platform.apply("worker", spec).await;
    let workload = platform.until_ready("worker").await;
    assert_eq!(workload.status.unwrap().endpoint, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_of_an_earlier_workload_of_the_name_is_not_shown() {
    let mut platform = Platform::start().await;
    platform.end().await;
    let object = json!({
        "apiVersion": "score.dev/v1b1", "kind": "WorkloadExposure", "metadata": {"name": "shop"},
        "spec": {"workloadRef": {"name": "shop", "uid": "of-another"}, "runtimeClass": "scripted", "observedWorkloadGeneration": 1},
    });
    let exposures = platform.exposures();
    let foreign = exposures.patch("shop", &PatchParams::apply("x"), &Patch::Apply(object)).await.unwrap();
    platform
        .say(&exposures, &foreign, json!({"exposures": [{"url": "http://of-another", "priority": 1}]}))
        .await;
    platform.begin().await;
    platform.apply("shop", web()).await;
    let type_ = orchestra_api::ConditionType::RuntimeReady;
    let message = platform.until_not("shop", type_, orchestra_api::Reason::RuntimeProvisioning).await;
    assert!(message.contains("earlier workload"), "{message}");
    until_endpoint(&platform, "shop", None).await;
    // Once it is gone, the way is free.
    exposures.delete("shop", &DeleteParams::default()).await.unwrap();
    platform.until_ready("shop").await;
    until_endpoint(&platform, "shop", Some("http://shop.default.example.test")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_a_workload_has_one_writer() {
    let platform = Platform::start().await;
    platform.apply("shop", web()).await;
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
