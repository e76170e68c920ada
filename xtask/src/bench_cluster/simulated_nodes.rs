//! Simulated nodes: they report every Deployment as ready at once.

use std::{collections::BTreeMap, pin::pin, sync::Arc};

use futures_util::TryStreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PartialObjectMeta, Patch, PatchParams, WatchEvent, WatchParams},
};
use serde_json::json;
use tokio::sync::Semaphore;

use super::Failure;

/// Concurrent requests.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// Generations of the Deployments that were reported, by namespace and name. They outlive the watch, which ends every few
/// minutes: to report all again would delay new ones, and load the server in the middle of a measurement.
type Reported = BTreeMap<(String, String), i64>;

/// Runs until it is stopped.
pub(super) async fn simulate(client: Client) {
    let mut reported = Reported::new();
    while let Err(error) = follow(&client, &mut reported).await {
        eprintln!("the simulated nodes restart: {error}");
    }
}

async fn follow(client: &Client, reported: &mut Reported) -> Result<(), Failure> {
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    let deployments: Api<Deployment> = Api::all(client.clone());
    let listed = deployments.list_metadata(&ListParams::default()).await?;
    let version = listed.metadata.resource_version.unwrap_or_default();
    let mut handle = async |object: PartialObjectMeta<Deployment>| -> Result<(), Failure> {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let generation = object.metadata.generation.unwrap_or(1);
        if reported.insert((namespace.clone(), name.clone()), generation) == Some(generation) {
            return Ok(());
        }
        let permit = Arc::clone(&permits).acquire_owned().await?;
        let deployments = Api::namespaced(client.clone(), &namespace);
        tokio::spawn(async move {
            let _permit = permit;
            if let Err(error) = report_ready(&deployments, &name, generation).await {
                eprintln!("failed to update the status of {name}: {error}");
            }
        });
        Ok(())
    };
    for object in listed.items {
        handle(object).await?;
    }
    let events = deployments.watch_metadata(&WatchParams::default().timeout(290), &version).await?;
    let mut events = pin!(events);
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event {
            handle(object).await?;
        }
    }
    Err("the watch ended".into())
}

/// Reports the only replica of a Deployment as ready.
async fn report_ready(deployments: &Api<Deployment>, name: &str, generation: i64) -> Result<(), Failure> {
    let status = json!({"status": {
        "observedGeneration": generation,
        "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "Played."},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "Played."},
        ],
    }});
    deployments.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}
