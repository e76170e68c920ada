//! Complete controller: it creates, repairs, prunes and reports; the server collects its garbage.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    runtime::{Controller, controller::Action, watcher},
};
use orchestra_testkit::eventually;
use serde_json::json;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::kube_rs::garden::{Garden, NAMESPACE, config_map, garden, install, names};

on_both!(
    a_controller_converges_after_every_change,
    a_controller_works_with_streaming_lists,
    many_objects_converge_together,
);

const MANAGER: &str = "gardener";

/// Reconciles one config map per plant, prunes others, and writes the status.
async fn reconcile(garden: Arc<Garden>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let client = Client::clone(&client);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let label = format!("garden={}", garden.name_any());
    let params = PatchParams::apply(MANAGER).force();
    for plant in &garden.spec.plants {
        let mut map = config_map(&format!("{}-{plant}", garden.name_any()), &[("plant", plant)]);
        map.owner_references_mut().extend(garden.controller_owner_ref(&()));
        map.labels_mut().insert("garden".to_owned(), garden.name_any());
        maps.patch(&map.name_any(), &params, &Patch::Apply(&map)).await?;
    }
    let mut planted = 0;
    for map in maps.list(&ListParams::default().labels(&label)).await? {
        let plant = map.data.as_ref().and_then(|data| data.get("plant"));
        if plant.is_some_and(|plant| garden.spec.plants.contains(plant)) {
            planted += 1;
        } else {
            maps.delete(&map.name_any(), &DeleteParams::default()).await?;
        }
    }
    let gardens: Api<Garden> = Api::namespaced(client, NAMESPACE);
    let (name, generation) = (garden.name_any(), garden.metadata.generation);
    let applied = json!({
        "apiVersion": Garden::api_version(&()), "kind": Garden::kind(&()),
        "status": {"planted": planted, "observedGeneration": generation},
    });
    gardens.patch_status(&name, &params, &Patch::Apply(applied)).await?;
    let merged = json!({"status": {"weather": format!("seen as {}", garden.spec.climate)}});
    gardens.patch_status(&name, &PatchParams::default(), &Patch::Merge(merged)).await?;
    Ok(Action::await_change())
}

/// Running controller.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<usize>,
}

impl Running {
    fn start(client: &Client, config: &watcher::Config) -> Self {
        let (stop, stopped) = oneshot::channel();
        let gardens: Api<Garden> = Api::namespaced(client.clone(), NAMESPACE);
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        let results = Controller::new(gardens, config.clone())
            .owns(maps, config.clone())
            .graceful_shutdown_on(async { drop(stopped.await) })
            .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(10)), Arc::new(client.clone()));
        Self { stop, task: tokio::spawn(results.filter(|result| std::future::ready(result.is_ok())).count()) }
    }

    /// Stops it, and returns the number of reconciles.
    async fn end(self) -> usize {
        self.stop.send(()).unwrap();
        self.task.await.unwrap()
    }
}

async fn converges(client: &Client, name: &str, plants: &[&str]) {
    let gardens: Api<Garden> = Api::namespaced(client.clone(), NAMESPACE);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let expected: BTreeMap<_, _> =
        plants.iter().map(|&plant| (format!("{name}-{plant}"), plant.to_owned())).collect();
    let label = ListParams::default().labels(&format!("garden={name}"));
    eventually(format!("{name} has {plants:?} and reports them"), async || {
        let found: BTreeMap<_, _> = maps
            .list(&label)
            .await
            .map_err(|error| error.to_string())?
            .into_iter()
            .map(|map| (map.name_any(), map.data.unwrap_or_default().remove("plant").unwrap_or_default()))
            .collect();
        let garden = gardens.get_opt(name).await.map_err(|error| error.to_string())?;
        let status = garden.as_ref().and_then(|garden| garden.status.clone()).unwrap_or_default();
        let reported = garden.is_none_or(|garden| {
            status.observed_generation == garden.metadata.generation.unwrap()
                && status.planted as usize == plants.len()
                && status.weather.as_deref() == Some("seen as mild")
        });
        if found == expected && reported { Ok(true) } else { Err(format!("{found:?}, {status:?}")) }
    })
    .await;
}

async fn a_controller_converges_after_every_change(client: Client) {
    follows_every_change(client, &watcher::Config::default()).await;
}

async fn a_controller_works_with_streaming_lists(client: Client) {
    follows_every_change(client, &watcher::Config::default().streaming_lists()).await;
}

async fn follows_every_change(client: Client, config: &watcher::Config) {
    let gardens = install(&client).await;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    gardens.create(&PostParams::default(), &garden("old", &["oak"])).await.unwrap();
    let running = Running::start(&client, config);
    converges(&client, "old", &["oak"]).await;

    gardens.create(&PostParams::default(), &garden("new", &["rose", "fern"])).await.unwrap();
    converges(&client, "new", &["rose", "fern"]).await;
    let other = json!({"spec": {"plants": ["fern", "moss"]}});
    gardens.patch("new", &PatchParams::default(), &Patch::Merge(other)).await.unwrap();
    converges(&client, "new", &["fern", "moss"]).await;

    maps.delete("new-fern", &DeleteParams::default()).await.unwrap();
    converges(&client, "new", &["fern", "moss"]).await;
    let spoiled = Patch::Merge(json!({"data": {"plant": "weed"}}));
    maps.patch("new-moss", &PatchParams::default(), &spoiled).await.unwrap();
    converges(&client, "new", &["fern", "moss"]).await;

    gardens.delete("new", &DeleteParams::default()).await.unwrap();
    converges(&client, "new", &[]).await;
    converges(&client, "old", &["oak"]).await;
    assert!(running.end().await >= 4);
}

async fn many_objects_converge_together(client: Client) {
    let gardens = install(&client).await;
    let running = Running::start(&client, &watcher::Config::default());
    let all: Vec<_> = (0..20).map(|n| format!("garden-{n:02}")).collect();
    for name in &all {
        gardens.create(&PostParams::default(), &garden(name, &["rose", "fern"])).await.unwrap();
    }
    for name in &all {
        converges(&client, name, &["rose", "fern"]).await;
    }
    gardens.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    eventually("all maps are collected", async || {
        let left =
            maps.list(&ListParams::default().labels("garden")).await.map_err(|error| error.to_string())?;
        if left.items.is_empty() { Ok(true) } else { Err(format!("{:?}", names(&left.items))) }
    })
    .await;
    running.end().await;
}
