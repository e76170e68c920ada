//! The cluster, seen by its users: definitions, Workloads, and whether they are ready.

use std::{
    collections::BTreeSet,
    path::Path,
    pin::pin,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        coordination::v1::Lease,
        core::v1::{ConfigMap, Namespace, Service},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Config, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_api::{SYSTEM_NAMESPACE, Workload, config, crd};
use serde_json::{Value as Json, json};

use super::Failure;

/// By this name the server knows this process.
pub(super) const AGENT: &str = "orchestra-bench";
/// Where Workloads are put, where one is put before anything is measured, and where nobody looks at them.
const NAMESPACE: &str = "bench";
const WARM: &str = "bench-warm";
const FLOOR: &str = "bench-floor";
/// Requests at a time.
const AT_ONCE: usize = 16;
/// What stands for the name of a Workload where one is described.
const NAME: &str = "NAME";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(30);

const DOCUMENT: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles: [{name: web-service, backends: [{backendId: cluster, runtimeClass: kubernetes}]}]
";

/// What is measured: one container, one port, no claim.
const WORKLOAD: &str = "
apiVersion: score.dev/v1b1
kind: Workload
metadata: {name: NAME}
spec:
  containers: {main: {image: 'nginx:1.27', variables: {WHO: '${metadata.name}'}}}
  service: {ports: {web: {port: 80}}}
";

/// A cluster.
#[derive(Clone)]
pub(super) struct Cluster {
    client: Client,
    /// What Workloads look like.
    workload: String,
}

impl Cluster {
    /// The cluster behind a kubeconfig. Workloads look as a file says, if there is one.
    pub(super) async fn reach(kubeconfig: &Path, workload: Option<&Path>) -> Result<Self, Failure> {
        let read = Kubeconfig::read_from(kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        let agent = (axum::http::header::USER_AGENT, axum::http::HeaderValue::from_static(AGENT));
        config.headers.push(agent);
        let workload = workload.map(std::fs::read_to_string).transpose()?;
        let workload = workload.unwrap_or_else(|| WORKLOAD.to_owned());
        Ok(Self { client: Client::try_from(config)?, workload })
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    fn workloads(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &ApiResource::erase::<Workload>(&()))
    }

    /// Stores a Workload.
    async fn put(&self, namespace: &str, name: &str) -> Result<(), Failure> {
        let workload: Json = serde_saphyr::from_str(&self.workload.replace(NAME, name))?;
        self.workloads(namespace).patch(name, &PatchParams::apply(AGENT), &Patch::Apply(workload)).await?;
        Ok(())
    }

    /// Makes the namespaces that everything is in.
    pub(super) async fn prepare(&self) -> Result<(), Failure> {
        let apply = PatchParams::apply(AGENT).force();
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for name in [SYSTEM_NAMESPACE, NAMESPACE, WARM, FLOOR] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            namespaces.patch(name, &apply, &Patch::Apply(namespace)).await?;
        }
        Ok(())
    }

    /// Makes what there must be before our program begins.
    pub(super) async fn install(&self) -> Result<(), Failure> {
        let apply = PatchParams::apply(AGENT).force();
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for definition in crd::all() {
            let name = definition.metadata.name.clone().unwrap_or_default();
            definitions.patch(&name, &apply, &Patch::Apply(definition)).await?;
        }
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM_NAMESPACE);
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": config::CONFIG_MAP},
            "data": {config::CONFIG_KEY: DOCUMENT},
        });
        maps.patch(config::CONFIG_MAP, &apply, &Patch::Apply(map)).await?;
        Ok(())
    }

    /// Waits until Workloads can be stored. There must be none.
    async fn until_served(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        let there = loop {
            match self.workloads(NAMESPACE).list(&ListParams::default().limit(1)).await {
                Ok(there) => break there,
                Err(error) if Instant::now() > deadline => return Err(error.into()),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        if there.items.is_empty() {
            Ok(())
        } else {
            Err(format!("there are Workloads in the namespace {NAMESPACE}: begin on a fresh cluster").into())
        }
    }

    /// Brings one Workload up, somewhere else, as soon as Workloads can be stored: whatever is only done once is done then.
    pub(super) async fn warm_up(&self) -> Result<(), Failure> {
        self.until_served().await?;
        self.put(WARM, "warm").await?;
        until_ready(&self.workloads(WARM), 1).await
    }

    /// Applies so many Workloads.
    pub(super) async fn apply(&self, count: usize) -> Result<(), Failure> {
        stream::iter((0..count).map(Ok::<_, Failure>))
            .try_for_each_concurrent(AT_ONCE, |index| async move {
                self.put(NAMESPACE, &format!("app-{index}")).await
            })
            .await
    }

    /// Does what cannot be done without, whoever does it: stores Workloads, makes a Deployment and a Service for each, and waits
    /// until all Deployments are ready. No program is at work.
    pub(super) async fn floor(&self, count: usize) -> Result<(), Failure> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), FLOOR);
        let services: Api<Service> = Api::namespaced(self.client.clone(), FLOOR);
        stream::iter((0..count).map(Ok::<_, Failure>))
            .try_for_each_concurrent(AT_ONCE, async |index| {
                let name = format!("app-{index}");
                self.put(FLOOR, &name).await?;
                let (deployment, service) = bare(&name);
                deployments.create(&PostParams::default(), &serde_json::from_value(deployment)?).await?;
                services.create(&PostParams::default(), &serde_json::from_value(service)?).await?;
                Ok(())
            })
            .await?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let all = deployments.list(&ListParams::default()).await?;
            let is_ready =
                |one: &&Deployment| one.status.as_ref().is_some_and(|it| it.ready_replicas == Some(1));
            if all.items.iter().filter(is_ready).count() >= count {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("not everything was played in time".into())
    }

    /// Applies one more.
    pub(super) async fn apply_one(&self, name: &str) -> Result<(), Failure> {
        self.put(NAMESPACE, name).await
    }

    /// Waits until so many Workloads are ready.
    pub(super) async fn until_ready(&self, count: usize) -> Result<(), Failure> {
        until_ready(&self.workloads(NAMESPACE), count).await
    }

    /// Waits until a process leads, and another one than before. Tells which.
    pub(super) async fn until_led(&self, before: Option<&str>) -> Result<String, Failure> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), SYSTEM_NAMESPACE);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let held = leases.list(&ListParams::default()).await?;
            let holder = held.items.into_iter().find_map(|lease| lease.spec?.holder_identity);
            if let Some(holder) = holder.filter(|holder| !holder.is_empty() && Some(&**holder) != before) {
                return Ok(holder);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("nobody leads".into())
    }
}

