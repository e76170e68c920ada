//! Watch of the objects of instances. Only metadata is read.

use std::collections::BTreeSet;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Service},
    networking::v1::Ingress,
};
use kube::{
    Api, Client, Resource,
    core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};
use orchestra_api::label;
use orchestra_core::watch::Relist;
use serde::de::DeserializeOwned;

use crate::{NamespacedName, crd::until_served};

/// Page size of lists; only metadata is read.
const PAGE_SIZE: u32 = 50;

/// Instances whose objects are created, changed or deleted.
pub(super) fn objects(client: &Client) -> BoxStream<'static, NamespacedName> {
    let routes =
        ApiResource::from_gvk(&GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "HTTPRoute"));
    let routes: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), &routes);
    stream::select_all([
        of::<Deployment>(client),
        of::<StatefulSet>(client),
        of::<Job>(client),
        of::<PersistentVolumeClaim>(client),
        of::<Service>(client),
        of::<Ingress>(client),
        of::<ConfigMap>(client),
        stream::once(served(routes)).flat_map(changes).boxed(),
    ])
    .boxed()
}

fn of<K>(client: &Client) -> BoxStream<'static, NamespacedName>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    changes(Api::<PartialObjectMeta<K>>::all(client.clone()))
}

fn changes<K>(api: Api<PartialObjectMeta<K>>) -> BoxStream<'static, NamespacedName>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let selector = format!("{},{}={}", label::INSTANCE, label::MANAGED_BY, label::ORCHESTRA);
    let config = watcher::Config::default().labels(&selector).page_size(PAGE_SIZE);
    let mut watched = Relist::default();
    let events = watcher(api, config).default_backoff();
    events.flat_map(move |event| stream::iter(notified(&mut watched, event))).boxed()
}

/// Object of an instance: the instance, and the name of the object.
type Key = (NamespacedName, String);

/// Instances whose objects an event changes.
fn notified<K>(
    watched: &mut Relist<Key>,
    event: watcher::Result<watcher::Event<PartialObjectMeta<K>>>,
) -> Vec<NamespacedName> {
    match event {
        Ok(watcher::Event::Apply(object)) => {
            let Some(key) = key(&object) else { return Vec::new() };
            watched.changed(key.clone(), version(&object));
            vec![key.0]
        }
        Ok(watcher::Event::Delete(object)) => {
            let Some(key) = key(&object) else { return Vec::new() };
            watched.deleted(&key);
            vec![key.0]
        }
        Ok(watcher::Event::Init) => {
            watched.start();
            Vec::new()
        }
        Ok(watcher::Event::InitApply(object)) => {
            if let Some(key) = key(&object) {
                watched.list(key, version(&object));
            }
            Vec::new()
        }
        Ok(watcher::Event::InitDone) => {
            let instances: BTreeSet<_> = watched.finish().into_iter().map(|(instance, _)| instance).collect();
            instances.into_iter().collect()
        }
        Err(error) => {
            tracing::warn!("the watch of what templates made broke: {error}");
            Vec::new()
        }
    }
}

fn key<K>(object: &PartialObjectMeta<K>) -> Option<Key> {
    let labels = object.metadata.labels.as_ref()?;
    let instance = (object.metadata.namespace.clone()?, labels.get(label::INSTANCE)?.clone());
    Some((instance, object.metadata.name.clone()?))
}

fn version<K>(object: &PartialObjectMeta<K>) -> &str {
    object.metadata.resource_version.as_deref().unwrap_or_default()
}

async fn served(api: Api<PartialObjectMeta<DynamicObject>>) -> Api<PartialObjectMeta<DynamicObject>> {
    until_served(&api).await;
    api
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(instance: &str, name: &str, version: &str) -> PartialObjectMeta<Service> {
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "Service", "metadata": {
            "namespace": "shop", "name": name, "resourceVersion": version, "labels": {label::INSTANCE: instance},
        }}))
        .unwrap()
    }

    #[test]
    fn instances_whose_objects_changed_while_the_watch_was_broken_are_notified() {
        let mut watched = Relist::default();
        let mut list = |objects: &[(&str, &str, &str)]| {
            let listed = objects
                .iter()
                .map(|(instance, name, version)| watcher::Event::InitApply(object(instance, name, version)));
            let events = [watcher::Event::Init].into_iter().chain(listed).chain([watcher::Event::InitDone]);
            let notified = events.flat_map(|event| notified(&mut watched, Ok(event)));
            notified.map(|(_, instance)| instance).collect::<Vec<_>>()
        };
        assert!(list(&[("db", "db", "1"), ("cache", "cache", "2"), ("mail", "mail", "3")]).is_empty());
        assert_eq!(list(&[("db", "db", "1"), ("cache", "cache", "4")]), ["cache", "mail"]);
    }
}
