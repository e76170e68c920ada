//! Waiting for a condition of one object.

use std::sync::Arc;

use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResourceExt, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{
        conditions,
        wait::{Condition, await_condition},
    },
};
use serde_json::json;
use tokio::sync::Notify;

use crate::kube_rs::garden::{Garden, NAMESPACE, config_map};

on_both!(
    a_definition_becomes_established,
    an_object_is_awaited_before_it_exists,
    a_change_is_awaited,
    a_deletion_is_awaited_until_the_last_finalizer_is_gone,
    a_successor_of_the_same_name_counts_as_deleted,
);

/// Condition that notifies when it is evaluated, so that a test makes its change after the wait has begun.
fn observed<K>(
    condition: impl Condition<K> + Send + 'static,
) -> (impl Condition<K> + Send + 'static, Arc<Notify>) {
    let evaluated = Arc::new(Notify::new());
    let notify = Arc::clone(&evaluated);
    let observed = move |object: Option<&K>| {
        notify.notify_one();
        condition.matches_object(object)
    };
    (observed, evaluated)
}

async fn a_definition_becomes_established(client: Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    let (is_established, evaluated) = observed(conditions::is_crd_established());
    let waiting = tokio::spawn({
        let definitions = definitions.clone();
        async move { await_condition(definitions, Garden::crd_name(), is_established).await }
    });
    evaluated.notified().await;
    definitions.create(&PostParams::default(), &Garden::crd()).await.unwrap();
    let definition = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(definition.status.unwrap().accepted_names.unwrap().plural, "gardens");
}

async fn an_object_is_awaited_before_it_exists(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let (is_created, evaluated) = observed(conditions::is_created());
    let waiting = tokio::spawn({
        let maps = maps.clone();
        async move { await_condition(maps, "one", is_created).await }
    });
    evaluated.notified().await;
    maps.create(&PostParams::default(), &config_map("other", &[])).await.unwrap();
    maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().unwrap().name_any(), "one");
}

fn is_blue() -> impl Condition<ConfigMap> {
    |map: Option<&ConfigMap>| {
        map.and_then(|map| map.data.as_ref())
            .is_some_and(|data| data.get("colour").is_some_and(|c| c == "blue"))
    }
}

async fn a_change_is_awaited(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    let (is_blue, evaluated) = observed(is_blue().or(|_: Option<&ConfigMap>| false));
    let waiting = tokio::spawn({
        let maps = maps.clone();
        async move { await_condition(maps, "one", is_blue).await }
    });
    evaluated.notified().await;
    for colour in ["red", "green", "blue"] {
        let patch = Patch::Merge(json!({"data": {"colour": colour}}));
        maps.patch("one", &PatchParams::default(), &patch).await.unwrap();
    }
    assert_eq!(waiting.await.unwrap().unwrap().unwrap().data.unwrap()["colour"], "blue");
}

async fn a_deletion_is_awaited_until_the_last_finalizer_is_gone(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let mut map = config_map("one", &[]);
    map.finalizers_mut().push("example.org/hold".to_owned());
    let uid = maps.create(&PostParams::default(), &map).await.unwrap().uid().unwrap();
    maps.delete("one", &DeleteParams::default()).await.unwrap();
    let (is_deleted, evaluated) =
        observed(move |map: Option<&ConfigMap>| conditions::is_deleted(&uid).matches_object(map));
    let waiting = tokio::spawn({
        let maps = maps.clone();
        async move { await_condition(maps, "one", is_deleted).await }
    });
    evaluated.notified().await;
    assert!(maps.get("one").await.unwrap().metadata.deletion_timestamp.is_some());
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("one", &PatchParams::default(), &patch).await.unwrap();
    assert!(waiting.await.unwrap().unwrap().is_none());
}

async fn a_successor_of_the_same_name_counts_as_deleted(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let uid = maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap().uid().unwrap();
    maps.delete("one", &DeleteParams::default()).await.unwrap();
    let second = maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    let seen = await_condition(maps, "one", conditions::is_deleted(&uid)).await.unwrap();
    assert_eq!(seen.unwrap().uid(), second.uid());
}
