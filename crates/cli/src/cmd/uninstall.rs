//! `orchestra uninstall`: removes the orchestrator from a cluster, but nothing that is still in use.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Namespace, Pod},
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, ObjectList},
};
use orchestra_api::{
    API_VERSION, SYSTEM_NAMESPACE, Workload,
    config::{CONFIG_MAP, IN_FORCE_MAP},
};
use serde_json::{Value as Json, json};

use super::{
    cluster::{LEASE, SERVER_CONFIG_MAP, SERVING_SECRET},
    install::{
        ORCHESTRA, api,
        manifests::{self, Settings},
        name,
        ready::poll_until,
        title,
    },
    platform::{self, Platform},
};
use crate::{
    args::Uninstall,
    error::{CliError, root_cause},
    exit::Exit,
    ui,
};

/// Kinds of foreign objects in the system namespace, with the names that do not count.
const FOREIGN_KINDS: &[(&str, &str, &[&str])] = &[
    ("apps/v1", "Deployment", &[]),
    ("apps/v1", "StatefulSet", &[]),
    ("apps/v1", "DaemonSet", &[]),
    ("batch/v1", "Job", &[]),
    ("batch/v1", "CronJob", &[]),
    ("v1", "Service", &[]),
    ("v1", "PersistentVolumeClaim", &[]),
    ("v1", "Secret", &[]),
    ("v1", "ConfigMap", &["kube-root-ca.crt", CONFIG_MAP, IN_FORCE_MAP]),
];

pub(crate) fn run(args: &Uninstall) -> Result<Exit, CliError> {
    platform::block_on(async {
        let cluster = Platform::cluster(&args.cluster).await?;
        uninstall(args, &cluster).await
    })
}

async fn uninstall(args: &Uninstall, cluster: &Platform) -> Result<Exit, CliError> {
    let client = &cluster.client;
    let api_error = |error| cluster.api_error("the orchestrator", error);
    let workloads = workloads(client).await.map_err(api_error)?;
    if !workloads.is_empty() {
        if !args.delete_workloads {
            return Err(CliError::WorkloadsExist(count(&workloads)));
        }
        delete_workloads(args, cluster, &workloads).await?;
    }
    if !args.keep_crds {
        check_finalizers(client).await.map_err(api_error)??;
    }
    // First the controllers, which would recreate the rest.
    let mut was_installed = stop_orchestrator(args, cluster).await?;
    let mut objects = manifests::objects(&Settings::default())?;
    objects.extend(runtime_objects());
    objects.reverse();
    // The namespace is deleted last, and only without foreign objects.
    let (kept, removed): (Vec<Json>, Vec<Json>) = objects.into_iter().partition(|object| {
        let kind = object["kind"].as_str().unwrap_or_default();
        kind == "Namespace" || (kind == "CustomResourceDefinition" && args.keep_crds)
    });
    for object in removed {
        match api(client, &object).delete(name(&object), &DeleteParams::background()).await {
            Ok(_) => {
                ui::print_status(&format!("removed {}", title(&object)));
                was_installed = true;
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(cluster.api_error(&title(&object), error)),
        }
    }
    if args.keep_crds {
        let kept: Vec<String> = kept.iter().map(title).collect();
        ui::print_status(&format!("kept {}", kept.join(", ")));
        return Ok(Exit::Success);
    }
    was_installed |= remove_namespace(args, cluster).await?;
    if !was_installed {
        ui::print_status("nothing to remove: the orchestrator is not installed on this cluster");
    }
    Ok(Exit::Success)
}

/// Deletes the Deployment, and waits until its pods are gone. Returns false if there was none.
async fn stop_orchestrator(args: &Uninstall, cluster: &Platform) -> Result<bool, CliError> {
    let client = &cluster.client;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let was_installed = match deployments.delete(ORCHESTRA, &DeleteParams::background()).await {
        Ok(_) => {
            ui::print_status(&format!("removed Deployment {SYSTEM_NAMESPACE}/{ORCHESTRA}"));
            true
        }
        Err(kube::Error::Api(status)) if status.code == 404 => false,
        Err(error) => return Err(cluster.api_error(ORCHESTRA, error)),
    };
    let pods: Api<Pod> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let ours = ListParams::default().labels("app.kubernetes.io/name=orchestra");
    poll_until(args.timeout, async || match pods.list_metadata(&ours).await {
        Ok(left) if left.items.is_empty() => None,
        Ok(_) => Some("the orchestrator to terminate".to_owned()),
        Err(error) => Some(format!("the orchestrator to terminate ({})", root_cause(&error))),
    })
    .await?;
    Ok(was_installed)
}

/// Objects that the orchestrator creates for itself.
fn runtime_objects() -> Vec<Json> {
    let object = |api_version: &str, kind: &str, name: &str| {
        json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": SYSTEM_NAMESPACE},
        })
    };
    vec![
        object("v1", "Secret", SERVING_SECRET),
        object("v1", "ConfigMap", SERVER_CONFIG_MAP),
        object("coordination.k8s.io/v1", "Lease", LEASE),
    ]
}

