//! Watch of the objects of instances. Only metadata is read.

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
    let events = watcher(api, config).default_backoff();
    let named = events.filter_map(|event| {
        let id = match event {
            Ok(watcher::Event::Apply(object) | watcher::Event::Delete(object)) => id(&object),
            // At startup everything is reconciled anyway.
            Ok(watcher::Event::Init | watcher::Event::InitApply(_) | watcher::Event::InitDone) => None,
            Err(error) => {
                tracing::warn!("the watch of what templates made broke: {error}");
                None
            }
        };
        std::future::ready(id)
    });
    named.boxed()
}

fn id<K>(object: &PartialObjectMeta<K>) -> Option<NamespacedName> {
    let labels = object.metadata.labels.as_ref()?;
    Some((object.metadata.namespace.clone()?, labels.get(label::INSTANCE)?.clone()))
}

async fn served(api: Api<PartialObjectMeta<DynamicObject>>) -> Api<PartialObjectMeta<DynamicObject>> {
    until_served(&api).await;
    api
}
