//! What is told of what really runs. These need a cluster with a node that has the image `localhost/busybox:1`, or the one
//! that `KUBERNETES_TEST_IMAGE` names; where there is no node they say so and show nothing.

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
use orchestra_drivers::{LogLine, LogWish, Removed, Runtime as _, Target};
use serde_json::json;

use crate::kubernetes::support::{World, with_secret};

/// A world with a node, or nothing.
async fn world() -> Option<World> {
    let world = World::new().await;
    let nodes: Api<Node> = Api::all(world.client.clone());
    if nodes.list(&ListParams::default().limit(1)).await.unwrap().items.is_empty() {
        println!("there is no node: nothing is shown");
        world.end().await;
        return None;
    }
    Some(world)
}

/// A plan whose container runs a script.
fn running(world: &World, revision: &str, script: &str) -> Target {
    let mut target = world.target(revision);
    let web = target.plan.containers.get_mut("web").unwrap();
    if let Ok(image) = std::env::var("KUBERNETES_TEST_IMAGE") {
        web.image = image;
    }
    web.command = Some(["/bin/sh", "-c", script].map(str::to_owned).into());
    target.plan.lifecycle.grace_seconds = Some(1);
    target
}

/// Applies and observes until what is told fits.
async fn told(world: &World, target: &Target, fits: impl Fn(Phase, &str) -> bool) -> (Reason, String) {
    world
        .until(async || {
            world.apply(target).await.unwrap();
            let seen = world.observe(target).await;
            let message = seen.message.unwrap_or_default();
            println!("{:?} {:?} {message}", seen.phase, seen.reason);
            fits(seen.phase, &message).then(|| (seen.reason.unwrap(), message))
        })
        .await
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_workload_runs_writes_a_log_and_leaves_nothing() {
    let Some(world) = world().await else { return };
    let target = running(&world, "r1", "echo first; sleep 1; echo second; exec sleep 1000");
    told(&world, &target, |phase, _| phase == Phase::Ready).await;
    let follow = LogWish { follow: true, ..LogWish::default() };
    let lines = world.runtime.logs(&world.namespace, "hello", follow);
    let lines: Vec<LogLine> = pin!(lines).take(2).map(Result::unwrap).collect().await;
    let texts: Vec<_> = lines.iter().map(|line| (line.container.as_str(), line.text.as_str())).collect();
    assert_eq!(texts, [("web", "first"), ("web", "second")]);
    let last = LogWish { tail: Some(1), ..LogWish::default() };
    let lines = world.runtime.logs(&world.namespace, "hello", last);
    let lines: Vec<_> = lines.map(|line| line.unwrap().text).collect().await;
    assert_eq!(lines, ["second"]);
    let inventory = world.runtime.inventory(&target);
    assert!(matches!(world.runtime.remove(&target, &inventory).await, Ok(Removed::Stopping(_))));
    world
        .until(async || (world.runtime.remove(&target, &inventory).await == Ok(Removed::Gone)).then_some(()))
        .await;
    assert!(world.api("v1", "Pod").list(&ListParams::default()).await.unwrap().items.is_empty());
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_crash_is_told_with_the_last_line_and_without_secrets() {
    let Some(world) = world().await else { return };
    let given = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2"}});
    let secrets = world.api("v1", "Secret");
    secrets.create(&PostParams::default(), &serde_json::from_value(given).unwrap()).await.unwrap();
    let mut target = running(&world, "r1", "echo starting; echo \"cannot reach $DSN\"; exit 3");
    let web = target.plan.containers.get_mut("web").unwrap();
    web.variables.insert("DSN".to_owned(), with_secret("db://u:", "db", "password"));
    let (reason, message) = told(&world, &target, |_, message| message.contains("last wrote")).await;
    assert_eq!(reason, Reason::RuntimeDegraded);
    assert_eq!(
        message,
        "`web` is not running: it ended with exit code 3. It last wrote: `cannot reach db://u:***`. It is started again; see its log."
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_bad_update_leaves_the_version_before_running_and_says_so() {
    let Some(world) = world().await else { return };
    told(&world, &running(&world, "r1", "exec sleep 1000"), |phase, _| phase == Phase::Ready).await;
    let mut bad = running(&world, "r2", "exec sleep 1000");
    bad.plan.containers.get_mut("web").unwrap().image = "localhost/none:1".to_owned();
    let (reason, message) = told(&world, &bad, |phase, _| phase == Phase::Degraded).await;
    assert_eq!(reason, Reason::RuntimeDegraded);
    assert!(message.starts_with("The image of `web` cannot be fetched"), "{message}");
    assert!(message.ends_with("The version before still runs."), "{message}");
    assert_eq!(world.observe(&bad).await.exposures[0].reachable, Some(true));
    told(&world, &running(&world, "r3", "exec sleep 1000"), |phase, _| phase == Phase::Ready).await;
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_check_that_fails_is_named() {
    let Some(world) = world().await else { return };
    let mut target = running(&world, "r1", "exec sleep 1000");
    let probe =
        Probe { exec: ["/bin/sh", "-c", "echo not yet; exit 1"].map(str::to_owned).into(), http_get: None };
    target.plan.containers.get_mut("web").unwrap().readiness_probe = Some(probe);
    let found = "its command ends with an error, and writes `not yet`.";
    let (reason, message) = told(&world, &target, |_, message| message.contains("probe")).await;
    assert_eq!(reason, Reason::RuntimeProvisioning, "{message}");
    assert_eq!(
        message,
        format!("It waits for the readiness probe of `web`, which has not passed yet: {found}")
    );
    let (reason, message) = told(&world, &target, |phase, _| phase == Phase::Degraded).await;
    assert_eq!(reason, Reason::RuntimeDegraded);
    assert!(message.starts_with(&format!("The readiness probe of `web` fails: {found}")), "{message}");
    world.end().await;
}

/// Makes the volume `data`.
async fn make_volume(world: &World) {
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}});
    let volumes = world.api("v1", "PersistentVolumeClaim");
    volumes.create(&PostParams::default(), &serde_json::from_value(volume).unwrap()).await.unwrap();
}

/// A plan whose container runs a script, with the volume `data` at `/data`.
fn with_volume(world: &World, revision: &str, script: &str) -> Target {
    let mut target = running(world, revision, script);
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
async fn what_keeps_data_is_healed_by_a_corrected_version() {
    let Some(world) = world().await else { return };
    make_volume(&world).await;
    let bad = with_volume(&world, "r1", "exit 1");
    told(&world, &bad, |phase, _| phase == Phase::Degraded).await;
    told(&world, &with_volume(&world, "r2", "exec sleep 1000"), |phase, _| phase == Phase::Ready).await;
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_is_stopped_runs_its_stop_command_and_has_its_time() {
    let Some(world) = world().await else { return };
    make_volume(&world).await;
    // Shows what those before it have written, then takes three seconds to stop.
    let script = "cat /data/log 2>/dev/null; echo \"$0 runs\"
        trap 'echo \"$0 is told to stop\" >> /data/log; sleep 3; echo \"$0 has saved\" >> /data/log; exit' TERM
        while true; do sleep 0.1; done";
    for (revision, grace, before) in [
        ("r1", 20, vec![]),
        ("r2", 1, vec!["r1 says goodbye", "r1 is told to stop", "r1 has saved"]),
        // The one before had one second.
        (
            "r3",
            1,
            vec![
                "r1 says goodbye",
                "r1 is told to stop",
                "r1 has saved",
                "r2 says goodbye",
                "r2 is told to stop",
            ],
        ),
    ] {
        let mut target = with_volume(&world, revision, script);
        target.plan.containers.get_mut("web").unwrap().args = Some(vec![revision.to_owned()]);
        let goodbye = format!("echo {revision} says goodbye >> /data/log");
        target.plan.lifecycle.stop_command = ["/bin/sh", "-c", &goodbye].map(str::to_owned).into();
        target.plan.lifecycle.grace_seconds = Some(grace);
        told(&world, &target, |phase, _| phase == Phase::Ready).await;
        let follow = LogWish { follow: true, ..LogWish::default() };
        let runs = format!("{revision} runs");
        let lines = world.runtime.logs(&world.namespace, "hello", follow).map(|line| line.unwrap().text);
        let lines: Vec<_> = lines.take_while(|line| ready(*line != runs)).collect().await;
        assert_eq!(lines, before);
    }
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_cause_wakes_whoever_listens() {
    let Some(world) = world().await else { return };
    let mut changes = world.runtime.changes();
    let mut target = running(&world, "r1", "exec sleep 1000");
    target.plan.containers.get_mut("web").unwrap().requests.cpu = Some("1000".to_owned());
    world.apply(&target).await.unwrap();
    let seen = loop {
        let told = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
        assert!(told.is_ok(), "nothing is told");
        let seen = world.observe(&target).await;
        if seen.phase == Phase::Degraded {
            break seen;
        }
    };
    assert_eq!(
        seen.message.as_deref(),
        Some(
            "It cannot be placed: no machine has enough processor time left; ask for less, or ask the platform team for room."
        )
    );
    world.end().await;
}
