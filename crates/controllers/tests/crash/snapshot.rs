//! Comparable state of a platform, without what differs between two runs of a scenario.

use std::{collections::BTreeMap, fmt::Debug};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Resource, ResourceExt, api::ListParams, core::NamespaceResourceScope};
use orchestra_api::{ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use crate::common::Platform;

/// State of the API, the runtime and the provisioner.
pub(crate) async fn snapshot(platform: &Platform) -> Json {
    let secrets = platform.api::<Secret>().list(&ListParams::default()).await.unwrap();
    let running = platform.runtime.everywhere();
    let running = running.into_iter().map(|((place, backend), running)| {
        json!({
            "place": place, "backend": backend, "uid": running.uid, "revision": running.revision,
            "variables": running.variables, "rollouts": running.rollouts,
        })
    });
    let mut released = platform.provisioner.released();
    released.sort();
    let mut all = json!({
        "workloads": list::<Workload>(platform).await,
        "claims": list::<ResourceClaim>(platform).await,
        "plans": list::<WorkloadPlan>(platform).await,
        "exposures": list::<WorkloadExposure>(platform).await,
        "secrets": secrets.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        "running": running.collect::<Vec<_>>(),
        "rollouts": platform.runtime.rollouts().into_iter().collect::<Vec<_>>(),
        "instances": platform.provisioner.instances().into_keys().collect::<Vec<_>>(),
        "creations": platform.provisioner.creations().into_iter().collect::<Vec<_>>(),
        "released": released,
    });
    number(&mut all, &mut BTreeMap::new());
    all
}

async fn list<K>(platform: &Platform) -> Vec<Json>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let api: Api<K> = platform.api();
    let objects = api.list(&ListParams::default()).await.unwrap();
    objects.items.iter().map(|object| timeless(serde_json::to_value(object).unwrap())).collect()
}

/// Object without times and versions. The number of writes of its spec does not matter, only whether its status is
/// up to date.
fn timeless(mut object: Json) -> Json {
    let generation = object["metadata"]["generation"].take();
    for status in ["/status/observedGeneration"] {
        if let Some(observed) = object.pointer_mut(status) {
            *observed = json!(*observed == generation);
        }
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "creationTimestamp", "generation"] {
            metadata.remove(field);
        }
    }
    let conditions = object.pointer_mut("/status/conditions").and_then(Json::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Json::as_object_mut) {
        condition.remove("lastTransitionTime");
    }
    object
}

/// Replaces random values by the number of their first occurrence, so that equal values stay equal.
fn number(value: &mut Json, seen: &mut BTreeMap<String, usize>) {
    match value {
        Json::Array(list) => list.iter_mut().for_each(|item| number(item, seen)),
        Json::Object(map) => {
            for (key, item) in map {
                let is_random =
                    ["uid", "revision", "observedRevision", "outputsRevision"].contains(&key.as_str());
                match item {
                    Json::String(text) if is_random => {
                        let next = seen.len();
                        let number = *seen.entry(text.clone()).or_insert(next);
                        *item = json!(format!("#{number}"));
                    }
                    item => number(item, seen),
                }
            }
        }
        _ => {}
    }
}
