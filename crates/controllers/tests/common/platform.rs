//! In-process platform: API, controllers, scripted drivers.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
    core::NamespaceResourceScope,
};
use orchestra_api::{
    ConditionStatus, ConditionType, Reason, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, crd,
};
use orchestra_controllers::{Controllers, Options};
use orchestra_drivers::static_engine::Static;
use orchestra_testkit::{
    TestEnv,
    scripted::{ScriptedProvisioner, ScriptedRuntime},
};
use serde_json::{Value as Json, json};

/// Secret value, which may appear in Secrets only.
pub(crate) const CANARY: &str = "canary-5up3r-s3cr3t";

/// Orchestrator config: two backends, and a provisioner for every type that tests use.
pub(crate) const CONFIG: &str = r#"
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {name: default}
spec:
  profiles:
    - name: web-service
      backends:
        - {backendId: here, runtimeClass: scripted, priority: 10, constraints: {features: [fast]}}
        - {backendId: there, runtimeClass: scripted, priority: 5, constraints: {features: [fast, big]}}
    - name: batch-job
      kind: job
      backends: [{backendId: here, runtimeClass: scripted}]
  provisioners:
    - {type: postgres, engine: builtin}
    - {type: redis, engine: builtin}
    - {type: queue, engine: external}
    - {type: link, engine: static, outputs: {url: {value: "https://any.example.test"}}}
    - {type: service, id: flags, engine: static, outputs: {endpoint: {value: "https://flags.example.test"}}}
    - {type: service, engine: static, outputs: {url: {value: "https://any.example.test"}, key: {secretKeyRef: {name: static-key, key: key}}}}
  defaults: {profile: web-service}
"#;

pub(crate) struct Platform {
    pub(crate) env: Arc<TestEnv>,
    /// Namespace of its Workloads.
    pub(crate) namespace: String,
    pub(crate) runtime: ScriptedRuntime,
    pub(crate) provisioner: ScriptedProvisioner,
    pub(crate) controllers: Option<Controllers>,
}

impl Platform {
    pub(crate) async fn start() -> Self {
        let env = Self::environment().await;
        let mut platform = Self::new(env, "default");
        platform.configure(CONFIG).await;
        platform.start_controllers().await;
        platform
    }

    /// API with our CRDs installed.
    pub(crate) async fn environment() -> Arc<TestEnv> {
        let env = TestEnv::start().await;
        for definition in crd::all() {
            env.install(definition).await;
        }
        env.namespace("score-system").await;
        Arc::new(env)
    }

    /// Platform without controllers and without a config.
    pub(crate) fn new(env: Arc<TestEnv>, namespace: &str) -> Self {
        let provisioner = ScriptedProvisioner::new("builtin", CANARY, env.client());
        let runtime = ScriptedRuntime::new("scripted");
        Self { env, namespace: namespace.to_owned(), runtime, provisioner, controllers: None }
    }

    /// Starts or restarts the controllers.
    pub(crate) async fn start_controllers(&mut self) {
        self.stop_controllers().await;
        self.controllers = Some(self.controllers_with(self.env.client()).await);
    }

    pub(crate) async fn controllers_with(&self, client: Client) -> Controllers {
        Controllers::start(client, self.options()).await.unwrap()
    }

    /// Options with all drivers.
    pub(crate) fn options(&self) -> Options {
        Options {
            runtimes: vec![Arc::new(self.runtime.clone())],
            provisioners: vec![Arc::new(self.provisioner.clone()), Arc::new(Static)],
            ..Options::default()
        }
    }

    pub(crate) async fn stop_controllers(&mut self) {
        if let Some(controllers) = self.controllers.take() {
            controllers.stop().await;
        }
    }

