//! Reflector: the cache follows the server through failures, expired watches and malformed objects.

use axum::http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, CustomResource,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::ApiResource,
};
use orchestra_apiserver::{Options, ledger};
use orchestra_controllers::{
    engine::cache::{Cache, Event, Kind, ObjectChange},
    engine::deserialize_guard::DeserializeGuard,
    engine::reflector::{Selection, reflect},
    engine::shutdown::{self, ShutdownTrigger},
    metrics::Metrics,
};
use orchestra_testkit::{Matching, TestEnv, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

/// Cache with a reflector, and the changes it reports.
struct Reflector<K> {
    cache: Cache<K>,
    changes: mpsc::UnboundedReceiver<ObjectChange<K>>,
    metrics: Metrics,
    stopper: ShutdownTrigger,
    task: JoinHandle<()>,
}

impl<K: Kind> Reflector<K> {
    fn start(api: Api<DeserializeGuard<K>>, selection: Selection) -> Self {
        let (stopper, stop) = shutdown::channel();
        let (sender, changes) = mpsc::unbounded_channel();
        let (cache, metrics) = (Cache::default(), Metrics::default());
        let on_event = move |event| {
            if let Event::Changed(change) = event {
                drop(sender.send(change));
            }
        };
        let task = tokio::spawn(reflect(cache.clone(), api, selection, metrics.clone(), stop, on_event));
        Self { cache, changes, metrics, stopper, task }
    }

    /// Next change, with the name of its object.
    async fn next(&mut self) -> (String, ObjectChange<K>) {
        let change = self.changes.recv().await.unwrap();
        (change.object.meta().name.clone().unwrap(), change)
    }

    fn names(&self) -> Vec<String> {
        self.cache.keys().into_iter().map(|(_, name)| name).collect()
    }
}

fn map(name: &str, colour: &str) -> ConfigMap {
    let metadata = json!({"name": name, "labels": {"colour": colour}});
    serde_json::from_value(json!({"metadata": metadata, "data": {"colour": colour}})).unwrap()
}

fn maps(env: &TestEnv) -> Api<ConfigMap> {
    Api::namespaced(env.client(), "default")
}

async fn create(env: &TestEnv, name: &str, colour: &str) -> ConfigMap {
    maps(env).create(&PostParams::default(), &map(name, colour)).await.unwrap()
}

async fn recolour(env: &TestEnv, name: &str, colour: &str) -> ConfigMap {
    let patch = Patch::Merge(json!({"data": {"colour": colour}}));
    maps(env).patch(name, &PatchParams::default(), &patch).await.unwrap()
}

async fn delete(env: &TestEnv, name: &str) {
    maps(env).delete(name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn every_change_updates_the_cache_and_is_reported() {
    let env = TestEnv::start().await;
    create(&env, "a", "red").await;
    let mut reflector =
        Reflector::<ConfigMap>::start(Api::namespaced(env.client(), "default"), Selection::default());
    reflector.cache.synced().await;
    let (name, change) = reflector.next().await;
    assert_eq!((name.as_str(), change.previous, change.gone, change.echo), ("a", None, false, false));

    let red = reflector.cache.get("default", "a").unwrap();
    recolour(&env, "a", "blue").await;
    let (_, change) = reflector.next().await;
    assert_eq!((change.object.data.as_ref().unwrap()["colour"].as_str(), change.gone), ("blue", false));
    assert_eq!(change.previous, Some(red));
    assert_eq!(reflector.cache.get("default", "a"), Some(change.object));

    delete(&env, "a").await;
    assert!(reflector.next().await.1.gone && reflector.cache.is_empty());
    reflector.stopper.trigger();
    reflector.task.await.unwrap();
}

#[tokio::test]
async fn only_selected_objects_are_cached() {
    let env = TestEnv::start().await;
    create(&env, "a", "red").await;
    create(&env, "b", "blue").await;
    let red = Selection { labels: Some("colour=red".to_owned()), fields: None };
    let mut reflector = Reflector::<ConfigMap>::start(Api::all(env.client()), red);
    reflector.cache.synced().await;
    create(&env, "c", "blue").await;
    create(&env, "d", "red").await;
    assert_eq!(reflector.next().await.0, "a");
    assert_eq!(reflector.next().await.0, "d");
    assert_eq!(reflector.names(), ["a", "d"]);
}

#[tokio::test]
async fn a_long_list_is_read_in_pages() {
    let env = TestEnv::start().await;
    for n in 0..1100 {
        create(&env, &format!("map-{n:04}"), "red").await;
    }
    let reflector =
        Reflector::<ConfigMap>::start(Api::namespaced(env.client(), "default"), Selection::default());
    reflector.cache.synced().await;
    assert_eq!((reflector.cache.len(), reflector.changes.len()), (1100, 1100));
}

#[tokio::test]
async fn a_reflector_recovers_from_failed_lists_and_watches() {
    let env = TestEnv::start().await;
    let (lists, watches) = (Matching::any().verb(Verb::List), Matching::any().verb(Verb::Watch));
    env.faults().fail(lists.clone(), 1, StatusCode::INTERNAL_SERVER_ERROR);
    env.faults().drop_answer(lists, 2);
    env.faults().fail(watches.clone(), 1, StatusCode::TOO_MANY_REQUESTS);
    env.faults().drop_answer(watches, 2);
    let mut reflector = Reflector::<ConfigMap>::start(Api::all(env.faulty_client()), Selection::default());
    reflector.cache.synced().await;
    create(&env, "a", "red").await;
    assert_eq!(reflector.next().await.0, "a");
    let text = reflector.metrics.encode();
    assert!(text.contains(r#"orchestra_watch_errors_total{kind="ConfigMap"} 4"#), "{text}");
}

#[tokio::test]
async fn objects_deleted_between_watches_are_reported_after_the_next_list() {
    let short = ledger::Options { events: 50, ..ledger::Options::default() };
    let env = TestEnv::start_with(Options { ledger: short, ..Options::default() }).await;
    create(&env, "kept", "red").await;
    create(&env, "lost", "red").await;
    let held = env.faults().hold(Matching::any().verb(Verb::Watch), 1);
    let api = Api::namespaced(env.faulty_client(), "default");
    let mut reflector = Reflector::<ConfigMap>::start(api, Selection::default());
    held.until_triggered().await;
    assert_eq!((reflector.next().await.0, reflector.next().await.0), ("kept".to_owned(), "lost".to_owned()));
    delete(&env, "lost").await;
    for n in 0..200 {
        recolour(&env, "kept", &n.to_string()).await;
    }
    held.release();
    let (name, change) = reflector.next().await;
    assert_eq!((name.as_str(), change.gone), ("kept", false));
    let (name, change) = reflector.next().await;
    assert_eq!((name.as_str(), change.gone), ("lost", true));
    assert_eq!(reflector.names(), ["kept"]);
}

#[tokio::test]
async fn own_writes_are_in_the_cache_before_the_watch_delivers_them() {
    let env = TestEnv::start().await;
    create(&env, "a", "red").await;
    let held = env.faults().hold(Matching::any().verb(Verb::Watch), 1);
    let api = Api::namespaced(env.faulty_client(), "default");
    let mut reflector = Reflector::<ConfigMap>::start(api, Selection::default());
    held.until_triggered().await;
    reflector.next().await;
    recolour(&env, "a", "green").await;
    let answer = recolour(&env, "a", "blue").await;
    reflector.cache.wrote(&answer);
    let made = create(&env, "b", "red").await;
    delete(&env, "b").await;
    held.release();

    let read = reflector.cache.get("default", "a").unwrap();
    assert_eq!(read.metadata.resource_version, answer.metadata.resource_version);
    let (_, theirs) = reflector.next().await;
    let (_, ours) = reflector.next().await;
    assert_eq!((theirs.echo, ours.echo), (false, true));
    assert!(!reflector.next().await.1.gone && reflector.next().await.1.gone, "b was created and deleted");
    reflector.cache.wrote(&made);
    assert_eq!(reflector.names(), ["a"], "the late response does not restore b");
}

/// Kind whose Rust type is stricter than its CRD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(group = "sea.example.org", version = "v1", kind = "Boat", namespaced)]
struct BoatSpec {
    masts: u32,
}

fn loose_boats() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.example.org"},
        "spec": {
            "group": "sea.example.org", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

async fn launch(env: &TestEnv, name: &str, masts: Value) {
    let boats: Api<DynamicObject> =
        Api::namespaced_with(env.client(), "default", &ApiResource::erase::<Boat>(&()));
    let boat = json!({
        "apiVersion": "sea.example.org/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"masts": masts},
    });
    boats.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(boat)).await.unwrap();
}

#[tokio::test]
async fn malformed_objects_do_not_keep_others_from_the_cache() {
    let env = TestEnv::start().await;
    env.install(loose_boats()).await;
    launch(&env, "listed-bad", json!("two")).await;
    launch(&env, "listed-good", json!(2)).await;
    let mut reflector = Reflector::<Boat>::start(Api::all(env.client()), Selection::default());
    reflector.cache.synced().await;
    assert_eq!(reflector.next().await.0, "listed-good");

    launch(&env, "bad", json!({"no": "number"})).await;
    launch(&env, "listed-good", json!("many")).await;
    launch(&env, "good", json!(3)).await;
    assert_eq!(reflector.next().await.0, "good");
    assert_eq!(reflector.names(), ["good", "listed-good"]);
    let kept = reflector.cache.get("default", "listed-good").unwrap();
    assert_eq!(kept.spec.masts, 2, "the last valid version stays");
    let text = reflector.metrics.encode();
    assert!(text.contains(r#"orchestra_watch_malformed_total{kind="Boat"} 3"#), "{text}");

    let boats: Api<Boat> = Api::namespaced(env.client(), "default");
    let gone: Api<DynamicObject> =
        Api::namespaced_with(boats.into_client(), "default", &ApiResource::erase::<Boat>(&()));
    gone.delete("bad", &DeleteParams::default()).await.unwrap();
    gone.delete("listed-good", &DeleteParams::default()).await.unwrap();
    let (name, change) = reflector.next().await;
    assert_eq!((name.as_str(), change.gone, change.object.spec.masts), ("listed-good", true, 2));

    launch(&env, "listed-bad", json!(1)).await;
    let (name, change) = reflector.next().await;
    assert_eq!((name.as_str(), change.object.spec.masts), ("listed-bad", 1), "a repaired object is cached");
}
