//! The life of things: made, found again, kept, removed, let go.

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
use orchestra_drivers::{DriverError, template::Template};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::support::Place;

async fn versions<K>(place: &Place) -> Vec<(String, String)>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let found = place.api::<K>().list(&ListParams::default()).await.unwrap();
    found.iter().map(|object| (object.name_any(), object.resource_version().unwrap())).collect()
}

async fn everything(place: &Place) -> Vec<(String, String)> {
    let mut all = versions::<StatefulSet>(place).await;
    all.extend(versions::<Service>(place).await);
    all.extend(versions::<Secret>(place).await);
    all.extend(versions::<PersistentVolumeClaim>(place).await);
    all.extend(versions::<Ingress>(place).await);
    all
}

async fn password(place: &Place, bound: &Bound) -> String {
    match &bound.outputs["password"] {
        Output::SecretKeyRef(at) => place.secret(at).await,
        Output::Value(_) => panic!("the password is told"),
    }
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn every_type_of_the_built_in_set_is_taken_by_the_cluster_and_a_second_look_writes_nothing() {
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
        let place = Place::new(&format!("all-{type_}")).await;
        let engine = Template::open(place.client.clone());
        let params = if type_ == "service-port" { json!({"workload": "web"}) } else { json!({}) };
        let instance = place.instance(type_, &params);
        let bound = place.bound(&engine, &instance).await;
        let before = everything(&place).await;
        // Another process, which remembers nothing.
        let engine = Template::open(place.client.clone());
        assert_eq!(place.ensure(&engine, &instance).await.unwrap(), Provision::Bound(bound), "{type_}");
        assert_eq!(everything(&place).await, before, "{type_}");
        place.release(&engine, type_, DeprovisionPolicy::Delete).await;
        assert_eq!(everything(&place).await, [], "{type_}");
        place.leave().await;
    }
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_database_that_is_retained_comes_back_with_its_data_and_its_password() {
    let place = Place::new("retain").await;
    let engine = Template::open(place.client.clone());
    let instance = place.instance("postgres", &json!({}));
    let bound = place.bound(&engine, &instance).await;
    let (before, volumes) = (password(&place, &bound).await, versions::<PersistentVolumeClaim>(&place).await);
    assert_eq!(before.len(), 32);

    place.release(&engine, "postgres", DeprovisionPolicy::Retain).await;
    assert_eq!(versions::<StatefulSet>(&place).await, []);
    assert_eq!(versions::<Service>(&place).await, []);
    assert_eq!(versions::<PersistentVolumeClaim>(&place).await, volumes);

    let again = place.bound(&engine, &instance).await;
    assert_eq!(password(&place, &again).await, before);
    assert_eq!(again, bound, "what uses it is not rolled");
    place.release(&engine, "postgres", DeprovisionPolicy::Delete).await;
    assert_eq!(everything(&place).await, []);
    place.leave().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn data_without_its_secret_is_told_and_no_new_password_is_made() {
    let place = Place::new("lost").await;
    let engine = Template::open(place.client.clone());
    let instance = place.instance("postgres", &json!({}));
    place.bound(&engine, &instance).await;
    let kept = place.kept("postgres").await.unwrap().name_any();
    place.api::<Secret>().delete(&kept, &DeleteParams::default()).await.unwrap();
    match place.ensure(&engine, &instance).await.unwrap() {
        Provision::Failed(_, message) => {
            assert!(message.contains(&kept) && message.contains("gone"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert!(place.kept("postgres").await.is_none());
    place.leave().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_server_for_which_there_is_no_quota_is_told_by_that() {
    let place = Place::new("quota").await;
    let engine = Template::open(place.client.clone());
    let instance = place.instance("redis", &json!({}));
    let begun = place.ensure(&engine, &instance).await.unwrap();
    assert!(matches!(begun, Provision::Binding(_)), "{begun:?}");
    let made = place.api::<StatefulSet>().list(&ListParams::default()).await.unwrap().items.remove(0);
    let about = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": made.name_any(),
        "namespace": made.namespace(), "uid": made.uid()});
    let event = json!({"metadata": {"generateName": "told."}, "type": "Warning", "reason": "FailedCreate",
        "lastTimestamp": "2026-11-16T21:00:00Z", "involvedObject": about,
        "message": "create Pod redis-0 in StatefulSet redis failed error: pods \"redis-0\" is forbidden: exceeded quota: little, requested: requests.memory=64Mi, used: requests.memory=0, limited: requests.memory=16Mi"});
    let events: Api<Event> = place.api();
    events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    let hindered = place.ensure(&engine, &instance).await.unwrap();
    assert!(matches!(hindered, Provision::Hindered(Reason::QuotaExceeded, _)), "{hindered:?}");
    place.release(&engine, "redis", DeprovisionPolicy::Delete).await;
    place.leave().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn what_others_made_under_the_same_name_is_told_and_left_alone() {
    let place = Place::new("foreign").await;
    let engine = Template::open(place.client.clone());
    let instance = place.instance("volume", &json!({}));
    place.bound(&engine, &instance).await;
    let name = versions::<PersistentVolumeClaim>(&place).await.remove(0).0;
    place.release(&engine, "volume", DeprovisionPolicy::Delete).await;

    let theirs = json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    let api: Api<PersistentVolumeClaim> = place.api();
    api.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
    let before = versions::<PersistentVolumeClaim>(&place).await;
    let refused = place.ensure(&engine, &instance).await.unwrap_err();
    assert!(
        matches!(&refused, DriverError::Refused { message, .. } if message.contains(&name)),
        "{refused:?}"
    );
    place.release(&engine, "volume", DeprovisionPolicy::Delete).await;
    assert_eq!(versions::<PersistentVolumeClaim>(&place).await, before);
    place.leave().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_edit_of_what_is_ours_is_put_back_and_of_what_is_not_is_left() {
    let place = Place::new("edit").await;
    let engine = Template::open(place.client.clone());
    let instance = place.instance("redis", &json!({}));
    place.bound(&engine, &instance).await;
    let name = versions::<Service>(&place).await.remove(0).0;
    let api: Api<Service> = place.api();
    let theirs = json!({"metadata": {"annotations": {"team": "a"}}, "spec": {"selector": {"app.kubernetes.io/instance": "x"}}});
    api.patch(&name, &PatchParams::default(), &Patch::Merge(&theirs)).await.unwrap();
    place.ensure(&engine, &instance).await.unwrap();
    let service = api.get(&name).await.unwrap();
    assert_eq!(service.annotations()["team"], "a");
    assert_eq!(service.spec.unwrap().selector.unwrap()["app.kubernetes.io/instance"], name);
    place.leave().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_orphan_is_left_as_it_is_and_is_not_taken_over_again() {
    let place = Place::new("orphan").await;
    let engine = Template::open(place.client.clone());
    let instance = place.instance("redis", &json!({}));
    place.bound(&engine, &instance).await;
    place.release(&engine, "redis", DeprovisionPolicy::Orphan).await;
    let sets = place.api::<StatefulSet>().list(&ListParams::default()).await.unwrap();
    assert!(!sets.items[0].labels().contains_key(label::MANAGED_BY));
    let refused = place.ensure(&engine, &instance).await.unwrap_err();
    assert!(refused.to_string().contains("policy `Orphan`"), "{refused}");
    let maps = place.api::<ConfigMap>().list(&ListParams::default().labels(label::INSTANCE)).await.unwrap();
    assert_eq!(maps.items.len(), 0);
    place.leave().await;
}
