//! What is written, and what is left alone.

use std::time::Duration;

use futures_util::StreamExt as _;
use kube::{
    ResourceExt as _,
    api::{DeleteParams, PostParams},
};
use orchestra_api::{
    Reason,
    plan::{File, FileContent, Kind, Segment},
};
use orchestra_drivers::{DriverError, Removed, Runtime as _};
use serde_json::json;

use crate::kubernetes::support::{World, with_secret, written};

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_unchanged_plan_writes_nothing_also_after_a_restart() {
    let mut world = World::new().await;
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    let before = world.versions().await;
    world.apply(&target).await.unwrap();
    assert_eq!(world.versions().await, before);
    world.restarted();
    world.apply(&target).await.unwrap();
    assert_eq!(world.versions().await, before);
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_the_server_keeps_of_ours_is_what_was_rendered() {
    // Otherwise every restart would send everything once more.
    let world = World::unwatched().await;
    let mut target = world.target("r1");
    let web = target.plan.containers.get_mut("web").unwrap();
    web.requests.cpu = Some("0.5".to_owned());
    web.limits.memory = Some("1024Mi".to_owned());
    web.command = Some(vec!["sleep".to_owned(), "1".to_owned()]);
    let subject = orchestra_core::render::kubernetes::Subject {
        namespace: &target.namespace,
        name: &target.name,
        plan: &target.plan,
    };
    world.apply(&target).await.unwrap();
    for object in orchestra_core::render::kubernetes::render(&subject, &|_| Vec::new()) {
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let live = world.api(version, kind).get(object["metadata"]["name"].as_str().unwrap()).await.unwrap();
        let notes = live.metadata.managed_fields.clone().unwrap();
        let live = serde_json::to_value(live).unwrap();
        let owned = orchestra_core::observe::owned::owned(&live, &notes, "score.dev/kubernetes");
        assert_eq!(owned, Some(orchestra_core::observe::owned::wanted(&object)), "{kind}");
    }
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_field_of_ours_that_somebody_changes_is_put_back() {
    let world = World::new().await;
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    let template = json!({"spec": {"containers": [{"name": "web", "image": "other:1"}]}});
    let edited = world.edit(&world.deployments(), "hello", json!({"spec": {"template": template}})).await;
    assert_eq!(edited.data.pointer("/spec/template/spec/containers/0/image"), Some(&json!("other:1")));
    world
        .until(async || {
            world.apply(&target).await.unwrap();
            let live = world.deployments().get("hello").await.unwrap();
            (live.data["spec"]["template"]["spec"]["containers"][0]["image"] == "localhost/busybox:1")
                .then_some(())
        })
        .await;
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn files_that_somebody_changes_or_deletes_are_put_back_at_once() {
    let world = World::new().await;
    let mut changes = world.runtime.changes();
    let mut target = world.target("r1");
    let content = FileContent::Text(vec![Segment::Literal("ours".to_owned())]);
    let web = target.plan.containers.get_mut("web").unwrap();
    web.files.insert("/etc/hello".to_owned(), File { content, mode: None });
    world.apply(&target).await.unwrap();
    let maps = world.api("v1", "ConfigMap");
    let inventory = world.runtime.inventory(&target);
    let name = &inventory.iter().find(|item| item.kind == "ConfigMap").unwrap().name;
    let made = maps.get(name).await.unwrap();
    let key = made.data["data"].as_object().unwrap().keys().next().unwrap().clone();
    let hello = (world.namespace.clone(), "hello".to_owned());
    let mut put_back = async || {
        let told = async {
            while let Some(told) = changes.next().await {
                world.apply(&target).await.unwrap();
                let live = maps.get_opt(name).await.unwrap();
                if told == hello && live.is_some_and(|live| live.data["data"] == made.data["data"]) {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), told).await.expect("it is put back");
    };
    world.edit(&maps, name, json!({"data": {key: "theirs"}})).await;
    put_back().await;
    maps.delete(name, &DeleteParams::default()).await.unwrap();
    put_back().await;
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_others_own_is_left_alone() {
    let mut world = World::new().await;
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    let theirs = json!({"metadata": {"annotations": {"theirs": "x"}}, "spec": {"replicas": 3}});
    let edited = world.edit(&world.deployments(), "hello", theirs).await;
    world.restarted();
    world.apply(&target).await.unwrap();
    let live = world.deployments().get("hello").await.unwrap();
    assert_eq!(written(&live), written(&edited));
    // Also when something of ours changes.
    world.apply(&world.target("r2")).await.unwrap();
    let live = world.deployments().get("hello").await.unwrap();
    assert_eq!(
        (live.data["spec"]["replicas"].as_i64(), live.annotations()["theirs"].as_str()),
        (Some(3), "x")
    );
    assert_eq!(live.annotations()["score.dev/revision"], "r2");
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_object_of_somebody_else_is_neither_taken_over_nor_deleted() {
    let world = World::new().await;
    let target = world.target("r1");
    // It could be merged with ours without any conflict of fields.
    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hello"},
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}});
    let services = world.services();
    let made =
        services.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    let Err(DriverError::Refused { reason, message }) = world.apply(&target).await else {
        panic!("it is refused")
    };
    assert_eq!(reason, Reason::RuntimeDegraded);
    assert!(message.contains("an address named `hello`"), "{message}");
    let inventory = world.runtime.inventory(&target);
    assert_eq!(world.runtime.remove(&target, &inventory).await, Ok(Removed::Gone));
    let live = services.get("hello").await.unwrap();
    assert_eq!(live.metadata.resource_version, made.metadata.resource_version);
    // Once it is gone, everything is made.
    services.delete("hello", &DeleteParams::default()).await.unwrap();
    world.apply(&target).await.unwrap();
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_another_workload_of_the_same_name_left_is_not_adopted() {
    let world = World::new().await;
    let mut target = world.target("r1");
    world.apply(&target).await.unwrap();
    let before = world.versions().await;
    target.plan.workload_ref.uid = "uid-of-another".to_owned();
    assert!(matches!(world.apply(&target).await, Err(DriverError::Refused { .. })));
    let inventory = world.runtime.inventory(&target);
    assert_eq!(world.runtime.remove(&target, &inventory).await, Ok(Removed::Gone));
    assert_eq!(world.versions().await, before);
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_is_deleted_behind_our_back_is_made_again() {
    let world = World::new().await;
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    let uid = world.services().get("hello").await.unwrap().uid();
    world.services().delete("hello", &DeleteParams::default()).await.unwrap();
    world
        .until(async || {
            world.apply(&target).await.unwrap();
            let found = world.services().get_opt("hello").await.unwrap();
            found.filter(|found| found.uid() != uid).map(drop)
        })
        .await;
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_removal_takes_what_is_listed_and_nothing_else() {
    let world = World::new().await;
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    let inventory = world.runtime.inventory(&target);
    let service: Vec<_> = inventory.iter().filter(|item| item.kind == "Service").cloned().collect();
    assert_eq!(world.runtime.remove(&target, &service).await, Ok(Removed::Gone));
    assert!(world.services().get_opt("hello").await.unwrap().is_none());
    assert!(world.deployments().get_opt("hello").await.unwrap().is_some());
    world
        .until(async || (world.runtime.remove(&target, &inventory).await == Ok(Removed::Gone)).then_some(()))
        .await;
    assert!(world.deployments().get_opt("hello").await.unwrap().is_none());
    assert_eq!(world.runtime.remove(&target, &inventory).await, Ok(Removed::Gone));
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_job_of_another_revision_is_replaced() {
    let world = World::new().await;
    let job = |revision: &str| {
        let mut target = world.target(revision);
        target.plan.kind = Kind::Job;
        target.plan.ports.clear();
        target.plan.exposures.clear();
        target
    };
    let jobs = world.api("batch/v1", "Job");
    world.apply(&job("r1")).await.unwrap();
    let first = jobs.get("hello").await.unwrap();
    world.apply(&job("r1")).await.unwrap();
    assert_eq!(jobs.get("hello").await.unwrap().uid(), first.uid());
    world.apply(&job("r2")).await.unwrap();
    let second = jobs.get("hello").await.unwrap();
    assert_ne!(second.uid(), first.uid());
    assert_eq!(second.annotations()["score.dev/revision"], "r2");
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn texts_with_secrets_are_composed_once_for_each_revision() {
    let mut world = World::new().await;
    let secrets = world.api("v1", "Secret");
    let given = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(given).unwrap()).await.unwrap();
    let target = |world: &World, revision: &str| {
        let mut target = world.target(revision);
        let web = target.plan.containers.get_mut("web").unwrap();
        web.variables.insert("DSN".to_owned(), with_secret("postgres://u:", "db", "password"));
        target
    };
    let first = target(&world, "r1");
    world.apply(&first).await.unwrap();
    let inventory = world.runtime.inventory(&first);
    let name = &inventory.iter().find(|item| item.kind == "Secret").unwrap().name;
    let made = secrets.get(name).await.unwrap();
    let values = made.data["data"].as_object().unwrap().values();
    let expected = "cG9zdGdyZXM6Ly91Omh1bnRlcjI="; // postgres://u:hunter2
    assert_eq!(values.collect::<Vec<_>>(), [expected]);
    let deployment = serde_json::to_string(&world.deployments().get("hello").await.unwrap()).unwrap();
    assert!(!deployment.contains("hunter2") && !deployment.contains(expected));
    // Nothing is written for the same revision, and the new value with the next.
    world.edit(&secrets, "db", json!({"stringData": {"password": "other"}})).await;
    world.apply(&first).await.unwrap();
    world.restarted();
    assert_eq!(secrets.get(name).await.unwrap().metadata.resource_version, made.metadata.resource_version);
    world.apply(&target(&world, "r2")).await.unwrap();
    let rotated = secrets.get(name).await.unwrap();
    assert_ne!(rotated.data["data"], made.data["data"]);
    assert_eq!(rotated.uid(), made.uid());
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_used_up_quota_is_told_by_its_reason() {
    let world = World::new().await;
    let target = world.target("r1");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
        "spec": {"hard": {"count/deployments.apps": "0"}}});
    let quotas = world.api("v1", "ResourceQuota");
    quotas.create(&PostParams::default(), &serde_json::from_value(quota).unwrap()).await.unwrap();
    let told = world
        .until(async || match world.apply(&target).await {
            Err(DriverError::Transient { reason: Reason::QuotaExceeded, message }) => Some(message),
            other => {
                drop(other);
                let inventory = world.runtime.inventory(&target);
                world.runtime.remove(&target, &inventory).await.unwrap();
                None
            }
        })
        .await;
    assert!(told.contains("the quota `small`") && !told.contains("deployment"), "{told}");
    world.end().await;
}
