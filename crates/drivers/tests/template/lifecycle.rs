//! Lifecycle of instances: provision, restart, retain, delete, orphan.

use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, Event, PersistentVolumeClaim, Secret, Service},
    networking::v1::Ingress,
};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use orchestra_api::{
    Reason,
    claim::{DeprovisionPolicy, Output},
    label,
};
use orchestra_core::provision::{Bound, Provision};
use orchestra_drivers::{DriverError, DriverErrorKind, template::Template};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::support::Fixture;

async fn versions<K>(fixture: &Fixture) -> Vec<(String, String)>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let found = fixture.api::<K>().list(&ListParams::default()).await.unwrap();
    found.iter().map(|object| (object.name_any(), object.resource_version().unwrap())).collect()
}

async fn everything(fixture: &Fixture) -> Vec<(String, String)> {
    let mut all = versions::<StatefulSet>(fixture).await;
    all.extend(versions::<Service>(fixture).await);
    all.extend(versions::<Secret>(fixture).await);
    all.extend(versions::<PersistentVolumeClaim>(fixture).await);
    all.extend(versions::<Ingress>(fixture).await);
    all
}

async fn password(fixture: &Fixture, bound: &Bound) -> String {
    match &bound.outputs["password"] {
        Output::SecretKeyRef(at) => fixture.secret(at).await,
        Output::Value(_) => panic!("the password is a plain value"),
    }
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn every_built_in_type_is_accepted_by_the_cluster_and_a_second_ensure_writes_nothing() {
    for type_ in [
        "amqp",
        "dns",
        "elasticsearch",
        "environment",
        "kafka",
        "kafka-topic",
        "mongodb",
        "mysql",
        "postgres",
        "redis",
        "route",
        "s3",
        "secret",
        "service-port",
        "volume",
    ] {
        let fixture = Fixture::new(&format!("all-{type_}")).await;
        let engine = Template::open(fixture.client.clone());
        let params = if type_ == "service-port" { json!({"workload": "web"}) } else { json!({}) };
        let instance = fixture.instance(type_, &params);
        let bound = fixture.bound(&engine, &instance).await;
        let before = everything(&fixture).await;
        // A new engine, without a cache.
        let engine = Template::open(fixture.client.clone());
        assert_eq!(fixture.ensure(&engine, &instance).await.unwrap(), Provision::Bound(bound), "{type_}");
        assert_eq!(everything(&fixture).await, before, "{type_}");
        fixture.release(&engine, type_, DeprovisionPolicy::Delete).await;
        assert_eq!(everything(&fixture).await, [], "{type_}");
        fixture.delete_namespace().await;
    }
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_retained_database_is_bound_again_with_its_data_and_password() {
    let fixture = Fixture::new("retain").await;
    let engine = Template::open(fixture.client.clone());
    let instance = fixture.instance("postgres", &json!({}));
    let bound = fixture.bound(&engine, &instance).await;
    let (before, volumes) =
        (password(&fixture, &bound).await, versions::<PersistentVolumeClaim>(&fixture).await);
    assert_eq!(before.len(), 32);

    fixture.release(&engine, "postgres", DeprovisionPolicy::Retain).await;
    assert_eq!(versions::<StatefulSet>(&fixture).await, []);
    assert_eq!(versions::<Service>(&fixture).await, []);
    assert_eq!(versions::<PersistentVolumeClaim>(&fixture).await, volumes);

    let again = fixture.bound(&engine, &instance).await;
    assert_eq!(password(&fixture, &again).await, before);
    assert_eq!(again, bound, "equal outputs cause no rollout");
    fixture.release(&engine, "postgres", DeprovisionPolicy::Delete).await;
    assert_eq!(everything(&fixture).await, []);
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn data_without_its_secret_is_reported_and_gets_no_new_password() {
    let fixture = Fixture::new("lost").await;
    let engine = Template::open(fixture.client.clone());
    let instance = fixture.instance("postgres", &json!({}));
    fixture.bound(&engine, &instance).await;
    let kept = fixture.instance_secret("postgres").await.unwrap().name_any();
    fixture.api::<Secret>().delete(&kept, &DeleteParams::default()).await.unwrap();
    match fixture.ensure(&engine, &instance).await {
        Err(DriverError { kind: DriverErrorKind::Unwatched, message, .. }) => {
            assert!(message.contains(&kept) && message.contains("was deleted"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert!(fixture.instance_secret("postgres").await.is_none());
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_exceeded_quota_is_reported_as_the_cause() {
    let fixture = Fixture::new("quota").await;
    let engine = Template::open(fixture.client.clone());
    let instance = fixture.instance("redis", &json!({}));
    let first = fixture.ensure(&engine, &instance).await.unwrap();
    assert!(matches!(first, Provision::Binding(_)), "{first:?}");
    let made = fixture.api::<StatefulSet>().list(&ListParams::default()).await.unwrap().items.remove(0);
    let about = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": made.name_any(),
        "namespace": made.namespace(), "uid": made.uid()});
    let event = json!({"metadata": {"generateName": "quota."}, "type": "Warning", "reason": "FailedCreate",
        "lastTimestamp": "2026-11-16T21:00:00Z", "involvedObject": about,
        "message": "create Pod redis-0 in StatefulSet redis failed error: pods \"redis-0\" is forbidden: exceeded quota: little, requested: requests.memory=64Mi, used: requests.memory=0, limited: requests.memory=16Mi"});
    let events: Api<Event> = fixture.api();
    events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    let blocked = fixture.ensure(&engine, &instance).await.unwrap();
    assert!(matches!(blocked, Provision::Blocked(Reason::QuotaExceeded, _)), "{blocked:?}");
    fixture.release(&engine, "redis", DeprovisionPolicy::Delete).await;
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_foreign_object_of_the_same_name_is_reported_and_left_alone() {
    let fixture = Fixture::new("foreign").await;
    let engine = Template::open(fixture.client.clone());
    let instance = fixture.instance("volume", &json!({}));
    fixture.bound(&engine, &instance).await;
    let name = versions::<PersistentVolumeClaim>(&fixture).await.remove(0).0;
    fixture.release(&engine, "volume", DeprovisionPolicy::Delete).await;

    let theirs = json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    let api: Api<PersistentVolumeClaim> = fixture.api();
    api.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    let before = versions::<PersistentVolumeClaim>(&fixture).await;
    let refused = fixture.ensure(&engine, &instance).await.unwrap_err();
    assert!(
        matches!(&refused, DriverError { kind: DriverErrorKind::Unwatched, message, .. } if message.contains(&name)),
        "{refused:?}"
    );
    fixture.release(&engine, "volume", DeprovisionPolicy::Delete).await;
    assert_eq!(versions::<PersistentVolumeClaim>(&fixture).await, before);
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn drift_of_owned_fields_is_corrected_and_foreign_fields_stay() {
    let fixture = Fixture::new("edit").await;
    let engine = Template::open(fixture.client.clone());
    let instance = fixture.instance("redis", &json!({}));
    fixture.bound(&engine, &instance).await;
    let name = versions::<Service>(&fixture).await.remove(0).0;
    let api: Api<Service> = fixture.api();
    let theirs = json!({"metadata": {"annotations": {"team": "a"}}, "spec": {"selector": {"app.kubernetes.io/instance": "x"}}});
    api.patch(&name, &PatchParams::default(), &Patch::Merge(&theirs)).await.unwrap();
    fixture.ensure(&engine, &instance).await.unwrap();
    let service = api.get(&name).await.unwrap();
    assert_eq!(service.annotations()["team"], "a");
    assert_eq!(service.spec.unwrap().selector.unwrap()["app.kubernetes.io/instance"], name);
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_orphan_is_left_alone_and_not_adopted_again() {
    let fixture = Fixture::new("orphan").await;
    let engine = Template::open(fixture.client.clone());
    let instance = fixture.instance("redis", &json!({}));
    fixture.bound(&engine, &instance).await;
    fixture.release(&engine, "redis", DeprovisionPolicy::Orphan).await;
    let sets = fixture.api::<StatefulSet>().list(&ListParams::default()).await.unwrap();
    assert!(!sets.items[0].labels().contains_key(label::MANAGED_BY));
    let refused = fixture.ensure(&engine, &instance).await.unwrap_err();
    assert!(refused.to_string().contains("policy `Orphan`"), "{refused}");
    let maps = fixture.api::<ConfigMap>().list(&ListParams::default().labels(label::INSTANCE)).await.unwrap();
    assert_eq!(maps.items.len(), 0);
    fixture.delete_namespace().await;
}
