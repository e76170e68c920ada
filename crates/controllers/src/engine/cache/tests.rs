use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde_json::json;

use super::*;
use crate::engine::cache::store::Source;

/// Config map at a resource version, with the uid `NAME-first`.
fn map(name: &str, version: u64, colour: &str) -> ConfigMap {
    other(name, "first", version, colour)
}

fn other(name: &str, uid: &str, version: u64, colour: &str) -> ConfigMap {
    let metadata = json!({
        "name": name, "namespace": "shop", "uid": format!("{name}-{uid}"), "resourceVersion": version.to_string(),
    });
    serde_json::from_value(json!({"metadata": metadata, "data": {"colour": colour}})).unwrap()
}

fn colour(map: &ConfigMap) -> &str {
    &map.data.as_ref().unwrap()["colour"]
}

fn by_colour() -> Cache<ConfigMap> {
    Cache::new(Options { index: |map| vec![colour(map).to_owned()], ..Options::default() })
}

fn watched(cache: &Cache<ConfigMap>, map: ConfigMap) -> ObjectChange<ConfigMap> {
    let mut changes = cache.store_mut().apply(map, Source::Watch);
    assert_eq!(changes.len(), 1);
    changes.remove(0)
}

fn version(cache: &Cache<ConfigMap>, name: &str) -> Option<String> {
    cache.get("shop", name)?.metadata.resource_version
}

/// Complete list at a revision.
fn list(cache: &Cache<ConfigMap>, revision: u64, maps: &[ConfigMap]) -> Vec<ObjectChange<ConfigMap>> {
    cache.store_mut().begin_list(revision);
    let mut changes = Vec::new();
    let mut listed = BTreeMap::new();
    for map in maps {
        let meta = &map.metadata;
        listed.insert(("shop".into(), meta.name.clone().unwrap().into()), meta.uid.clone().unwrap().into());
        changes.extend(cache.store_mut().apply(map.clone(), Source::List));
    }
    changes.extend(cache.store_mut().end_list(revision, &listed));
    changes
}

#[test]
fn objects_are_found_by_name_and_by_index_in_order() {
    let cache = by_colour();
    for (name, version, colour) in [("b", 1, "red"), ("a", 2, "red"), ("c", 3, "blue")] {
        watched(&cache, map(name, version, colour));
    }
    let names = |maps: Vec<ConfigMap>| maps.into_iter().filter_map(|m| m.metadata.name).collect::<Vec<_>>();
    assert_eq!(names(cache.indexed("red")), ["a", "b"]);
    watched(&cache, map("a", 4, "blue"));
    assert_eq!(names(cache.indexed("red")), ["b"]);
    assert_eq!(names(cache.indexed("blue")), ["a", "c"]);
    assert_eq!(names(cache.all()), ["a", "b", "c"]);
    assert_eq!(cache.keys()[0], ("shop".to_owned(), "a".to_owned()));
    cache.store_mut().delete(Ok(map("b", 5, "red")));
    assert!(cache.indexed("red").is_empty() && cache.get("shop", "b").is_none());
    assert_eq!(cache.len(), 2);
}

#[test]
fn managed_fields_are_dropped() {
    let cache = Cache::<ConfigMap>::default();
    let mut map = map("a", 1, "red");
    map.metadata.managed_fields = Some(vec![serde_json::from_value(json!({"manager": "m"})).unwrap()]);
    let change = watched(&cache, map);
    assert_eq!(change.object.metadata.managed_fields, None);
    assert_eq!(cache.get("shop", "a"), Some(change.object));
}

#[test]
fn an_own_write_is_read_at_once_and_its_watch_event_is_an_echo() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    cache.wrote(&map("a", 2, "blue"));
    assert_eq!((version(&cache, "a").as_deref(), cache.indexed("blue").len()), (Some("2"), 1));
    let echo = watched(&cache, map("a", 2, "blue"));
    assert!(echo.echo && !echo.gone);
    assert_eq!(echo.previous.as_ref().map(colour), Some("red"));
}

#[test]
fn an_older_answer_does_not_replace_a_newer_version() {
    let cache = by_colour();
    watched(&cache, map("a", 5, "red"));
    cache.wrote(&map("a", 4, "blue"));
    assert_eq!(version(&cache, "a").as_deref(), Some("5"));
}

#[test]
fn a_foreign_write_before_an_own_one_is_reported_and_is_no_echo() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    cache.wrote(&map("a", 3, "blue"));
    let theirs = watched(&cache, map("a", 2, "green"));
    assert!(!theirs.echo);
    assert_eq!((colour(&theirs.object), theirs.previous.as_ref().map(colour)), ("green", Some("red")));
    assert_eq!(version(&cache, "a").as_deref(), Some("3"), "reads return the newer version");
    let ours = watched(&cache, map("a", 3, "blue"));
    assert!(ours.echo);
    assert_eq!(ours.previous.as_ref().map(colour), Some("green"));
}

