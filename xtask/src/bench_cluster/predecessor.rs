//! The writes of the predecessor, by a client that does nothing else.
//!
//! The predecessor (two processes in Go) was measured to make 16 writes and 6 Events for each Workload. Here as many are made, of
//! the kinds and in the order in which its controllers make them, each controller one at a time, as they are set up; and what its
//! processes watch is watched. What it reads and thinks is left out, and nothing waits for readiness: so it takes at least as long
//! as this.

use std::pin::pin;

use futures_util::{TryStreamExt as _, stream};
use kube::{
    Api, Client,
    api::{
        ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams, WatchParams,
    },
};
use serde_json::{Value as Json, json};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{Failure, load};

/// Where it is played.
pub(super) const NAMESPACE: &str = "bench-predecessor";
/// What its two processes watch.
const WATCHED: [&[&str]; 2] = [
    &["Workload", "ResourceClaim", "WorkloadPlan", "WorkloadExposure"],
    &["Workload", "WorkloadPlan", "WorkloadExposure", "Deployment", "Service"],
];
/// What it says of a Workload.
const STAGES: [&str; 3] = ["A place is looked for.", "It is being started.", "It runs."];

/// The predecessor: its controllers, of which each does one thing at a time.
struct Predecessor {
    client: Client,
    /// Users of it, as many as with us.
    users: Semaphore,
    workload: Semaphore,
    registrar: Semaphore,
    mirror: Semaphore,
    plan: Semaphore,
    exposure: Semaphore,
    telling: Semaphore,
}

/// Stores so many Workloads and makes all its writes for each.
pub(super) async fn play(client: Client, count: usize) -> Result<(), Failure> {
    // They end with this.
    let mut watches = JoinSet::new();
    for kind in WATCHED.into_iter().flatten() {
        watches.spawn(watch(Api::all_with(client.clone(), &resource(kind))));
    }
    let one = || Semaphore::new(1);
    let played = Predecessor {
        client,
        users: Semaphore::new(load::AT_ONCE),
        workload: one(),
        registrar: one(),
        mirror: one(),
        plan: one(),
        exposure: one(),
        telling: one(),
    };
    stream::iter((0..count).map(Ok::<_, Failure>))
        .try_for_each_concurrent(None, |index| played.bring_up(format!("app-{index}")))
        .await
}

