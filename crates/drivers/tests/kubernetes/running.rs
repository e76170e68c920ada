//! Observations of real pods. They need a cluster with a node that has the image `localhost/busybox:1`, or the one that
//! `KUBERNETES_TEST_IMAGE` names.

use std::{future::ready, pin::pin, time::Duration};

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use orchestra_api::{
    Reason,
    plan::{Claim, Phase, Probe, Segment, Volume},
};
use orchestra_drivers::{LogLine, LogQuery, Removed, Runtime as _, Target};
use serde_json::json;

use crate::kubernetes::support::{Fixture, with_secret};

/// Fixture on a cluster with a node.
async fn fixture() -> Fixture {
    let fixture = Fixture::new().await;
    let nodes: Api<Node> = Api::all(fixture.client.clone());
    let nodes = nodes.list(&ListParams::default().limit(1)).await.unwrap().items;
    assert!(!nodes.is_empty(), "the cluster has no node");
    fixture
}

/// Plan whose container runs a script.
fn script_target(fixture: &Fixture, revision: &str, script: &str) -> Target {
    let mut target = fixture.target(revision);
    let web = target.plan.containers.get_mut("web").unwrap();
    if let Ok(image) = std::env::var("KUBERNETES_TEST_IMAGE") {
        web.image = image;
    }
    web.command = Some(["/bin/sh", "-c", script].map(str::to_owned).into());
    target.plan.lifecycle.grace_seconds = Some(1);
    target
}