#[test]
fn an_own_write_in_a_list_is_no_echo_since_the_list_may_hide_foreign_writes() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    cache.wrote(&map("a", 3, "blue"));
    let first = list(&cache, 4, &[map("a", 3, "blue")]);
    assert!(!first[0].echo);
    assert_eq!(first[0].previous.as_ref().map(colour), Some("red"));
    assert!(list(&cache, 5, &[map("a", 3, "blue")])[0].echo, "the watch has reported it by now");
}

#[test]
fn an_answer_does_not_restore_a_deleted_object() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    cache.store_mut().delete(Ok(map("a", 3, "red")));
    cache.wrote(&map("a", 2, "blue"));
    assert_eq!(version(&cache, "a"), None);
    // The same if only a list or a bookmark shows the deletion.
    list(&cache, 6, &[]);
    cache.wrote(&map("b", 5, "blue"));
    cache.store_mut().passed(9);
    cache.wrote(&map("b", 8, "blue"));
    assert!(cache.is_empty());
    cache.wrote(&map("b", 10, "blue"));
    assert_eq!(version(&cache, "b").as_deref(), Some("10"));
}

#[test]
fn a_list_removes_missing_objects_except_those_created_after_it() {
    let cache = by_colour();
    watched(&cache, map("gone", 1, "red"));
    cache.store_mut().begin_list(5);
    cache.wrote(&map("new", 6, "blue"));
    let changes = cache.store_mut().end_list(5, &BTreeMap::new());
    assert_eq!(changes.len(), 1);
    assert!(changes[0].gone && changes[0].object == map("gone", 1, "red"));
    assert_eq!(cache.keys(), [("shop".to_owned(), "new".to_owned())]);
}

#[test]
fn an_own_delete_is_read_at_once_and_older_events_do_not_undo_it() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    cache.removed("shop", "a", "another uid");
    assert_eq!(cache.len(), 1);
    cache.removed("shop", "a", "a-first");
    assert!(cache.is_empty());
    assert!(cache.store_mut().apply(map("a", 2, "blue"), Source::Watch).is_empty());
    assert!(list(&cache, 2, &[map("a", 2, "blue")]).is_empty() && cache.is_empty());
    let end = cache.store_mut().delete(Ok(map("a", 3, "blue"))).unwrap();
    assert!(end.gone && end.echo);
    assert_eq!(end.previous.as_ref().map(colour), Some("red"));
    watched(&cache, other("a", "second", 4, "green"));
    assert_eq!(cache.len(), 1);
}

#[test]
fn removing_the_last_finalizer_of_a_deleted_object_removes_it() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    let mut dying = map("a", 2, "red");
    dying.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
    dying.metadata.finalizers = Some(vec!["score.dev/hold".to_owned()]);
    cache.wrote(&dying);
    assert_eq!(version(&cache, "a").as_deref(), Some("2"));
    dying.metadata.finalizers = None;
    cache.wrote(&dying);
    assert!(cache.is_empty());
}

#[test]
fn a_replaced_object_is_reported_as_deleted_and_created() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    let changes = list(&cache, 5, &[other("a", "second", 4, "blue")]);
    assert_eq!(changes.iter().map(|change| change.gone).collect::<Vec<_>>(), [true, false]);
    assert_eq!((colour(&changes[0].object), &changes[1].previous), ("red", &None));
}

#[test]
fn the_deletion_of_an_object_does_not_remove_its_replacement() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    cache.wrote(&other("a", "second", 3, "blue"));
    let end = cache.store_mut().delete(Ok(map("a", 2, "red"))).unwrap();
    assert_eq!((end.gone, end.previous), (true, Some(map("a", 1, "red"))));
    assert_eq!(version(&cache, "a").as_deref(), Some("3"));
    let begin = watched(&cache, other("a", "second", 3, "blue"));
    assert_eq!((begin.echo, begin.previous), (true, None));
}

#[test]
fn an_invalid_object_keeps_its_earlier_version_unless_the_uid_differs() {
    let cache = by_colour();
    watched(&cache, map("a", 1, "red"));
    let meta = |map: ConfigMap| -> ObjectMeta { map.metadata };
    assert_eq!(cache.store_mut().malformed(&meta(map("a", 2, "")), "{}", Source::Watch), None);
    assert_eq!(version(&cache, "a").as_deref(), Some("1"));
    let end = cache.store_mut().malformed(&meta(other("a", "second", 4, "")), "{}", Source::Watch).unwrap();
    assert!(end.gone && cache.is_empty());
    assert_eq!(cache.store_mut().delete(Err(meta(other("a", "second", 5, "")))), None);
}

#[test]
fn a_list_of_a_server_with_lower_revisions_replaces_everything() {
    let cache = by_colour();
    watched(&cache, map("a", 500, "red"));
    watched(&cache, map("b", 501, "red"));
    let changes = list(&cache, 9, &[other("a", "second", 7, "blue")]);
    assert_eq!(changes.iter().map(|change| change.gone).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!((version(&cache, "a").as_deref(), cache.len()), (Some("7"), 1));
    cache.wrote(&other("a", "second", 10, "green"));
    assert_eq!(version(&cache, "a").as_deref(), Some("10"));
}