impl Predecessor {
    async fn bring_up(&self, name: String) -> Result<(), Failure> {
        let mut workload: DynamicObject = {
            let _turn = self.users.acquire().await?;
            let stored = load::put(&Api::namespaced(self.client.clone(), NAMESPACE), &name).await?;
            serde_json::from_value(serde_json::to_value(stored)?)?
        };
        let telling = async {
            for _ in 0..6 {
                let _turn = self.telling.acquire().await?;
                self.tell(&name).await?;
            }
            Ok::<_, Failure>(())
        };
        let working = async {
            let mut plan = {
                let _turn = self.workload.acquire().await?;
                workload.metadata.finalizers = Some(vec!["score.dev/workload".to_owned()]);
                workload = self.api("Workload").replace(&name, &PostParams::default(), &workload).await?;
                let plan = self.make("WorkloadPlan", plan(&name, &workload)).await?;
                self.say(&mut workload, 0).await?;
                plan
            };
            let registering = async {
                let _turn = self.registrar.acquire().await?;
                self.make("WorkloadExposure", exposure(&name, &workload)).await
            };
            let running = async {
                let _turn = self.plan.acquire().await?;
                let (deployment, service) = load::bare(&name);
                self.make("Deployment", deployment).await?;
                self.make("Service", service).await?;
                self.set(&mut plan, "WorkloadPlan", json!({"phase": "Provisioning"})).await
            };
            let (mut exposure, ()) = futures_util::try_join!(registering, running)?;
            // Its own writes wake it, and those of the others.
            for stage in [0, 1] {
                let _turn = self.workload.acquire().await?;
                self.say(&mut workload, stage).await?;
            }
            {
                let _turn = self.exposure.acquire().await?;
                let published = json!({"exposures": [{"url": "http://localhost:80", "priority": 1}]});
                self.set(&mut exposure, "WorkloadExposure", published).await?;
            }
            {
                let _turn = self.mirror.acquire().await?;
                let patch = Patch::Merge(json!({"status": {"endpoint": "http://localhost:80"}}));
                let api = self.api("Workload");
                workload = api.patch_status(&name, &PatchParams::default(), &patch).await?;
            }
            {
                let _turn = self.workload.acquire().await?;
                self.say(&mut workload, 1).await?;
            }
            {
                let _turn = self.plan.acquire().await?;
                self.set(&mut plan, "WorkloadPlan", json!({"phase": "Ready"})).await?;
            }
            for _ in 0..3 {
                let _turn = self.workload.acquire().await?;
                self.say(&mut workload, 2).await?;
            }
            Ok(())
        };
        futures_util::try_join!(telling, working)?;
        Ok(())
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource(kind))
    }

    async fn make(&self, kind: &str, mut object: Json) -> Result<DynamicObject, Failure> {
        object["apiVersion"] = json!(resource(kind).api_version);
        object["kind"] = json!(kind);
        let object = serde_json::from_value(object)?;
        Ok(self.api(kind).create(&PostParams::default(), &object).await?)
    }

    /// Replaces the status of an object.
    async fn set(&self, object: &mut DynamicObject, kind: &str, status: Json) -> Result<(), Failure> {
        object.data["status"] = status;
        let name = object.metadata.name.clone().unwrap_or_default();
        *object = self.api(kind).replace_status(&name, &PostParams::default(), object).await?;
        Ok(())
    }

    /// Says how far a Workload is.
    async fn say(&self, workload: &mut DynamicObject, stage: usize) -> Result<(), Failure> {
        let is_ready = stage == 2;
        let condition = |type_: &str, holds: bool| {
            json!({
                "type": type_, "status": if holds { "True" } else { "False" },
                "reason": if holds { "Succeeded" } else { "RuntimeProvisioning" }, "message": STAGES[stage],
                "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
            })
        };
        let status = json!({
            "endpoint": workload.data["status"]["endpoint"].as_str().unwrap_or("http://localhost:80"),
            "conditions": [
                condition("InputsValid", true), condition("ClaimsReady", true),
                condition("RuntimeReady", is_ready), condition("Ready", is_ready),
            ],
        });
        self.set(workload, "Workload", status).await
    }

    async fn tell(&self, name: &str) -> Result<(), Failure> {
        let event = json!({
            "metadata": {"generateName": format!("{name}-")}, "eventTime": "2026-01-01T00:00:00.000000Z",
            "type": "Normal", "reason": "PlanCreated", "action": "Reconcile", "note": STAGES[1],
            "reportingController": "predecessor", "reportingInstance": "predecessor-0",
            "regarding": {"apiVersion": "score.dev/v1b1", "kind": "Workload", "name": name, "namespace": NAMESPACE},
        });
        self.make("Event", event).await?;
        Ok(())
    }
}

/// Watches a kind, and makes nothing of it.
async fn watch(api: Api<DynamicObject>) -> kube::Result<()> {
    loop {
        let now = api.list_metadata(&ListParams::default().limit(1)).await?;
        let version = now.metadata.resource_version.unwrap_or_default();
        let mut events = pin!(api.watch(&WatchParams::default().timeout(290), &version).await?);
        while events.try_next().await?.is_some() {}
    }
}

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "Deployment" => ("apps", "v1"),
        "Service" => ("", "v1"),
        "Event" => ("events.k8s.io", "v1"),
        _ => ("score.dev", "v1b1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// What a Workload owns is collected with it.
fn owned(name: &str, workload: &DynamicObject) -> (Json, Json) {
    let uid = workload.metadata.uid.clone().unwrap_or_default();
    let metadata = json!({
        "name": name, "labels": {"score.dev/workload": name},
        "ownerReferences": [{"apiVersion": "score.dev/v1b1", "kind": "Workload", "name": name, "uid": uid, "controller": true}],
    });
    (metadata, json!({"name": name, "uid": uid}))
}

fn plan(name: &str, workload: &DynamicObject) -> Json {
    let (metadata, of) = owned(name, workload);
    json!({
        "metadata": metadata,
        "spec": {
            "workloadRef": of, "observedWorkloadGeneration": 1, "runtimeClass": "predecessor", "profile": "web-service",
            "backendId": "cluster", "kind": "Service", "revision": "0",
            "containers": {"main": {"image": "nginx:1.27", "variables": {"NAME": [{"literal": name}]}}},
        },
    })
}

fn exposure(name: &str, workload: &DynamicObject) -> Json {
    let (metadata, of) = owned(name, workload);
    json!({
        "metadata": metadata,
        "spec": {"workloadRef": of, "observedWorkloadGeneration": 1, "runtimeClass": "predecessor"},
    })
}
