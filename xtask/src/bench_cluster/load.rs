//! Load on the cluster: CRDs, Workloads and their readiness.

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

/// User agent of this process.
pub(super) const AGENT: &str = "orchestra-bench";
/// Namespaces of the measurement, of the warm-up, and of the baseline without controllers.
const NAMESPACE: &str = "bench";
const WARM: &str = "bench-warm";
const BASELINE: &str = "bench-baseline";
/// Concurrent requests.
const MAX_CONCURRENT_REQUESTS: usize = 16;
/// Placeholder of the name in a Workload template.
const NAME: &str = "NAME";
/// Timeout of each step.
const STEP_TIMEOUT: Duration = Duration::from_mins(30);

const DOCUMENT: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles: [{name: web-service, backends: [{backendId: cluster, runtimeClass: kubernetes}]}]
";

/// Measured Workload: one container, one port, no claim.
const WORKLOAD: &str = "
apiVersion: score.dev/v1b1
kind: Workload
metadata: {name: NAME}
spec:
  containers: {main: {image: 'nginx:1.27', variables: {WHO: '${metadata.name}'}}}
  service: {ports: {web: {port: 80}}}
";

/// Cluster.
#[derive(Clone)]
pub(super) struct Cluster {
    client: Client,
    /// Workload template.
    workload: String,
}

impl Cluster {
    /// Cluster of a kubeconfig, with an optional Workload template.
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

    /// Creates the namespaces.
    pub(super) async fn prepare(&self) -> Result<(), Failure> {
        let apply = PatchParams::apply(AGENT).force();
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for name in [SYSTEM_NAMESPACE, NAMESPACE, WARM, BASELINE] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            namespaces.patch(name, &apply, &Patch::Apply(namespace)).await?;
        }
        Ok(())
    }

    /// Creates the prerequisites of our program.
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

    /// Waits until Workloads are served. There must be none.
    async fn until_served(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + STEP_TIMEOUT;
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
            Err(format!("the namespace {NAMESPACE} has Workloads; use a new cluster").into())
        }
    }

    /// Warm-up: runs one Workload in another namespace, so that one-time work is not measured.
    pub(super) async fn warm_up(&self) -> Result<(), Failure> {
        self.until_served().await?;
        self.put(WARM, "warm").await?;
        until_ready(&self.workloads(WARM), 1).await
    }

    /// Applies a number of Workloads.
    pub(super) async fn apply(&self, count: usize) -> Result<(), Failure> {
        stream::iter((0..count).map(Ok::<_, Failure>))
            .try_for_each_concurrent(MAX_CONCURRENT_REQUESTS, |index| async move {
                self.put(NAMESPACE, &format!("app-{index}")).await
            })
            .await
    }

    /// Baseline without a control plane: stores Workloads, creates a Deployment and a Service for each, and waits until all
    /// Deployments are ready.
    pub(super) async fn baseline(&self, count: usize) -> Result<(), Failure> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), BASELINE);
        let services: Api<Service> = Api::namespaced(self.client.clone(), BASELINE);
        stream::iter((0..count).map(Ok::<_, Failure>))
            .try_for_each_concurrent(MAX_CONCURRENT_REQUESTS, async |index| {
                let name = format!("app-{index}");
                self.put(BASELINE, &name).await?;
                let (deployment, service) = bare(&name);
                deployments.create(&PostParams::default(), &serde_json::from_value(deployment)?).await?;
                services.create(&PostParams::default(), &serde_json::from_value(service)?).await?;
                Ok(())
            })
            .await?;
        let deadline = Instant::now() + STEP_TIMEOUT;
        while Instant::now() < deadline {
            let all = deployments.list(&ListParams::default()).await?;
            let is_ready =
                |one: &&Deployment| one.status.as_ref().is_some_and(|it| it.ready_replicas == Some(1));
            if all.items.iter().filter(is_ready).count() >= count {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("not all Deployments were ready in time".into())
    }

    /// Applies one Workload.
    pub(super) async fn apply_one(&self, name: &str) -> Result<(), Failure> {
        self.put(NAMESPACE, name).await
    }

    /// Waits until a Workload is ready. The request costs the server little, however many Workloads there are.
    pub(super) async fn until_one_ready(&self, name: &str) -> Result<(), Failure> {
        let workloads = self.workloads(NAMESPACE);
        let deadline = Instant::now() + STEP_TIMEOUT;
        while Instant::now() < deadline {
            if is_ready(&workloads.get(name).await?) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(format!("{name} is not ready after {STEP_TIMEOUT:?}").into())
    }

    /// Waits until a number of Workloads are ready.
    pub(super) async fn until_ready(&self, count: usize) -> Result<(), Failure> {
        until_ready(&self.workloads(NAMESPACE), count).await
    }

    /// Waits for a leader other than the given one, and returns it.
    pub(super) async fn until_led(&self, before: Option<&str>) -> Result<String, Failure> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), SYSTEM_NAMESPACE);
        let deadline = Instant::now() + STEP_TIMEOUT;
        while Instant::now() < deadline {
            let held = leases.list(&ListParams::default()).await?;
            let holder = held.items.into_iter().find_map(|lease| lease.spec?.holder_identity);
            if let Some(holder) = holder.filter(|holder| !holder.is_empty() && Some(&**holder) != before) {
                return Ok(holder);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("no replica is the leader".into())
    }
}

/// Minimal objects of the Workload: a Deployment and a Service.
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
                // Relist after the watch ends.
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
    match tokio::time::timeout(STEP_TIMEOUT, waiting).await {
        Ok(ended) => ended,
        Err(_) => Err(format!("not all {count} are ready after {STEP_TIMEOUT:?}").into()),
    }
}

fn is_ready(workload: &DynamicObject) -> bool {
    let conditions = workload.data.pointer("/status/conditions").and_then(Json::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
