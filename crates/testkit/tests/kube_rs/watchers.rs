//! Watchers: with lists, streaming, by selector, metadata only, into a store.

use std::{collections::BTreeMap, fmt::Debug, pin::pin};

use futures_util::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    core::PartialObjectMeta,
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef},
        watcher::{self, Event, watcher},
    },
};
use orchestra_testkit::eventually;
use serde_json::json;

use crate::kube_rs::garden::{NAMESPACE, coloured, config_map, garden, install};

on_both!(
    a_watcher_sees_the_initial_list_and_then_every_change,
    a_streaming_watcher_sees_the_same,
    a_watcher_reads_the_initial_list_in_pages,
    an_object_that_no_longer_matches_the_selector_is_deleted_for_its_watcher,
    metadata_watchers_see_metadata_of_every_change,
    the_store_of_a_reflector_equals_the_list,
    custom_objects_are_watched_across_all_namespaces,
    a_plain_watch_resumes_from_a_version_and_a_streaming_list_ends_with_a_bookmark,
    a_watch_from_an_invalid_version_is_rejected,
);

/// Summary of an event.
async fn next<K: Resource + Debug>(
    events: &mut (impl Stream<Item = watcher::Result<Event<K>>> + Unpin),
) -> String {
    match events.next().await.expect("watchers do not end").unwrap() {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => format!("found {}", object.name_any()),
        Event::InitDone => "ready".to_owned(),
        Event::Apply(object) => format!("apply {}", object.name_any()),
        Event::Delete(object) => format!("delete {}", object.name_any()),
    }
}

/// Changes a map to a new value.
async fn touch(maps: &Api<ConfigMap>, name: &str) {
    let version = maps.get(name).await.unwrap().resource_version();
    let patch = Patch::Merge(json!({"data": {"touched": version}}));
    maps.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

async fn follows_changes<K: Resource + Debug>(
    maps: &Api<ConfigMap>,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
) {
    let mut events = pin!(events);
    for expected in ["init", "found one", "found two", "ready"] {
        assert_eq!(next(&mut events).await, expected);
    }
    maps.create(&PostParams::default(), &coloured("three", "red")).await.unwrap();
    touch(maps, "one").await;
    maps.delete("two", &DeleteParams::default()).await.unwrap();
    for expected in ["apply three", "apply one", "delete two"] {
        assert_eq!(next(&mut events).await, expected);
    }
}

async fn two_red_maps(client: &Client) -> Api<ConfigMap> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    for map in [coloured("one", "red"), coloured("two", "red"), coloured("blue", "blue")] {
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    maps
}

fn red() -> watcher::Config {
    watcher::Config::default().labels("colour=red")
}

async fn a_watcher_sees_the_initial_list_and_then_every_change(client: Client) {
    let maps = two_red_maps(&client).await;
    follows_changes(&maps, watcher(maps.clone(), red())).await;
}

async fn a_streaming_watcher_sees_the_same(client: Client) {
    let maps = two_red_maps(&client).await;
    follows_changes(&maps, watcher(maps.clone(), red().streaming_lists())).await;
}

async fn a_watcher_reads_the_initial_list_in_pages(client: Client) {
    let maps = two_red_maps(&client).await;
    follows_changes(&maps, watcher(maps.clone(), red().page_size(1))).await;
}

async fn an_object_that_no_longer_matches_the_selector_is_deleted_for_its_watcher(client: Client) {
    let maps = two_red_maps(&client).await;
    for config in [red(), red().streaming_lists()] {
        let mut events = pin!(watcher(maps.clone(), config));
        while next(&mut events).await != "ready" {}
        for (colour, expected) in [("blue", "delete one"), ("red", "apply one")] {
            let patch = Patch::Merge(json!({"metadata": {"labels": {"colour": colour}}}));
            maps.patch("one", &PatchParams::default(), &patch).await.unwrap();
            assert_eq!(next(&mut events).await, expected);
        }
    }
}

async fn metadata_watchers_see_metadata_of_every_change(client: Client) {
    let maps = two_red_maps(&client).await;
    let metadata: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client, NAMESPACE);
    follows_changes(&maps, watcher(metadata.clone(), red())).await;
    maps.create(&PostParams::default(), &coloured("two", "red")).await.unwrap();
    maps.delete("three", &DeleteParams::default()).await.unwrap();
    #[expect(deprecated, reason = "controllers of today use it")]
    let events = kube::runtime::metadata_watcher(maps.clone(), red().streaming_lists());
    follows_changes(&maps, events).await;
}

