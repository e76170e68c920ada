//! A namespace for a test, a runtime that looks at it, and plans.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use orchestra_api::{
    WorkloadRef,
    plan::{Container, Exposure, ExposureTarget, Phase, Port, Segment, WorkloadPlanSpec},
    reference::SecretKeyRef,
};
use orchestra_drivers::{
    DriverError, Observation, Runtime as _, SecretText, Secrets, Target, kubernetes::Kubernetes, secret::Read,
};
use orchestra_score::model::Protocol;
use serde_json::{Value as Json, json};
use tokio::sync::OnceCell;

/// The name under which the runtime writes.
const MANAGER: &str = "score.dev/kubernetes";
/// The longest that something may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(40);
/// How soon the cluster's own controllers would notice something.
const MOMENT: Duration = Duration::from_secs(3);

/// A namespace of a test.
pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) runtime: Kubernetes,
    pub(crate) namespace: String,
}

impl World {
    /// A fresh namespace, and a runtime that watches.
    pub(crate) async fn new() -> Self {
        let world = Self::unwatched().await;
        drop(world.runtime.changes());
        world
    }

    /// A fresh namespace, and a runtime that has seen nothing.
    pub(crate) async fn unwatched() -> Self {
        let client = Client::try_default().await.expect("KUBECONFIG names a cluster");
        let api: Api<Namespace> = Api::all(client.clone());
        let namespace: Namespace =
            serde_json::from_value(json!({"metadata": {"generateName": "kubernetes-runtime-"}})).unwrap();
        let made = api.create(&PostParams::default(), &namespace).await.unwrap();
        let namespace = made.metadata.name.unwrap();
        Self { runtime: Kubernetes::open(client.clone()), client, namespace }
    }

    /// A fresh namespace of a cluster where controllers look after Deployments, or where nobody does; nothing if it is the
    /// other way round.
    pub(crate) async fn played(wanted: bool) -> Option<Self> {
        let probe = Self::unwatched().await;
        let is_played = is_played(&probe).await;
        probe.end().await;
        if is_played != wanted {
            let who = if is_played { "somebody looks" } else { "nobody looks" };
            println!("{who} after Deployments here: nothing is shown");
            return None;
        }
        Some(Self::new().await)
    }

    /// Another runtime that looks at the same, as after a restart.
    pub(crate) fn restarted(&mut self) {
        self.runtime = Kubernetes::open(self.client.clone());
        drop(self.runtime.changes());
    }

    pub(crate) async fn end(self) {
        let api: Api<Namespace> = Api::all(self.client.clone());
        api.delete(&self.namespace, &DeleteParams::background()).await.unwrap();
    }

    /// A plan of one container with one port.
    pub(crate) fn target(&self, revision: &str) -> Target {
        let web = Container { image: "localhost/busybox:1".to_owned(), ..Container::default() };
        let port = Port { port: 80, target_port: 8080, protocol: Protocol::Tcp };
        let plan = WorkloadPlanSpec {
            workload_ref: WorkloadRef { name: "hello".to_owned(), uid: "uid-of-hello".to_owned() },
            revision: revision.to_owned(),
            runtime_class: "kubernetes".to_owned(),
            containers: BTreeMap::from([("web".to_owned(), web)]),
            ports: BTreeMap::from([("http".to_owned(), port)]),
            exposures: vec![Exposure { target: ExposureTarget::Port("http".to_owned()), priority: 100 }],
            ..WorkloadPlanSpec::default()
        };
        Target { namespace: self.namespace.clone(), name: "hello".to_owned(), plan }
    }

    pub(crate) async fn apply(&self, target: &Target) -> Result<(), DriverError> {
        self.runtime
            .apply(target, &InCluster { client: self.client.clone(), namespace: self.namespace.clone() })
            .await
    }

    pub(crate) async fn observe(&self, target: &Target) -> Observation {
        self.runtime.observe(target).await.unwrap()
    }

