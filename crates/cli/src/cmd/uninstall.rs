//! `orchestra uninstall`: takes the orchestrator off a cluster, and nothing that somebody still needs.

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
    cluster::{LEASE, PUBLISHED, SERVING},
    install::{
        ORCHESTRA, api,
        manifests::{self, Settings},
        name,
        ready::until,
        title,
    },
    platform::{self, Platform, Trouble},
};
use crate::{args::Uninstall, exit::Exit, ui};

/// What somebody may have put beside the orchestrator, and what of it comes with every namespace.
const BESIDE: &[(&str, &str, &[&str])] = &[
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

/// Runs the command.
pub(crate) fn run(args: &Uninstall) -> Exit {
    platform::run(async {
        let cluster = Platform::cluster(&args.cluster).await?;
        uninstall(args, &cluster).await
    })
}

async fn uninstall(args: &Uninstall, cluster: &Platform) -> Result<Exit, Trouble> {
    let client = &cluster.client;
    let trouble = |error| cluster.trouble("the orchestrator", error);
    let workloads = workloads(client).await.map_err(trouble)?;
    if !workloads.is_empty() {
        if !args.delete_workloads {
            return Err(Trouble::No(format!(
                "there {}, which nobody would look after any more; delete them first, or with --delete-workloads",
                counted(&workloads)
            )));
        }
        delete_workloads(args, cluster, &workloads).await?;
    }
    if !args.keep_crds {
        nothing_is_held(client).await.map_err(trouble)??;
    }
    // First who works, so that nobody makes anew what is removed after it.
    let mut was_there = end(args, cluster).await?;
    let mut objects = manifests::objects(&Settings::default()).map_err(Trouble::No)?;
    objects.extend(of_processes());
    objects.reverse();
    // Others may have something in the namespace; it goes last, and only if it holds nothing of theirs.
    let (stays, goes): (Vec<Json>, Vec<Json>) = objects.into_iter().partition(|object| {
        let kind = object["kind"].as_str().unwrap_or_default();
        kind == "Namespace" || (kind == "CustomResourceDefinition" && args.keep_crds)
    });
    for object in goes {
        match api(client, &object).delete(name(&object), &DeleteParams::background()).await {
            Ok(_) => {
                ui::say(&format!("removed {}", title(&object)));
                was_there = true;
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(cluster.trouble(&title(&object), error)),
        }
    }
    if args.keep_crds {
        let kept: Vec<String> = stays.iter().map(title).collect();
        ui::say(&format!("kept {}", kept.join(", ")));
        return Ok(Exit::Yes);
    }
    was_there |= remove_namespace(args, cluster).await?;
    if !was_there {
        ui::say("nothing to remove: the orchestrator is not installed on this cluster");
    }
    Ok(Exit::Yes)
}

/// Ends the processes of the orchestrator. Answers whether there were any.
async fn end(args: &Uninstall, cluster: &Platform) -> Result<bool, Trouble> {
    let client = &cluster.client;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let was_there = match deployments.delete(ORCHESTRA, &DeleteParams::background()).await {
        Ok(_) => {
            ui::say(&format!("removed Deployment {SYSTEM_NAMESPACE}/{ORCHESTRA}"));
            true
        }
        Err(kube::Error::Api(status)) if status.code == 404 => false,
        Err(error) => return Err(cluster.trouble(ORCHESTRA, error)),
    };
    let pods: Api<Pod> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let ours = ListParams::default().labels("app.kubernetes.io/name=orchestra");
    until(args.timeout, async || match pods.list_metadata(&ours).await {
        Ok(left) if left.items.is_empty() => None,
        Ok(_) => Some("the orchestrator to end".to_owned()),
        Err(error) => Some(format!("an answer about the orchestrator ({error})")),
    })
    .await?;
    Ok(was_there)
}

/// What the processes make for themselves.
fn of_processes() -> Vec<Json> {
    let object = |api_version: &str, kind: &str, name: &str| {
        json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": SYSTEM_NAMESPACE},
        })
    };
    vec![
        object("v1", "Secret", SERVING),
        object("v1", "ConfigMap", PUBLISHED),
        object("coordination.k8s.io/v1", "Lease", LEASE),
    ]
}

/// All workloads, by namespace; none if the cluster does not know what that is.
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

/// How many there are, and where.
fn counted(workloads: &BTreeMap<String, BTreeSet<String>>) -> String {
    let all: usize = workloads.values().map(BTreeSet::len).sum();
    let places: Vec<String> =
        workloads.iter().map(|(namespace, names)| format!("{namespace} ({})", names.len())).collect();
    let (are, places) = (if all == 1 { "is 1 workload" } else { "are" }, places.join(", "));
    let number = if all == 1 { String::new() } else { format!(" {all} workloads") };
    format!("{are}{number}, in {places}")
}

