//! Lists: pagination, selectors, versions, metadata only; deletion of collections.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, PostParams, VersionMatch},
    core::{Expression, Selector},
};
use serde_json::{from_value, json};

use crate::kube_rs::garden::{Garden, NAMESPACE, code, coloured, config_map, garden, install, names};

on_both!(
    pages_are_a_consistent_snapshot_of_the_first_page,
    label_selectors_filter_lists,
    field_selectors_filter_lists,
    selectable_fields_of_the_crd_filter_lists,
    metadata_can_be_listed_alone,
    collections_are_deleted_by_selector,
    a_list_is_not_older_than_requested,
);

async fn make(api: &Api<ConfigMap>, maps: impl IntoIterator<Item = ConfigMap>) {
    for map in maps {
        api.create(&PostParams::default(), &map).await.unwrap();
    }
}

async fn pages_are_a_consistent_snapshot_of_the_first_page(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    make(&maps, (0..10).map(|n| config_map(&format!("map-{n}"), &[]))).await;

    let first = maps.list(&ListParams::default().limit(4)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(6));
    make(&maps, [config_map("map-99", &[])]).await;
    maps.delete("map-9", &DeleteParams::default()).await.unwrap();
    let (mut seen, mut sizes) = (names(&first.items), vec![first.items.len()]);
    let mut token = first.metadata.continue_;
    while let Some(next) = token.filter(|token| !token.is_empty()) {
        let page = maps.list(&ListParams::default().limit(4).continue_token(&next)).await.unwrap();
        assert_eq!(page.metadata.resource_version, first.metadata.resource_version);
        seen.extend(names(&page.items));
        sizes.push(page.items.len());
        token = page.metadata.continue_;
    }
    assert_eq!(sizes, [4, 4, 2]);
    assert_eq!(seen, (0..10).map(|n| format!("map-{n}")).collect::<Vec<_>>());
    assert_eq!(code(maps.list(&ListParams::default().limit(4).continue_token("nonsense")).await), 400);
}

async fn label_selectors_filter_lists(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    make(&maps, [coloured("one", "red"), coloured("two", "blue"), config_map("three", &[])]).await;
    for (selector, expected) in [
        ("colour=red", &["one"][..]),
        ("colour!=red", &["three", "two"]),
        ("colour in (red,blue)", &["one", "two"]),
        ("colour notin (red)", &["three", "two"]),
        ("colour", &["one", "two"]),
        ("!colour", &["three"]),
    ] {
        let found = maps.list(&ListParams::default().labels(selector)).await.unwrap();
        assert_eq!(names(&found.items), expected, "{selector}");
    }
    let selector: Selector = Expression::In("colour".to_owned(), ["red".to_owned()].into()).into();
    let found = maps.list(&ListParams::default().labels_from(&selector)).await.unwrap();
    assert_eq!(names(&found.items), ["one"]);
    assert_eq!(code(maps.list(&ListParams::default().labels("a b c")).await), 400);
}

async fn field_selectors_filter_lists(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    make(&maps, [config_map("one", &[]), config_map("two", &[])]).await;
    let found = maps.list(&ListParams::default().fields("metadata.name=two")).await.unwrap();
    assert_eq!(names(&found.items), ["two"]);
    let everywhere: Api<ConfigMap> = Api::all(client.clone());
    let there = ListParams::default().fields("metadata.namespace=default,metadata.name!=two");
    assert!(names(&everywhere.list(&there).await.unwrap().items).contains(&"one".to_owned()));
    assert_eq!(code(maps.list(&ListParams::default().fields("data.colour=red")).await), 400);

    let secrets: Api<Secret> = Api::namespaced(client, NAMESPACE);
    for (name, kind) in [("plain", "Opaque"), ("own", "example.org/own")] {
        let secret = from_value(json!({"metadata": {"name": name}, "type": kind})).unwrap();
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }
    let found = secrets.list(&ListParams::default().fields("type=example.org/own")).await.unwrap();
    assert_eq!(names(&found.items), ["own"]);
}

async fn selectable_fields_of_the_crd_filter_lists(client: Client) {
    let gardens = install(&client).await;
    for (name, climate) in [("one", "dry"), ("two", "wet")] {
        let mut garden = garden(name, &[]);
        garden.spec.climate = climate.to_owned();
        gardens.create(&PostParams::default(), &garden).await.unwrap();
    }
    let found = gardens.list(&ListParams::default().fields("spec.climate=wet")).await.unwrap();
    assert_eq!(names(&found.items), ["two"]);
    assert_eq!(code(gardens.list(&ListParams::default().fields("spec.plants=rose")).await), 400);
}

async fn metadata_can_be_listed_alone(client: Client) {
    let gardens = install(&client).await;
    gardens.create(&PostParams::default(), &garden("one", &["rose"])).await.unwrap();
    let listed = gardens.list_metadata(&ListParams::default()).await.unwrap();
    let types = listed.items[0].types.clone().unwrap();
    assert_eq!(
        (types.kind.as_str(), types.api_version.as_str()),
        ("PartialObjectMetadata", "meta.k8s.io/v1")
    );
    let whole = gardens.get("one").await.unwrap();
    assert_eq!(listed.items[0].metadata, whole.metadata);
    assert_eq!(gardens.get_metadata("one").await.unwrap().metadata, whole.metadata);
    assert!(gardens.get_metadata_opt("none").await.unwrap().is_none());
}

async fn collections_are_deleted_by_selector(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    make(&maps, [coloured("one", "red"), coloured("two", "red"), coloured("three", "blue")]).await;
    let red = ListParams::default().labels("colour=red");
    let deleted = maps.delete_collection(&DeleteParams::default(), &red).await.unwrap();
    let deleted = deleted.left().expect("the list of deleted objects");
    assert_eq!(names(&deleted.items), ["one", "two"]);
    assert_eq!(names(&maps.list(&ListParams::default().labels("colour")).await.unwrap().items), ["three"]);

    let gardens: Api<Garden> = install(&client).await;
    gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    gardens.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert!(gardens.list(&ListParams::default()).await.unwrap().items.is_empty());
}

async fn a_list_is_not_older_than_requested(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let created = maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    let version = created.resource_version().unwrap();
    let params = ListParams::default().at(&version).matching(VersionMatch::NotOlderThan);
    let list = maps.list(&params).await.unwrap();
    let seen: u64 = list.metadata.resource_version.unwrap().parse().unwrap();
    assert!(seen >= version.parse().unwrap(), "{seen} {version}");
    assert!(names(&list.items).contains(&"one".to_owned()));
    assert!(maps.list(&ListParams::default().match_any()).await.is_ok());
}
