//! Fixture: namespace of a test, a runtime that watches it, and plans.

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

/// Field manager of the runtime.
const MANAGER: &str = "score.dev/kubernetes";
/// Timeout of a condition.
const TEST_TIMEOUT: Duration = Duration::from_secs(40);
/// Variable that states whether the cluster has a deployment controller: `with` or `without`. Tests that need the other kind of
/// cluster fail then, and are skipped otherwise.
const EXPECTATION: &str = "ORCHESTRA_TEST_CONTROLLERS";
/// Time in which the deployment controller of a cluster, if there is one, observes a Deployment.
const CONTROLLER_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval of checks of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Namespace of a test, with a runtime.
pub(crate) struct Fixture {
    pub(crate) client: Client,
    pub(crate) runtime: Kubernetes,
    pub(crate) namespace: String,
}

impl Fixture {
    /// New namespace, and a runtime that watches.
    pub(crate) async fn new() -> Self {
        let fixture = Self::unwatched().await;
        drop(fixture.runtime.changes());
        fixture
    }

    /// New namespace, and a runtime without watches.
    pub(crate) async fn unwatched() -> Self {
        let client = Client::try_default().await.expect("KUBECONFIG names a cluster");
        let api: Api<Namespace> = Api::all(client.clone());
        let namespace: Namespace =
            serde_json::from_value(json!({"metadata": {"generateName": "kubernetes-runtime-"}})).unwrap();
        let made = api.create(&PostParams::default(), &namespace).await.unwrap();
        let namespace = made.metadata.name.unwrap();
        Self { runtime: Kubernetes::open(client.clone()), client, namespace }
    }

    /// New namespace of a cluster with a deployment controller; none if the cluster has no controllers.
    pub(crate) async fn with_controllers() -> Option<Self> {
        Self::if_controlled(true).await
    }

    /// New namespace of a bare API server; none if the cluster has a deployment controller.
    pub(crate) async fn without_controllers() -> Option<Self> {
        Self::if_controlled(false).await
    }

    async fn if_controlled(wanted: bool) -> Option<Self> {
        let probe = Self::unwatched().await;
        let is_controlled = is_controlled(&probe).await;
        probe.delete_namespace().await;
        if is_controlled != wanted {
            let expected = std::env::var(EXPECTATION);
            assert!(expected.is_err(), "{EXPECTATION} is {expected:?}, but this test needs another cluster");
            println!(
                "skipped: the cluster has {} deployment controller",
                if is_controlled { "a" } else { "no" }
            );
            return None;
        }
        Some(Self::new().await)
    }

    /// Replaces the runtime by a new one, as a restart does.
    pub(crate) fn restart(&mut self) {
        self.runtime = Kubernetes::open(self.client.clone());
        drop(self.runtime.changes());
    }

    pub(crate) async fn delete_namespace(self) {
        let api: Api<Namespace> = Api::all(self.client.clone());
        api.delete(&self.namespace, &DeleteParams::background()).await.unwrap();
    }

    /// Plan with one container and one port.
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
            .apply(
                target,
                &NamespaceSecrets { client: self.client.clone(), namespace: self.namespace.clone() },
            )
            .await
    }

    pub(crate) async fn observe(&self, target: &Target) -> Observation {
        self.runtime.observe(target).await.unwrap()
    }

    /// Waits for a phase.
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

    /// Versions of the objects, without the writes of the cluster's controllers.
    pub(crate) async fn versions(&self) -> Json {
        let deployment = self.deployments().get("hello").await.unwrap();
        let service = self.services().get("hello").await.unwrap();
        json!([written(&deployment), service.metadata.resource_version])
    }

    /// Patches an object as another field manager.
    pub(crate) async fn edit(&self, api: &Api<DynamicObject>, name: &str, patch: Json) -> DynamicObject {
        let params =
            PatchParams { field_manager: Some("other-manager".to_owned()), ..PatchParams::default() };
        api.patch(name, &params, &Patch::Merge(patch)).await.unwrap()
    }

    /// Writes the status of the Deployment, as the deployment controller would.
    pub(crate) async fn write_status(&self, status: Json) {
        let params =
            PatchParams { field_manager: Some("deployment-controller".to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(json!({"status": status}));
        self.deployments().patch_status("hello", &params, &patch).await.unwrap();
    }

    /// Sets the pod security level of the namespace.
    pub(crate) async fn enforce_pod_security(&self, level: &str) {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let patch = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}});
        api.patch(&self.namespace, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until a check returns a value.
    pub(crate) async fn until<T>(&self, check: impl AsyncFn() -> Option<T>) -> T {
        tokio::time::timeout(TEST_TIMEOUT, poll(check)).await.expect("the condition holds before the timeout")
    }
}

/// Metadata and spec of an object, without the fields that the cluster's controllers write.
pub(crate) fn written(object: &DynamicObject) -> Json {
    let mut metadata = object.metadata.clone();
    metadata.resource_version = None;
    let entries = metadata.managed_fields.take().into_iter().flatten();
    metadata.managed_fields =
        Some(entries.filter(|entry| entry.manager.as_deref() == Some(MANAGER)).collect());
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove("deployment.kubernetes.io/revision");
    }
    json!({"metadata": metadata, "spec": object.data["spec"]})
}

/// True if the cluster has a deployment controller. Probed once per process.
async fn is_controlled(fixture: &Fixture) -> bool {
    static CONTROLLED: OnceCell<bool> = OnceCell::const_new();
    let check = async {
        match std::env::var(EXPECTATION).as_deref() {
            Ok("with") => return true,
            Ok("without") => return false,
            Ok(other) => panic!("{EXPECTATION} is {other:?}"),
            Err(_) => {}
        }
        fixture.apply(&fixture.target("r0")).await.unwrap();
        let observed = poll(async || {
            let live = fixture.deployments().get("hello").await.unwrap();
            live.data.pointer("/status/observedGeneration").map(drop)
        });
        tokio::time::timeout(CONTROLLER_TIMEOUT, observed).await.is_ok()
    };
    *CONTROLLED.get_or_init(|| check).await
}

async fn poll<T>(check: impl AsyncFn() -> Option<T>) -> T {
    loop {
        if let Some(found) = check().await {
            return found;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Secrets of a namespace.
struct NamespaceSecrets {
    client: Client,
    namespace: String,
}

impl Secrets for NamespaceSecrets {
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

/// Text that ends with a secret.
pub(crate) fn with_secret(before: &str, name: &str, key: &str) -> Vec<Segment> {
    let output = orchestra_api::plan::ClaimOutput {
        claim: "db".to_owned(),
        output: key.to_owned(),
        secret_key_ref: SecretKeyRef { name: name.to_owned(), key: key.to_owned() },
    };
    vec![Segment::Literal(before.to_owned()), Segment::ClaimOutput(output)]
}