/// Applies and observes until the status matches; returns its reason and message.
async fn apply_until(
    fixture: &Fixture,
    target: &Target,
    matches: impl Fn(Phase, &str) -> bool,
) -> (Reason, String) {
    fixture
        .until(async || {
            fixture.apply(target).await.unwrap();
            let seen = fixture.observe(target).await;
            let message = seen.message.unwrap_or_default();
            println!("{:?} {:?} {message}", seen.phase, seen.reason);
            matches(seen.phase, &message).then(|| (seen.reason.unwrap(), message))
        })
        .await
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_workload_runs_writes_a_log_and_leaves_nothing() {
    let fixture = fixture().await;
    let target = script_target(&fixture, "r1", "echo first; sleep 1; echo second; exec sleep 1000");
    apply_until(&fixture, &target, |phase, _| phase == Phase::Ready).await;
    let follow = LogQuery { follow: true, ..LogQuery::default() };
    let lines = fixture.runtime.logs(&fixture.namespace, "hello", follow);
    let lines: Vec<LogLine> = pin!(lines).take(2).map(Result::unwrap).collect().await;
    let texts: Vec<_> = lines.iter().map(|line| (line.container.as_str(), line.text.as_str())).collect();
    assert_eq!(texts, [("web", "first"), ("web", "second")]);
    let last = LogQuery { tail: Some(1), ..LogQuery::default() };
    let lines = fixture.runtime.logs(&fixture.namespace, "hello", last);
    let lines: Vec<_> = lines.map(|line| line.unwrap().text).collect().await;
    assert_eq!(lines, ["second"]);
    let inventory = fixture.runtime.inventory(&target);
    assert!(matches!(fixture.runtime.remove(&target, &inventory).await, Ok(Removed::Stopping(_))));
    fixture
        .until(async || {
            (fixture.runtime.remove(&target, &inventory).await == Ok(Removed::Gone)).then_some(())
        })
        .await;
    assert!(fixture.api("v1", "Pod").list(&ListParams::default()).await.unwrap().items.is_empty());
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_crash_is_reported_with_the_last_log_line_without_secrets() {
    let fixture = fixture().await;
    let given = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2"}});
    let secrets = fixture.api("v1", "Secret");
    secrets.create(&PostParams::default(), &serde_json::from_value(given).unwrap()).await.unwrap();
    let mut target = script_target(&fixture, "r1", "echo starting; echo \"cannot reach $DSN\"; exit 3");
    let web = target.plan.containers.get_mut("web").unwrap();
    web.variables.insert("DSN".to_owned(), with_secret("db://u:", "db", "password"));
    let (reason, message) = apply_until(&fixture, &target, |_, message| message.contains("last wrote")).await;
    assert_eq!(reason, Reason::RuntimeDegraded);
    assert_eq!(
        message,
        "`web` is not running: exit code 3. It last wrote: `cannot reach db://u:***`. Restarting; see its log."
    );
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_failed_rollout_keeps_the_previous_version_running_and_is_reported() {
    let fixture = fixture().await;
    apply_until(&fixture, &script_target(&fixture, "r1", "exec sleep 1000"), |phase, _| {
        phase == Phase::Ready
    })
    .await;
    let mut bad = script_target(&fixture, "r2", "exec sleep 1000");
    bad.plan.containers.get_mut("web").unwrap().image = "localhost/none:1".to_owned();
    let (reason, message) = apply_until(&fixture, &bad, |phase, _| phase == Phase::Degraded).await;
    assert_eq!(reason, Reason::RuntimeDegraded);
    assert!(message.starts_with("The image of `web` cannot be pulled"), "{message}");
    assert!(message.ends_with("The previous version is still running."), "{message}");
    assert_eq!(fixture.observe(&bad).await.exposures[0].reachable, Some(true));
    apply_until(&fixture, &script_target(&fixture, "r3", "exec sleep 1000"), |phase, _| {
        phase == Phase::Ready
    })
    .await;
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_failing_readiness_probe_is_named() {
    let fixture = fixture().await;
    let mut target = script_target(&fixture, "r1", "exec sleep 1000");
    let probe =
        Probe { exec: ["/bin/sh", "-c", "echo not yet; exit 1"].map(str::to_owned).into(), http_get: None };
    target.plan.containers.get_mut("web").unwrap().readiness_probe = Some(probe);
    let found = "its command failed: `not yet`.";
    let (reason, message) = apply_until(&fixture, &target, |_, message| message.contains("probe")).await;
    assert_eq!(reason, Reason::RuntimeProvisioning, "{message}");
    assert_eq!(message, format!("Not ready: the readiness probe of `web` has not succeeded yet: {found}"));
    let (reason, message) = apply_until(&fixture, &target, |phase, _| phase == Phase::Degraded).await;
    assert_eq!(reason, Reason::RuntimeDegraded);
    assert!(message.starts_with(&format!("The readiness probe of `web` failed: {found}")), "{message}");
    fixture.delete_namespace().await;
}

/// Creates the volume `data`.
async fn create_volume(fixture: &Fixture) {
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}});
    let volumes = fixture.api("v1", "PersistentVolumeClaim");
    volumes.create(&PostParams::default(), &serde_json::from_value(volume).unwrap()).await.unwrap();
}

/// Plan whose container runs a script, with the volume `data` at `/data`.
fn with_volume(fixture: &Fixture, revision: &str, script: &str) -> Target {
    let mut target = script_target(fixture, revision, script);
    let volume = Volume {
        claim: Some("data".to_owned()),
        source: vec![Segment::Literal("data".to_owned())],
        ..Volume::default()
    };
    let web = target.plan.containers.get_mut("web").unwrap();
    web.volumes.insert("/data".to_owned(), volume);
    let claim = Claim {
        key: "data".to_owned(),
        name: "hello-data".to_owned(),
        type_: "volume".to_owned(),
        class: "default".to_owned(),
        ..Claim::default()
    };
    target.plan.claims.push(claim);
    target
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_stateful_workload_recovers_with_a_corrected_version() {
    let fixture = fixture().await;
    create_volume(&fixture).await;
    let bad = with_volume(&fixture, "r1", "exit 1");
    apply_until(&fixture, &bad, |phase, _| phase == Phase::Degraded).await;
    apply_until(&fixture, &with_volume(&fixture, "r2", "exec sleep 1000"), |phase, _| phase == Phase::Ready)
        .await;
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_stopped_container_runs_its_stop_command_and_gets_its_grace_period() {
    let fixture = fixture().await;
    create_volume(&fixture).await;
    // Prints what the previous revisions wrote; takes three seconds to stop.
    let script = "cat /data/log 2>/dev/null; echo \"$0 runs\"
        trap 'echo \"$0 receives SIGTERM\" >> /data/log; sleep 3; echo \"$0 has saved\" >> /data/log; exit' TERM
        while true; do sleep 0.1; done";
    for (revision, grace, before) in [
        ("r1", 20, vec![]),
        ("r2", 1, vec!["r1 says goodbye", "r1 receives SIGTERM", "r1 has saved"]),
        // The previous revision had a grace period of one second.
        (
            "r3",
            1,
            vec![
                "r1 says goodbye",
                "r1 receives SIGTERM",
                "r1 has saved",
                "r2 says goodbye",
                "r2 receives SIGTERM",
            ],
        ),
    ] {
        let mut target = with_volume(&fixture, revision, script);
        target.plan.containers.get_mut("web").unwrap().args = Some(vec![revision.to_owned()]);
        let goodbye = format!("echo {revision} says goodbye >> /data/log");
        target.plan.lifecycle.stop_command = ["/bin/sh", "-c", &goodbye].map(str::to_owned).into();
        target.plan.lifecycle.grace_seconds = Some(grace);
        apply_until(&fixture, &target, |phase, _| phase == Phase::Ready).await;
        let follow = LogQuery { follow: true, ..LogQuery::default() };
        let runs = format!("{revision} runs");
        let lines = fixture.runtime.logs(&fixture.namespace, "hello", follow).map(|line| line.unwrap().text);
        let lines: Vec<_> = lines.take_while(|line| ready(*line != runs)).collect().await;
        assert_eq!(lines, before);
    }
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_failure_to_schedule_is_notified() {
    let fixture = fixture().await;
    let mut changes = fixture.runtime.changes();
    let mut target = script_target(&fixture, "r1", "exec sleep 1000");
    target.plan.containers.get_mut("web").unwrap().requests.cpu = Some("1000".to_owned());
    fixture.apply(&target).await.unwrap();
    let seen = loop {
        let change = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
        assert!(change.is_ok(), "no change is notified");
        let seen = fixture.observe(&target).await;
        if seen.phase == Phase::Degraded {
            break seen;
        }
    };
    assert_eq!(
        seen.message.as_deref(),
        Some(
            "Unschedulable: no machine has enough CPU left; request less, or ask the platform's administrators for capacity."
        )
    );
    fixture.delete_namespace().await;
}
