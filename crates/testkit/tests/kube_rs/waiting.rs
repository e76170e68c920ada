//! Waiting for a condition of one object.

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

use crate::kube_rs::garden::{Garden, NAMESPACE, config_map};

on_both!(
    a_definition_becomes_established,
    an_object_is_awaited_before_it_exists,
    a_change_is_awaited,
    a_deletion_is_awaited_until_the_last_finalizer_is_gone,
    a_successor_of_the_same_name_counts_as_deleted,
);

async fn a_definition_becomes_established(client: Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    let waiting = tokio::spawn({
        let definitions = definitions.clone();
        async move { await_condition(definitions, Garden::crd_name(), conditions::is_crd_established()).await }
    });
    definitions.create(&PostParams::default(), &Garden::crd()).await.unwrap();
    let definition = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(definition.status.unwrap().accepted_names.unwrap().plural, "gardens");
}

async fn an_object_is_awaited_before_it_exists(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let waiting = tokio::spawn(await_created(maps.clone()));
    maps.create(&PostParams::default(), &config_map("other", &[])).await.unwrap();
    maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    assert_eq!(waiting.await.unwrap().name_any(), "one");
}

async fn await_created(maps: Api<ConfigMap>) -> ConfigMap {
    await_condition(maps, "one", conditions::is_created()).await.unwrap().unwrap()
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
    let waiting = tokio::spawn({
        let maps = maps.clone();
        async move { await_condition(maps, "one", is_blue().or(|_: Option<&ConfigMap>| false)).await }
    });
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
    let waiting = tokio::spawn({
        let maps = maps.clone();
        async move { await_condition(maps, "one", conditions::is_deleted(&uid)).await }
    });
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