/// Deletes all workloads, and waits until everything that was made for them is gone.
async fn delete_workloads(
    args: &Uninstall,
    cluster: &Platform,
    found: &BTreeMap<String, BTreeSet<String>>,
) -> Result<(), Trouble> {
    let client = &cluster.client;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let orchestrator = deployments.get_opt(ORCHESTRA).await.ok().flatten();
    let ready = orchestrator.and_then(|it| it.status).and_then(|status| status.available_replicas);
    if ready.unwrap_or(0) == 0 {
        return Err(Trouble::No(format!(
            "there {}, and the orchestrator that would stop them does not run; bring it back with `orchestra install` first",
            counted(found)
        )));
    }
    for (namespace, names) in found {
        let api: Api<Workload> = Api::namespaced(client.clone(), namespace);
        for name in names {
            match api.delete(name, &DeleteParams::background()).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(cluster.trouble(name, error)),
            }
        }
    }
    until(args.timeout, async || match workloads(client).await {
        Ok(left) if left.is_empty() => None,
        Ok(left) => Some(format!("what there still is: there {}", counted(&left))),
        Err(error) => Some(format!("an answer about workloads ({error})")),
    })
    .await
}

/// Whether nothing is left that only the orchestrator can let go: its definition would never go away.
async fn nothing_is_held(client: &Client) -> kube::Result<Result<(), Trouble>> {
    for kind in ["WorkloadPlan", "ResourceClaim"] {
        let object = json!({"apiVersion": API_VERSION, "kind": kind});
        let listed = or_none(api(client, &object).list(&ListParams::default()).await)?;
        let held: Vec<String> = listed
            .iter()
            .filter(|object| !object.finalizers().is_empty())
            .map(|object| format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any()))
            .collect();
        if !held.is_empty() {
            return Ok(Err(Trouble::No(format!(
                "something is not taken down yet: {kind} {}; wait until it is gone, or keep the kinds with --keep-crds",
                held.join(", ")
            ))));
        }
    }
    Ok(Ok(()))
}

fn or_none(listed: kube::Result<ObjectList<DynamicObject>>) -> kube::Result<Vec<DynamicObject>> {
    match listed {
        Ok(listed) => Ok(listed.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Removes the orchestrator's own namespace, unless others have something there. Answers whether there was one.
async fn remove_namespace(args: &Uninstall, cluster: &Platform) -> Result<bool, Trouble> {
    let client = &cluster.client;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let ours: BTreeSet<String> = manifests::objects(&Settings::default())
        .map_err(Trouble::No)?
        .into_iter()
        .chain(of_processes())
        .map(|object| title(&object))
        .collect();
    for (api_version, kind, usual) in BESIDE {
        let metadata = json!({"namespace": SYSTEM_NAMESPACE});
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        let listed = or_none(api(client, &object).list(&ListParams::default()).await);
        let listed = listed.map_err(|error| cluster.trouble(kind, error))?;
        let foreign = listed.iter().map(ResourceExt::name_any).find(|name| {
            !usual.contains(&name.as_str()) && !ours.contains(&format!("{kind} {SYSTEM_NAMESPACE}/{name}"))
        });
        if let Some(foreign) = foreign {
            ui::say(&format!(
                "kept Namespace {SYSTEM_NAMESPACE}, which holds {kind} {foreign} of somebody else"
            ));
            return Ok(true);
        }
    }
    match namespaces.delete(SYSTEM_NAMESPACE, &DeleteParams::background()).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(false),
        Err(error) => return Err(cluster.trouble(SYSTEM_NAMESPACE, error)),
    }
    until(args.timeout, async || match namespaces.get_opt(SYSTEM_NAMESPACE).await {
        Ok(None) => None,
        Ok(Some(_)) => Some(format!("the namespace {SYSTEM_NAMESPACE} to go")),
        Err(error) => Some(format!("an answer about the namespace {SYSTEM_NAMESPACE} ({error})")),
    })
    .await?;
    ui::say(&format!("removed Namespace {SYSTEM_NAMESPACE}"));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_counted_where_they_are() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let one = BTreeMap::from([("shop".to_owned(), set(&["web"]))]);
        assert_eq!(counted(&one), "is 1 workload, in shop (1)");
        let more = BTreeMap::from([("a".to_owned(), set(&["x", "y"])), ("b".to_owned(), set(&["z"]))]);
        assert_eq!(counted(&more), "are 3 workloads, in a (2), b (1)");
    }
}