    /// Applies the orchestrator config.
    pub(crate) async fn configure(&self, config: &str) {
        let api: Api<ConfigMap> = Api::namespaced(self.env.client(), "score-system");
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "orchestrator-config"},
            "data": {"config.yaml": config},
        });
        api.patch("orchestrator-config", &PatchParams::apply("test").force(), &Patch::Apply(map))
            .await
            .unwrap();
    }

    /// API of a kind in the namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.env.client(), &self.namespace)
    }

    pub(crate) fn workloads(&self) -> Api<Workload> {
        self.api()
    }

    pub(crate) fn claims(&self) -> Api<ResourceClaim> {
        self.api()
    }

    pub(crate) fn plans(&self) -> Api<WorkloadPlan> {
        self.api()
    }

    pub(crate) fn exposures(&self) -> Api<WorkloadExposure> {
        self.api()
    }

    pub(crate) async fn apply(&self, name: &str, spec: Json) -> Workload {
        self.apply_annotated(name, json!({}), spec).await
    }

    pub(crate) async fn apply_annotated(&self, name: &str, annotations: Json, spec: Json) -> Workload {
        let object = json!({
            "apiVersion": "score.dev/v1b1", "kind": "Workload",
            "metadata": {"name": name, "annotations": annotations}, "spec": spec,
        });
        let params = PatchParams::apply("author").force();
        self.workloads().patch(name, &params, &Patch::Apply(object)).await.unwrap()
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.workloads().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits for a condition of the current generation.
    pub(crate) async fn until(
        &self,
        name: &str,
        type_: ConditionType,
        status: ConditionStatus,
        reason: Reason,
    ) -> Workload {
        let workloads = self.workloads();
        self.env
            .eventually(format!("{name} is {type_}={status}/{reason}"), async || {
                let workload = workloads.get(name).await.map_err(|error| error.to_string())?;
                let status_of = workload.status.clone().unwrap_or_default();
                let found = status_of.conditions.iter().find(|condition| condition.type_ == type_);
                match found {
                    Some(found)
                        if found.status == status
                            && found.reason == reason
                            && Some(found.observed_generation) == workload.metadata.generation =>
                    {
                        Ok(Some(workload))
                    }
                    _ => {
                        let plan = self.plans().get_opt(name).await.map_err(|error| error.to_string())?;
                        let plan = plan.map(|plan| (plan.metadata, plan.spec.revision, plan.status));
                        let running = self.runtime.running(&self.namespace, name);
                        Err(format!("{}\n{plan:?}\n{running:?}", json!(status_of)))
                    }
                }
            })
            .await
    }

    pub(crate) async fn until_ready(&self, name: &str) -> Workload {
        self.until(name, ConditionType::Ready, ConditionStatus::True, Reason::Succeeded).await
    }

    pub(crate) async fn until_gone(&self, name: &str) {
        let workloads = self.workloads();
        self.env
            .eventually(format!("{name} is gone"), async || match workloads.get_opt(name).await.unwrap() {
                None => Ok(true),
                Some(workload) => Err(format!("{:#?}", workload.status)),
            })
            .await;
    }

    /// All remaining objects of our kinds, running workloads and instances.
    pub(crate) async fn leftovers(&self) -> Vec<String> {
        let mut left = Vec::new();
        let all = |kind: &str, names: Vec<String>| {
            names.into_iter().map(|name| format!("{kind} {name}")).collect::<Vec<_>>()
        };
        let params = ListParams::default();
        let names = |name: String| name;
        let workloads = Api::<Workload>::all(self.env.client()).list(&params).await.unwrap();
        left.extend(all("Workload", workloads.iter().map(ResourceExt::name_any).map(names).collect()));
        let claims = Api::<ResourceClaim>::all(self.env.client()).list(&params).await.unwrap();
        left.extend(all("ResourceClaim", claims.iter().map(ResourceExt::name_any).collect()));
        let plans = Api::<WorkloadPlan>::all(self.env.client()).list(&params).await.unwrap();
        left.extend(all("WorkloadPlan", plans.iter().map(ResourceExt::name_any).collect()));
        let exposures = Api::<WorkloadExposure>::all(self.env.client()).list(&params).await.unwrap();
        left.extend(all("WorkloadExposure", exposures.iter().map(ResourceExt::name_any).collect()));
        left.extend(self.runtime.everywhere().keys().map(|((_, name), _)| format!("running {name}")));
        left.extend(self.provisioner.instances().keys().map(|(_, id)| format!("instance {id}")));
        left
    }
}