async fn the_store_of_a_reflector_equals_the_list(client: Client) {
    let maps = two_red_maps(&client).await;
    let (store, writer) = reflector::store();
    let events = watcher(maps.clone(), watcher::Config::default().streaming_lists());
    let running = tokio::spawn(events.default_backoff().reflect(writer).for_each(|_| std::future::ready(())));
    store.wait_until_ready().await.unwrap();
    assert!(store.get(&ObjectRef::new("one").within(NAMESPACE)).is_some());
    for n in 0..10 {
        maps.create(&PostParams::default(), &config_map(&format!("map-{n}"), &[])).await.unwrap();
    }
    touch(&maps, "map-3").await;
    maps.delete("two", &DeleteParams::default()).await.unwrap();
    eventually("the store equals the list", async || {
        let by_name = |map: &ConfigMap| (map.name_any(), map.clone());
        let held: BTreeMap<_, _> = store.state().iter().map(|map| by_name(map)).collect();
        let listed = maps.list(&ListParams::default()).await?;
        Ok::<_, kube::Error>(held == listed.items.iter().map(by_name).collect())
    })
    .await;
    running.abort();
}

async fn custom_objects_are_watched_across_all_namespaces(client: Client) {
    let gardens = install(&client).await;
    let mut events = pin!(
        watcher(Api::all(client), watcher::Config::default())
            .map_ok(|event: Event<crate::kube_rs::garden::Garden>| event)
    );
    for expected in ["init", "ready"] {
        assert_eq!(next(&mut events).await, expected);
    }
    gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    assert_eq!(next(&mut events).await, "apply one");
    let status = Patch::Merge(json!({"status": {"planted": 1}}));
    gardens.patch_status("one", &PatchParams::default(), &status).await.unwrap();
    assert_eq!(next(&mut events).await, "apply one");
}

async fn a_plain_watch_resumes_from_a_version_and_a_streaming_list_ends_with_a_bookmark(client: Client) {
    let maps = two_red_maps(&client).await;
    let from = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    touch(&maps, "one").await;
    let last = maps.get("one").await.unwrap().resource_version().unwrap();
    let params = WatchParams::default().timeout(1);
    let events: Vec<_> = maps.watch(&params, &from).await.unwrap().try_collect().await.unwrap();
    assert!(
        matches!(&events[..1], [WatchEvent::Modified(map)] if map.name_any() == "one"),
        "the change after the version: {events:?}"
    );
    for event in &events[1..] {
        let WatchEvent::Bookmark(bookmark) = event else { panic!("{event:?}") };
        assert!(bookmark.metadata.resource_version.parse::<u64>().unwrap() >= last.parse().unwrap());
    }

    let params = WatchParams::streaming_lists().timeout(1);
    let events: Vec<_> = maps.watch(&params, "").await.unwrap().try_collect().await.unwrap();
    let end = events.iter().find_map(|event| match event {
        WatchEvent::Bookmark(bookmark) => Some(bookmark.metadata.annotations.clone()),
        _ => None,
    });
    assert_eq!(end.unwrap()["k8s.io/initial-events-end"], "true");
}

async fn a_watch_from_an_invalid_version_is_rejected(client: Client) {
    let maps = two_red_maps(&client).await;
    let params = WatchParams::default().timeout(1);
    let refused = maps.watch(&params, "nonsense").await.map(drop);
    assert_eq!(crate::kube_rs::garden::code(refused), 500);
}
