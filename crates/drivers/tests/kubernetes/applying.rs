//! Writes of the runtime, and objects that it does not touch.

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
use orchestra_drivers::{DriverError, DriverErrorKind, Removed, Runtime as _};
use serde_json::json;

use crate::kubernetes::support::{Fixture, with_secret, written};

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_unchanged_plan_writes_nothing_even_after_a_restart() {
    let mut fixture = Fixture::new().await;
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let before = fixture.versions().await;
    fixture.apply(&target).await.unwrap();
    assert_eq!(fixture.versions().await, before);
    fixture.restart();
    fixture.apply(&target).await.unwrap();
    assert_eq!(fixture.versions().await, before);
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn the_owned_fields_of_stored_objects_equal_the_rendered_objects() {
    // Otherwise every restart would apply everything again.
    let fixture = Fixture::unwatched().await;
    let mut target = fixture.target("r1");
    let web = target.plan.containers.get_mut("web").unwrap();
    web.requests.cpu = Some("0.5".to_owned());
    web.limits.memory = Some("1024Mi".to_owned());
    web.command = Some(vec!["sleep".to_owned(), "1".to_owned()]);
    let subject = orchestra_core::render::kubernetes::Subject {
        namespace: &target.namespace,
        name: &target.name,
        plan: &target.plan,
    };
    fixture.apply(&target).await.unwrap();
    for object in orchestra_core::render::kubernetes::render(&subject, &|_| Vec::new()) {
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let live =
            fixture.api(version, kind).get(object["metadata"]["name"].as_str().unwrap()).await.unwrap();
        let entries = live.metadata.managed_fields.clone().unwrap();
        let live = serde_json::to_value(live).unwrap();
        let owned = orchestra_core::observe::owned_fields::owned(&live, &entries, "score.dev/kubernetes");
        assert_eq!(owned, Some(orchestra_core::observe::owned_fields::desired(&object)), "{kind}");
    }
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn drift_of_an_owned_field_is_corrected() {
    let fixture = Fixture::new().await;
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let template = json!({"spec": {"containers": [{"name": "web", "image": "other:1"}]}});
    let edited = fixture.edit(&fixture.deployments(), "hello", json!({"spec": {"template": template}})).await;
    assert_eq!(edited.data.pointer("/spec/template/spec/containers/0/image"), Some(&json!("other:1")));
    fixture
        .until(async || {
            fixture.apply(&target).await.unwrap();
            let live = fixture.deployments().get("hello").await.unwrap();
            (live.data["spec"]["template"]["spec"]["containers"][0]["image"] == "localhost/busybox:1")
                .then_some(())
        })
        .await;
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn changed_or_deleted_files_are_restored_at_once() {
    let fixture = Fixture::new().await;
    let mut changes = fixture.runtime.changes();
    let mut target = fixture.target("r1");
    let content = FileContent::Text(vec![Segment::Literal("ours".to_owned())]);
    let web = target.plan.containers.get_mut("web").unwrap();
    web.files.insert("/etc/hello".to_owned(), File { content, mode: None });
    fixture.apply(&target).await.unwrap();
    let maps = fixture.api("v1", "ConfigMap");
    let inventory = fixture.runtime.inventory(&target);
    let name = &inventory.iter().find(|item| item.kind == "ConfigMap").unwrap().name;
    let made = maps.get(name).await.unwrap();
    let key = made.data["data"].as_object().unwrap().keys().next().unwrap().clone();
    let hello = (fixture.namespace.clone(), "hello".to_owned());
    let mut until_restored = async || {
        let restored = async {
            while let Some(changed) = changes.next().await {
                fixture.apply(&target).await.unwrap();
                let live = maps.get_opt(name).await.unwrap();
                if changed == hello && live.is_some_and(|live| live.data["data"] == made.data["data"]) {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), restored).await.expect("the files are restored");
    };
    fixture.edit(&maps, name, json!({"data": {key: "theirs"}})).await;
    until_restored().await;
    maps.delete(name, &DeleteParams::default()).await.unwrap();
    until_restored().await;
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn fields_of_other_managers_are_left_alone() {
    let mut fixture = Fixture::new().await;
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let theirs = json!({"metadata": {"annotations": {"theirs": "x"}}, "spec": {"replicas": 3}});
    let edited = fixture.edit(&fixture.deployments(), "hello", theirs).await;
    fixture.restart();
    fixture.apply(&target).await.unwrap();
    let live = fixture.deployments().get("hello").await.unwrap();
    assert_eq!(written(&live), written(&edited));
    // They also survive a change of the plan.
    fixture.apply(&fixture.target("r2")).await.unwrap();
    let live = fixture.deployments().get("hello").await.unwrap();
    assert_eq!(
        (live.data["spec"]["replicas"].as_i64(), live.annotations()["theirs"].as_str()),
        (Some(3), "x")
    );
    assert_eq!(live.annotations()["score.dev/revision"], "r2");
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_foreign_object_is_neither_adopted_nor_deleted() {
    let fixture = Fixture::new().await;
    let target = fixture.target("r1");
    // It could be merged with ours without a field conflict.
    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hello"},
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}});
    let services = fixture.services();
    let made =
        services.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    let Err(DriverError { kind: DriverErrorKind::Unwatched, reason, message, .. }) =
        fixture.apply(&target).await
    else {
        panic!("it is not reported")
    };
    assert_eq!(reason, Reason::RuntimeDegraded);
    assert!(message.contains("An address named `hello` already exists"), "{message}");
    let inventory = fixture.runtime.inventory(&target);
    assert_eq!(fixture.runtime.remove(&target, &inventory).await, Ok(Removed::Gone));
    let live = services.get("hello").await.unwrap();
    assert_eq!(live.metadata.resource_version, made.metadata.resource_version);
    // Its deletion unblocks the plan.
    services.delete("hello", &DeleteParams::default()).await.unwrap();
    fixture.apply(&target).await.unwrap();
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn leftovers_of_another_workload_of_the_same_name_are_not_adopted() {
    let fixture = Fixture::new().await;
    let mut target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let before = fixture.versions().await;
    target.plan.workload_ref.uid = "uid-of-another".to_owned();
    assert!(matches!(
        fixture.apply(&target).await,
        Err(DriverError { kind: DriverErrorKind::Unwatched, .. })
    ));
    let inventory = fixture.runtime.inventory(&target);
    assert_eq!(fixture.runtime.remove(&target, &inventory).await, Ok(Removed::Gone));
    assert_eq!(fixture.versions().await, before);
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_deleted_object_is_recreated() {
    let fixture = Fixture::new().await;
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let uid = fixture.services().get("hello").await.unwrap().uid();
    fixture.services().delete("hello", &DeleteParams::default()).await.unwrap();
    fixture
        .until(async || {
            fixture.apply(&target).await.unwrap();
            let found = fixture.services().get_opt("hello").await.unwrap();
            found.filter(|found| found.uid() != uid).map(drop)
        })
        .await;
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_removal_deletes_the_inventory_and_nothing_else() {
    let fixture = Fixture::new().await;
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let inventory = fixture.runtime.inventory(&target);
    let service: Vec<_> = inventory.iter().filter(|item| item.kind == "Service").cloned().collect();
    assert_eq!(fixture.runtime.remove(&target, &service).await, Ok(Removed::Gone));
    assert!(fixture.services().get_opt("hello").await.unwrap().is_none());
    assert!(fixture.deployments().get_opt("hello").await.unwrap().is_some());
    fixture
        .until(async || {
            (fixture.runtime.remove(&target, &inventory).await == Ok(Removed::Gone)).then_some(())
        })
        .await;
    assert!(fixture.deployments().get_opt("hello").await.unwrap().is_none());
    assert_eq!(fixture.runtime.remove(&target, &inventory).await, Ok(Removed::Gone));
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_job_of_another_revision_is_replaced() {
    let fixture = Fixture::new().await;
    let job = |revision: &str| {
        let mut target = fixture.target(revision);
        target.plan.kind = Kind::Job;
        target.plan.ports.clear();
        target.plan.exposures.clear();
        target
    };
    let jobs = fixture.api("batch/v1", "Job");
    fixture.apply(&job("r1")).await.unwrap();
    let first = jobs.get("hello").await.unwrap();
    fixture.apply(&job("r1")).await.unwrap();
    assert_eq!(jobs.get("hello").await.unwrap().uid(), first.uid());
    fixture.apply(&job("r2")).await.unwrap();
    let second = jobs.get("hello").await.unwrap();
    assert_ne!(second.uid(), first.uid());
    assert_eq!(second.annotations()["score.dev/revision"], "r2");
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn texts_with_secrets_are_composed_once_per_revision() {
    let mut fixture = Fixture::new().await;
    let secrets = fixture.api("v1", "Secret");
    let given = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(given).unwrap()).await.unwrap();
    let target = |fixture: &Fixture, revision: &str| {
        let mut target = fixture.target(revision);
        let web = target.plan.containers.get_mut("web").unwrap();
        web.variables.insert("DSN".to_owned(), with_secret("postgres://u:", "db", "password"));
        target
    };
    let first = target(&fixture, "r1");
    fixture.apply(&first).await.unwrap();
    let inventory = fixture.runtime.inventory(&first);
    let name = &inventory.iter().find(|item| item.kind == "Secret").unwrap().name;
    let made = secrets.get(name).await.unwrap();
    let values = made.data["data"].as_object().unwrap().values();
    let expected = "cG9zdGdyZXM6Ly91Omh1bnRlcjI="; // postgres://u:hunter2
    assert_eq!(values.collect::<Vec<_>>(), [expected]);
    let deployment = serde_json::to_string(&fixture.deployments().get("hello").await.unwrap()).unwrap();
    assert!(!deployment.contains("hunter2") && !deployment.contains(expected));
    // A changed value is written with the next revision, not before.
    fixture.edit(&secrets, "db", json!({"stringData": {"password": "other"}})).await;
    fixture.apply(&first).await.unwrap();
    fixture.restart();
    assert_eq!(secrets.get(name).await.unwrap().metadata.resource_version, made.metadata.resource_version);
    fixture.apply(&target(&fixture, "r2")).await.unwrap();
    let rotated = secrets.get(name).await.unwrap();
    assert_ne!(rotated.data["data"], made.data["data"]);
    assert_eq!(rotated.uid(), made.uid());
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_exceeded_quota_is_reported_with_its_reason() {
    let fixture = Fixture::new().await;
    let target = fixture.target("r1");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
        "spec": {"hard": {"count/deployments.apps": "0"}}});
    let quotas = fixture.api("v1", "ResourceQuota");
    quotas.create(&PostParams::default(), &serde_json::from_value(quota).unwrap()).await.unwrap();
    let message = fixture
        .until(async || match fixture.apply(&target).await {
            Err(DriverError {
                kind: DriverErrorKind::Transient,
                reason: Reason::QuotaExceeded,
                message,
                ..
            }) => Some(message),
            other => {
                drop(other);
                let inventory = fixture.runtime.inventory(&target);
                fixture.runtime.remove(&target, &inventory).await.unwrap();
                None
            }
        })
        .await;
    assert!(message.contains("quota `small`") && !message.contains("deployment"), "{message}");
    fixture.delete_namespace().await;
}
