//! Observations. The tests write the status themselves, and skip on clusters whose controllers write it.

use std::time::Duration;

use futures_util::StreamExt as _;
use kube::{api::PostParams, core::DynamicObject};
use orchestra_api::{
    Reason,
    plan::{Phase, Probe, SUSPENDED},
};
use orchestra_drivers::{Observation, Runtime as _};
use serde_json::json;

use crate::kubernetes::support::{Fixture, with_secret};

/// Status of a Deployment whose replicas are all available.
fn available(generation: i64, count: u32) -> serde_json::Value {
    json!({"observedGeneration": generation, "replicas": count, "updatedReplicas": count,
        "readyReplicas": count, "availableReplicas": count})
}

/// True if an address is reachable. Core publishes addresses once one is.
fn is_reachable(seen: &Observation) -> bool {
    seen.exposures.iter().any(|exposure| exposure.reachable == Some(true))
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_plan_is_ready_when_its_revision_is_rolled_out() {
    let Some(fixture) = Fixture::without_controllers().await else { return };
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let seen = fixture.observe(&target).await;
    assert_eq!(
        (seen.phase, seen.reason, seen.message.as_deref()),
        (Phase::Provisioning, Some(Reason::RuntimeProvisioning), None)
    );
    assert!(!is_reachable(&seen), "{:?}", seen.exposures);
    fixture.write_status(available(1, 1)).await;
    let seen = fixture.observe_until(&target, Phase::Ready).await;
    assert_eq!(seen.revision.as_deref(), Some("r1"));
    let urls: Vec<_> =
        seen.exposures.iter().map(|exposure| (exposure.url.clone(), exposure.reachable)).collect();
    assert_eq!(urls, [(format!("http://hello.{}.svc.cluster.local", fixture.namespace), Some(true))]);
    // The readiness of the previous revision does not count for the next one.
    let next = fixture.target("r2");
    fixture.apply(&next).await.unwrap();
    let seen = fixture.observe(&next).await;
    assert_eq!((seen.phase, seen.revision.as_deref()), (Phase::Provisioning, Some("r2")));
    assert_eq!(seen.exposures.len(), 1);
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_change_in_the_cluster_is_notified() {
    let Some(fixture) = Fixture::without_controllers().await else { return };
    let mut changes = fixture.runtime.changes();
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    fixture.write_status(available(1, 1)).await;
    // Other Workloads are notified, too: the whole cluster is watched.
    let hello = (fixture.namespace.clone(), "hello".to_owned());
    loop {
        let changed = tokio::time::timeout(Duration::from_secs(20), changes.next()).await.unwrap();
        if changed.as_ref() == Some(&hello) && fixture.observe(&target).await.phase == Phase::Ready {
            break;
        }
    }
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_problem_of_a_pod_is_reported_from_its_status_or_its_events() {
    let Some(fixture) = Fixture::without_controllers().await else { return };
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let pod = create_pod(&fixture).await;
    let event = json!({"reason": "FailedMount", "lastTimestamp": "2026-11-16T21:00:00Z",
        "message": "MountVolume.SetUp failed for volume \"v\" : secret \"gone\" not found"});
    create_event(&fixture, &pod, event).await;
    let seen = fixture.observe_until(&target, Phase::Degraded).await;
    assert_eq!(seen.message.as_deref(), Some("A mount is missing: secret `gone` not found."));
    let status = json!({"status": {"phase": "Pending", "containerStatuses": [{"name": "web", "ready": false,
        "restartCount": 0, "image": "x", "imageID": "", "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]}});
    let pods = fixture.api("v1", "Pod");
    pods.patch_status("hello-1", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(status))
        .await
        .unwrap();
    fixture
        .until(async || {
            let seen = fixture.observe(&target).await.message.unwrap_or_default();
            seen.contains("The image of `web` cannot be pulled").then_some(())
        })
        .await;
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn the_output_of_a_failing_probe_is_reported_without_secrets() {
    let Some(fixture) = Fixture::without_controllers().await else { return };
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
        "stringData": {"password": "pa55"}});
    let secrets = fixture.api("v1", "Secret");
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let mut target = fixture.target("r1");
    let web = target.plan.containers.get_mut("web").unwrap();
    web.variables.insert("DSN".to_owned(), with_secret("db://u:", "db", "password"));
    fixture.apply(&target).await.unwrap();
    let pod = create_pod(&fixture).await;
    let failed = |text: &str, first: &str, last: &str| {
        json!({"reason": "Unhealthy", "message": format!("Readiness probe failed: {text}\n"),
            "firstTimestamp": first, "lastTimestamp": last})
    };
    let found = "its command failed: `no db://u:***`.";
    create_event(&fixture, &pod, failed("no db://u:pa55", "2026-11-16T21:00:00Z", "2026-11-16T21:00:10Z"))
        .await;
    let awaited = format!("Not ready: the readiness probe of `web` has not succeeded yet: {found}");
    fixture
        .until(async || (fixture.observe(&target).await.message.as_ref() == Some(&awaited)).then_some(()))
        .await;
    assert_eq!(fixture.observe(&target).await.phase, Phase::Provisioning);
    create_event(
        &fixture,
        &pod,
        failed("still no db://u:pa55", "2026-11-16T21:00:20Z", "2026-11-16T21:00:20Z"),
    )
    .await;
    let seen = fixture.observe_until(&target, Phase::Degraded).await;
    assert_eq!(
        seen.message,
        Some(format!(
            "The readiness probe of `web` failed: {found} Check its log, and the command of the probe."
        ))
    );
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_container_killed_by_its_liveness_probe_is_reported_as_such() {
    let Some(fixture) = Fixture::without_controllers().await else { return };
    let mut target = fixture.target("r1");
    let web = target.plan.containers.get_mut("web").unwrap();
    web.liveness_probe = Some(Probe { exec: vec!["check".to_owned()], http_get: None });
    fixture.apply(&target).await.unwrap();
    let pod = create_pod(&fixture).await;
    let failed = json!({"reason": "Unhealthy", "message": "Liveness probe failed: too late\n",
        "firstTimestamp": "2026-11-16T21:00:00Z", "lastTimestamp": "2026-11-16T21:00:20Z"});
    create_event(&fixture, &pod, failed).await;
    let killed = json!({"reason": "Killing", "message": "Container web failed liveness probe, will be restarted",
        "firstTimestamp": "2026-11-16T21:00:20Z", "lastTimestamp": "2026-11-16T21:00:20Z"});
    create_event(&fixture, &pod, killed).await;
    let ended = json!({"terminated": {"exitCode": 143, "reason": "Error", "startedAt": "2026-11-16T20:59:00Z",
        "finishedAt": "2026-11-16T21:00:21Z"}});
    let status = json!({"status": {"phase": "Running", "containerStatuses": [{"name": "web", "ready": false,
        "restartCount": 1, "image": "x", "imageID": "", "lastState": ended,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}}]}});
    let pods = fixture.api("v1", "Pod");
    pods.patch_status("hello-1", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(status))
        .await
        .unwrap();
    let seen = fixture.observe_until(&target, Phase::Degraded).await;
    let expected = "The liveness probe of `web` failed: its command failed: `too late`. \
        Check its log, and the command of the probe. It is restarted.";
    assert_eq!(seen.message.as_deref(), Some(expected));
    fixture.delete_namespace().await;
}

/// Creates a pod of the Deployment, as the cluster would.
async fn create_pod(fixture: &Fixture) -> DynamicObject {
    let deployment = fixture.deployments().get("hello").await.unwrap();
    let template = &deployment.data["spec"]["template"];
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "hello-1", "labels": template["metadata"]["labels"],
            "annotations": template["metadata"]["annotations"]},
        "spec": {"containers": [{"name": "web", "image": "localhost/busybox:1"}], "automountServiceAccountToken": false}});
    let pods = fixture.api("v1", "Pod");
    fixture
        .until(async || {
            // Fails until the namespace has its default service account.
            pods.create(&PostParams::default(), &serde_json::from_value(pod.clone()).unwrap()).await.ok()
        })
        .await
}

/// Creates an event about a pod, as the cluster would.
async fn create_event(fixture: &Fixture, pod: &DynamicObject, mut event: serde_json::Value) {
    event["metadata"] = json!({"generateName": "hello-1."});
    event["type"] = json!("Warning");
    event["involvedObject"] = json!({"apiVersion": "v1", "kind": "Pod", "name": "hello-1",
        "namespace": fixture.namespace, "uid": pod.metadata.uid, "fieldPath": "spec.containers{web}"});
    let events = fixture.api("v1", "Event");
    events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_suspended_plan_is_pending() {
    let Some(fixture) = Fixture::without_controllers().await else { return };
    let mut target = fixture.target("r2");
    target.plan.lifecycle.suspend = true;
    fixture.apply(&target).await.unwrap();
    fixture.write_status(available(1, 0)).await;
    let seen = fixture.observe_until(&target, Phase::Pending).await;
    assert_eq!(seen.message.as_deref(), Some(SUSPENDED));
    assert!(!is_reachable(&seen), "{:?}", seen.exposures);
    fixture.delete_namespace().await;
}
