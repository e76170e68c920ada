//! What is told of what the cluster says. The tests say it themselves, so nobody else may: where the cluster's own
//! controllers do, they say so and show nothing.

use std::time::Duration;

use futures_util::StreamExt as _;
use kube::{api::PostParams, core::DynamicObject};
use orchestra_api::{
    Reason,
    plan::{Phase, Probe, SUSPENDED},
};
use orchestra_drivers::Runtime as _;
use serde_json::json;

use crate::kubernetes::support::{World, with_secret};

fn up(generation: i64, count: u32) -> serde_json::Value {
    json!({"observedGeneration": generation, "replicas": count, "updatedReplicas": count,
        "readyReplicas": count, "availableReplicas": count})
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn it_is_ready_when_the_revision_that_is_wanted_is_rolled_out() {
    let Some(world) = World::played(false).await else { return };
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    let seen = world.observe(&target).await;
    assert_eq!(
        (seen.phase, seen.reason, seen.message),
        (Phase::Provisioning, Some(Reason::RuntimeProvisioning), None)
    );
    assert!(seen.exposures.is_empty(), "{:?}", seen.exposures);
    world.play(up(1, 1)).await;
    let seen = world.observe_until(&target, Phase::Ready).await;
    assert_eq!(seen.revision.as_deref(), Some("r1"));
    let urls: Vec<_> =
        seen.exposures.iter().map(|exposure| (exposure.url.clone(), exposure.reachable)).collect();
    assert_eq!(urls, [(format!("http://hello.{}.svc.cluster.local", world.namespace), Some(true))]);
    // What ran before does not count for the next revision.
    let next = world.target("r2");
    world.apply(&next).await.unwrap();
    let seen = world.observe(&next).await;
    assert_eq!((seen.phase, seen.revision.as_deref()), (Phase::Provisioning, Some("r2")));
    assert_eq!(seen.exposures.len(), 1);
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_change_in_the_cluster_wakes_whoever_listens() {
    let Some(world) = World::played(false).await else { return };
    let mut changes = world.runtime.changes();
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    world.play(up(1, 1)).await;
    // Others may be told of, too: the whole cluster is watched.
    let hello = (world.namespace.clone(), "hello".to_owned());
    loop {
        let told = tokio::time::timeout(Duration::from_secs(20), changes.next()).await.unwrap();
        if told.as_ref() == Some(&hello) && world.observe(&target).await.phase == Phase::Ready {
            break;
        }
    }
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_is_wrong_with_a_copy_is_told_by_itself_or_by_events() {
    let Some(world) = World::played(false).await else { return };
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    let pod = copy(&world).await;
    let event = json!({"reason": "FailedMount", "lastTimestamp": "2026-11-16T21:00:00Z",
        "message": "MountVolume.SetUp failed for volume \"v\" : secret \"gone\" not found"});
    tell(&world, &pod, event).await;
    let seen = world.observe_until(&target, Phase::Degraded).await;
    assert_eq!(
        seen.message.as_deref(),
        Some("Something that it mounts is not there: secret `gone` not found.")
    );
    let status = json!({"status": {"phase": "Pending", "containerStatuses": [{"name": "web", "ready": false,
        "restartCount": 0, "image": "x", "imageID": "", "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]}});
    let pods = world.api("v1", "Pod");
    pods.patch_status("hello-1", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(status))
        .await
        .unwrap();
    world
        .until(async || {
            let seen = world.observe(&target).await.message.unwrap_or_default();
            seen.contains("The image of `web` cannot be fetched").then_some(())
        })
        .await;
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_a_probe_writes_is_told_without_secrets_once_it_has_failed_for_long() {
    let Some(world) = World::played(false).await else { return };
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
        "stringData": {"password": "pa55"}});
    let secrets = world.api("v1", "Secret");
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let mut target = world.target("r1");
    let web = target.plan.containers.get_mut("web").unwrap();
    web.variables.insert("DSN".to_owned(), with_secret("db://u:", "db", "password"));
    world.apply(&target).await.unwrap();
    let pod = copy(&world).await;
    let failed = |text: &str, first: &str, last: &str| {
        json!({"reason": "Unhealthy", "message": format!("Readiness probe failed: {text}\n"),
            "firstTimestamp": first, "lastTimestamp": last})
    };
    let found = "its command ends with an error, and writes `no db://u:***`.";
    tell(&world, &pod, failed("no db://u:pa55", "2026-11-16T21:00:00Z", "2026-11-16T21:00:10Z")).await;
    let awaited = format!("It waits for the readiness probe of `web`, which has not passed yet: {found}");
    world
        .until(async || (world.observe(&target).await.message.as_ref() == Some(&awaited)).then_some(()))
        .await;
    assert_eq!(world.observe(&target).await.phase, Phase::Provisioning);
    tell(&world, &pod, failed("still no db://u:pa55", "2026-11-16T21:00:20Z", "2026-11-16T21:00:20Z")).await;
    let seen = world.observe_until(&target, Phase::Degraded).await;
    assert_eq!(
        seen.message,
        Some(format!(
            "The readiness probe of `web` fails: {found} See its log, and whether the probe runs the right command."
        ))
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_program_that_was_ended_for_its_liveness_probe_is_told_by_that() {
    let Some(world) = World::played(false).await else { return };
    let mut target = world.target("r1");
    let web = target.plan.containers.get_mut("web").unwrap();
    web.liveness_probe = Some(Probe { exec: vec!["check".to_owned()], http_get: None });
    world.apply(&target).await.unwrap();
    let pod = copy(&world).await;
    let failed = json!({"reason": "Unhealthy", "message": "Liveness probe failed: too late\n",
        "firstTimestamp": "2026-11-16T21:00:00Z", "lastTimestamp": "2026-11-16T21:00:20Z"});
    tell(&world, &pod, failed).await;
    let killed = json!({"reason": "Killing", "message": "Container web failed liveness probe, will be restarted",
        "firstTimestamp": "2026-11-16T21:00:20Z", "lastTimestamp": "2026-11-16T21:00:20Z"});
    tell(&world, &pod, killed).await;
    let ended = json!({"terminated": {"exitCode": 143, "reason": "Error", "startedAt": "2026-11-16T20:59:00Z",
        "finishedAt": "2026-11-16T21:00:21Z"}});
    let status = json!({"status": {"phase": "Running", "containerStatuses": [{"name": "web", "ready": false,
        "restartCount": 1, "image": "x", "imageID": "", "lastState": ended,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}}]}});
    let pods = world.api("v1", "Pod");
    pods.patch_status("hello-1", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(status))
        .await
        .unwrap();
    let seen = world.observe_until(&target, Phase::Degraded).await;
    let expected = "The liveness probe of `web` fails: its command ends with an error, and writes `too late`. \
        See its log, and whether the probe runs the right command. It is stopped for that, and started again.";
    assert_eq!(seen.message.as_deref(), Some(expected));
    world.end().await;
}

/// A copy, as the cluster would make it.
async fn copy(world: &World) -> DynamicObject {
    let deployment = world.deployments().get("hello").await.unwrap();
    let template = &deployment.data["spec"]["template"];
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "hello-1", "labels": template["metadata"]["labels"],
            "annotations": template["metadata"]["annotations"]},
        "spec": {"containers": [{"name": "web", "image": "localhost/busybox:1"}], "automountServiceAccountToken": false}});
    let pods = world.api("v1", "Pod");
    world
        .until(async || {
            // The account of a new namespace is made a moment later.
            pods.create(&PostParams::default(), &serde_json::from_value(pod.clone()).unwrap()).await.ok()
        })
        .await
}

/// Tells something about a copy, as the cluster would.
async fn tell(world: &World, pod: &DynamicObject, mut event: serde_json::Value) {
    event["metadata"] = json!({"generateName": "hello-1."});
    event["type"] = json!("Warning");
    event["involvedObject"] = json!({"apiVersion": "v1", "kind": "Pod", "name": "hello-1",
        "namespace": world.namespace, "uid": pod.metadata.uid, "fieldPath": "spec.containers{web}"});
    let events = world.api("v1", "Event");
    events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_is_stopped_for_now_says_so() {
    let Some(world) = World::played(false).await else { return };
    let mut target = world.target("r2");
    target.plan.lifecycle.suspend = true;
    world.apply(&target).await.unwrap();
    world.play(up(1, 0)).await;
    let seen = world.observe_until(&target, Phase::Pending).await;
    assert_eq!(seen.message.as_deref(), Some(SUSPENDED));
    assert!(seen.exposures.is_empty());
    world.end().await;
}