/// Names of all workloads, by namespace; empty if the CRD is not installed.
async fn workloads(client: &Client) -> kube::Result<BTreeMap<String, BTreeSet<String>>> {
    let api: Api<Workload> = Api::all(client.clone());
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    match api.list_metadata(&ListParams::default()).await {
        Ok(all) => {
            for workload in all {
                let namespace = workload.namespace().unwrap_or_default();
                found.entry(namespace).or_default().insert(workload.name_any());
            }
            Ok(found)
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(found),
        Err(error) => Err(error),
    }
}

/// Number of workloads, in all and by namespace.
fn count(workloads: &BTreeMap<String, BTreeSet<String>>) -> String {
    let all: usize = workloads.values().map(BTreeSet::len).sum();
    let namespaces: Vec<String> =
        workloads.iter().map(|(namespace, names)| format!("{namespace} ({})", names.len())).collect();
    let noun = if all == 1 { "workload" } else { "workloads" };
    format!("{all} {noun} in {}", namespaces.join(", "))
}

/// Deletes all workloads, and waits until they are gone with their dependencies.
async fn delete_workloads(
    args: &Uninstall,
    cluster: &Platform,
    found: &BTreeMap<String, BTreeSet<String>>,
) -> Result<(), CliError> {
    let client = &cluster.client;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let what = format!("deployment {ORCHESTRA}");
    let orchestrator =
        deployments.get_opt(ORCHESTRA).await.map_err(|error| cluster.api_error(&what, error))?;
    let ready = orchestrator.and_then(|it| it.status).and_then(|status| status.available_replicas);
    if ready.unwrap_or(0) == 0 {
        return Err(CliError::OrchestratorDown(count(found)));
    }
    for (namespace, names) in found {
        let api: Api<Workload> = Api::namespaced(client.clone(), namespace);
        for name in names {
            match api.delete(name, &DeleteParams::background()).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(cluster.api_error(name, error)),
            }
        }
    }
    poll_until(args.timeout, async || match workloads(client).await {
        Ok(left) if left.is_empty() => None,
        Ok(left) => Some(format!("the deletion of {}", count(&left))),
        Err(error) => Some(format!("the deletion of workloads ({})", root_cause(&error))),
    })
    .await
}

/// Fails if objects have finalizers that only the orchestrator removes: their CRDs could not be deleted.
async fn check_finalizers(client: &Client) -> kube::Result<Result<(), CliError>> {
    for kind in ["WorkloadPlan", "ResourceClaim"] {
        let object = json!({"apiVersion": API_VERSION, "kind": kind});
        let listed = none_if_not_found(api(client, &object).list(&ListParams::default()).await)?;
        let held: Vec<String> = listed
            .iter()
            .filter(|object| !object.finalizers().is_empty())
            .map(|object| format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any()))
            .collect();
        if !held.is_empty() {
            return Ok(Err(CliError::Finalizers { kind, names: held.join(", ") }));
        }
    }
    Ok(Ok(()))
}

fn none_if_not_found(listed: kube::Result<ObjectList<DynamicObject>>) -> kube::Result<Vec<DynamicObject>> {
    match listed {
        Ok(listed) => Ok(listed.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Deletes the system namespace, unless it has foreign objects. Returns false if there was none.
async fn remove_namespace(args: &Uninstall, cluster: &Platform) -> Result<bool, CliError> {
    let client = &cluster.client;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let ours: BTreeSet<String> = manifests::objects(&Settings::default())?
        .into_iter()
        .chain(runtime_objects())
        .map(|object| title(&object))
        .collect();
    for (api_version, kind, ignored) in FOREIGN_KINDS {
        let metadata = json!({"namespace": SYSTEM_NAMESPACE});
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        let listed = none_if_not_found(api(client, &object).list(&ListParams::default()).await);
        let listed = listed.map_err(|error| cluster.api_error(kind, error))?;
        let foreign = listed.iter().map(ResourceExt::name_any).find(|name| {
            !ignored.contains(&name.as_str()) && !ours.contains(&format!("{kind} {SYSTEM_NAMESPACE}/{name}"))
        });
        if let Some(foreign) = foreign {
            ui::print_status(&format!(
                "kept Namespace {SYSTEM_NAMESPACE}: it contains {kind} {foreign}, which orchestra does not manage"
            ));
            return Ok(true);
        }
    }
    match namespaces.delete(SYSTEM_NAMESPACE, &DeleteParams::background()).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(false),
        Err(error) => return Err(cluster.api_error(SYSTEM_NAMESPACE, error)),
    }
    poll_until(args.timeout, async || match namespaces.get_opt(SYSTEM_NAMESPACE).await {
        Ok(None) => None,
        Ok(Some(_)) => Some(format!("the deletion of the namespace {SYSTEM_NAMESPACE}")),
        Err(error) => {
            Some(format!("the deletion of the namespace {SYSTEM_NAMESPACE} ({})", root_cause(&error)))
        }
    })
    .await?;
    ui::print_status(&format!("removed Namespace {SYSTEM_NAMESPACE}"));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_counted_by_namespace() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let one = BTreeMap::from([("shop".to_owned(), set(&["web"]))]);
        assert_eq!(count(&one), "1 workload in shop (1)");
        let more = BTreeMap::from([("a".to_owned(), set(&["x", "y"])), ("b".to_owned(), set(&["z"]))]);
        assert_eq!(count(&more), "3 workloads in a (2), b (1)");
    }
}