/// The least that runs what the Workload says: a Deployment and a Service.
fn bare(name: &str) -> (Json, Json) {
    let labels = json!({"app": name});
    let pod = json!({"containers": [{"name": "main", "image": "nginx:1.27", "env": [{"name": "NAME", "value": name}]}]});
    let deployment = json!({
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    });
    let service = json!({"metadata": {"name": name}, "spec": {"selector": labels, "ports": [{"port": 80}]}});
    (deployment, service)
}

async fn until_ready(workloads: &Api<DynamicObject>, count: usize) -> Result<(), Failure> {
    let waiting = async {
        loop {
            let listed = workloads.list(&ListParams::default()).await?;
            let mut ready: BTreeSet<String> = listed
                .items
                .iter()
                .filter(|workload| is_ready(workload))
                .map(ResourceExt::name_any)
                .collect();
            let version = listed.metadata.resource_version.unwrap_or_default();
            drop(listed.items);
            let events = workloads.watch(&WatchParams::default().timeout(290), &version).await?;
            let mut events = pin!(events);
            while ready.len() < count {
                // A watch that ends is begun anew with a list.
                let Some(event) = events.next().await.transpose()? else { break };
                if let WatchEvent::Added(workload) | WatchEvent::Modified(workload) = event
                    && is_ready(&workload)
                {
                    ready.insert(workload.name_any());
                }
            }
            if ready.len() >= count {
                return Ok::<(), Failure>(());
            }
        }
    };
    match tokio::time::timeout(PATIENCE, waiting).await {
        Ok(ended) => ended,
        Err(_) => Err(format!("not all {count} are ready after {PATIENCE:?}").into()),
    }
}

fn is_ready(workload: &DynamicObject) -> bool {
    let conditions = workload.data.pointer("/status/conditions").and_then(Json::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