    /// Observes until a phase is told.
    pub(crate) async fn observe_until(&self, target: &Target, phase: Phase) -> Observation {
        self.until(async || {
            let seen = self.observe(target).await;
            (seen.phase == phase).then_some(seen)
        })
        .await
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    pub(crate) fn deployments(&self) -> Api<DynamicObject> {
        self.api("apps/v1", "Deployment")
    }

    pub(crate) fn services(&self) -> Api<DynamicObject> {
        self.api("v1", "Service")
    }

    /// What changes whenever somebody writes what was made. What the cluster's own controllers say of it does not count.
    pub(crate) async fn versions(&self) -> Json {
        let deployment = self.deployments().get("hello").await.unwrap();
        let service = self.services().get("hello").await.unwrap();
        json!([written(&deployment), service.metadata.resource_version])
    }

    /// Writes as somebody else.
    pub(crate) async fn edit(&self, api: &Api<DynamicObject>, name: &str, patch: Json) -> DynamicObject {
        let params = PatchParams { field_manager: Some("somebody".to_owned()), ..PatchParams::default() };
        api.patch(name, &params, &Patch::Merge(patch)).await.unwrap()
    }

    /// Says what the controller of Deployments would.
    pub(crate) async fn play(&self, status: Json) {
        let params = PatchParams { field_manager: Some("player".to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(json!({"status": status}));
        self.deployments().patch_status("hello", &params, &patch).await.unwrap();
    }

    /// Gives the namespace a security level.
    pub(crate) async fn secure(&self, level: &str) {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let patch = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}});
        api.patch(&self.namespace, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until something holds.
    pub(crate) async fn until<T>(&self, look: impl AsyncFn() -> Option<T>) -> T {
        tokio::time::timeout(PATIENCE, poll(look)).await.expect("it happens in time")
    }
}

/// What of an object only its writers change.
pub(crate) fn written(object: &DynamicObject) -> Json {
    let mut metadata = object.metadata.clone();
    metadata.resource_version = None;
    let notes = metadata.managed_fields.iter_mut().flatten();
    let notes: Vec<_> =
        notes.filter(|note| note.manager.as_deref() == Some(MANAGER)).map(|note| note.clone()).collect();
    metadata.managed_fields = Some(notes);
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove("deployment.kubernetes.io/revision");
    }
    json!({"metadata": metadata, "spec": object.data["spec"]})
}

/// Whether the cluster's own controllers look after Deployments, which is found out once.
async fn is_played(world: &World) -> bool {
    static PLAYED: OnceCell<bool> = OnceCell::const_new();
    let look = async {
        world.apply(&world.target("r0")).await.unwrap();
        let looking = poll(async || {
            let live = world.deployments().get("hello").await.unwrap();
            live.data.pointer("/status/observedGeneration").map(drop)
        });
        tokio::time::timeout(MOMENT, looking).await.is_ok()
    };
    *PLAYED.get_or_init(|| look).await
}

async fn poll<T>(look: impl AsyncFn() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Reads secrets of a namespace.
struct InCluster {
    client: Client,
    namespace: String,
}

impl Secrets for InCluster {
    fn read<'a>(&'a self, secret: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        async move {
            let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
            let found = api.get_opt(&secret.name).await.unwrap();
            Ok(found.and_then(|found| {
                let version = found.metadata.resource_version.unwrap_or_default();
                let value = SecretText::new(found.data?.remove(&secret.key)?.0);
                Some(Read { value, version })
            }))
        }
        .boxed()
    }
}

/// A text with a secret in it.
pub(crate) fn with_secret(before: &str, name: &str, key: &str) -> Vec<Segment> {
    let output = orchestra_api::plan::ClaimOutput {
        claim: "db".to_owned(),
        output: key.to_owned(),
        secret_key_ref: SecretKeyRef { name: name.to_owned(), key: key.to_owned() },
    };
    vec![Segment::Literal(before.to_owned()), Segment::ClaimOutput(output)]
}
