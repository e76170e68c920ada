//! Platform whose controllers run on demand. External controllers are simulated.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use orchestra_api::{ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, crd};
use orchestra_controllers::{Controllers, Options};
use orchestra_core::{
    Applied, Inputs, plan,
    preview::{CapabilitiesOf, ObjectKind, PreviewContext},
};
use orchestra_drivers::runtime::capabilities;
use orchestra_server::snapshot;
use orchestra_testkit::{
    TestEnv,
    scripted::{RunScript, ScriptedRuntime},
};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

/// Name of the Workload.
pub(super) const NAME: &str = "shop";

/// Class of the built-in runtime.
pub(super) const BUILT_IN: &str = "scripted";
/// Class of the external runtime.
pub(super) const EXTERNAL: &str = "others";

/// Config with a backend of this class, and one of the external class for Workloads that need it.
fn config_text(runtime_class: &str) -> String {
    format!(
        "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {{name: default}}
spec:
  profiles:
    - name: web-service
      backends:
        - {{backendId: here, runtimeClass: {runtime_class}, priority: 10}}
        - {{backendId: there, runtimeClass: {EXTERNAL}, constraints: {{features: [big]}}}}
  provisioners: [{{type: postgres, engine: external}}, {{type: redis, engine: external}}]
"
    )
}

pub(super) struct Platform {
    env: TestEnv,
    runtime: ScriptedRuntime,
}

impl Platform {
    pub(super) async fn start(runtime_class: &str) -> Self {
        let env = TestEnv::start().await;
        for definition in crd::all() {
            env.install(definition).await;
        }
        env.namespace("score-system").await;
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "orchestrator-config"}, "data": {"config.yaml": config_text(runtime_class)},
        });
        let maps: Api<ConfigMap> = Api::namespaced(env.client(), "score-system");
        maps.patch("orchestrator-config", &PatchParams::apply("test"), &Patch::Apply(map)).await.unwrap();
        Self { env, runtime: ScriptedRuntime::new(BUILT_IN) }
    }

    pub(super) fn client(&self) -> Client {
        self.env.client()
    }

    pub(super) async fn write<K>(&self, api: Api<K>, kind: &str, name: &str, annotations: &Json, spec: &Json)
    where
        K: Clone + DeserializeOwned + std::fmt::Debug,
    {
        let object = json!({
            "apiVersion": "score.dev/v1b1", "kind": kind, "metadata": {"name": name, "annotations": annotations}, "spec": spec,
        });
        api.patch(name, &PatchParams::apply("author").force(), &Patch::Apply(object)).await.unwrap();
    }

    pub(super) async fn all<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        Api::<K>::all(self.client()).list(&ListParams::default()).await.unwrap().items
    }

    /// Applies the Workload.
    pub(super) async fn apply(&self, annotations: &Json, spec: &Json) {
        let workloads: Api<Workload> = Api::default_namespaced(self.client());
        self.write(workloads, "Workload", NAME, annotations, spec).await;
    }

    /// Inputs of `plan`, as the server reads them; `None` if the Workload is gone.
    pub(super) async fn try_inputs(&self) -> Option<Inputs> {
        let runtimes = [BUILT_IN.to_owned()].into();
        let snapshot = snapshot::read(&self.client(), runtimes, "default", NAME).await.unwrap();
        snapshot.inputs(Timestamp::now())
    }

    pub(super) async fn inputs(&self) -> Inputs {
        self.try_inputs().await.unwrap()
    }

    /// Kinds and names of all our objects.
    pub(super) async fn objects(&self) -> BTreeSet<(ObjectKind, String)> {
        let mut objects = BTreeSet::new();
        objects.extend(names(ObjectKind::Workload, &self.all::<Workload>().await));
        objects.extend(names(ObjectKind::ResourceClaim, &self.all::<ResourceClaim>().await));
        objects.extend(names(ObjectKind::WorkloadPlan, &self.all::<WorkloadPlan>().await));
        objects.extend(names(ObjectKind::WorkloadExposure, &self.all::<WorkloadExposure>().await));
        objects
    }

    /// Versions of all our objects, by UID.
    async fn versions(&self) -> BTreeMap<Option<String>, Option<String>> {
        fn of<K: ResourceExt>(objects: Vec<K>) -> impl Iterator<Item = (Option<String>, Option<String>)> {
            objects.into_iter().map(|object| (object.uid(), object.resource_version()))
        }
        let mut versions = BTreeMap::new();
        versions.extend(of(self.all::<Workload>().await));
        versions.extend(of(self.all::<ResourceClaim>().await));
        versions.extend(of(self.all::<WorkloadPlan>().await));
        versions.extend(of(self.all::<WorkloadExposure>().await));
        versions
    }

    /// Inputs of a preview while the built-in runtime has this script.
    pub(super) fn preview_context(&self, script: RunScript) -> PreviewContext {
        self.runtime.script("default", NAME, script);
        let runtime = self.runtime.clone();
        let is_own = |plan: &WorkloadPlan| plan.spec.runtime_class == BUILT_IN;
        PreviewContext {
            capabilities: CapabilitiesOf::new(move |plan| is_own(plan).then(|| capabilities(&runtime, plan))),
            ..PreviewContext::default()
        }
    }

    /// Runs the controllers until they are idle. A plan on the built-in runtime proceeds as the script says.
    pub(super) async fn orchestrate(&self, script: RunScript) {
        self.runtime.script("default", NAME, script);
        let options = Options { runtimes: vec![Arc::new(self.runtime.clone())], ..Options::default() };
        let controllers = Controllers::start(self.client(), options).await.unwrap();
        controllers.idle().await;
        controllers.stop().await;
    }

    /// Reports as external controllers would, and runs ours, until nothing changes.
    pub(super) async fn settle(&self) {
        for _ in 0..12 {
            self.report_external().await;
            self.orchestrate(RunScript::Run).await;
            let inputs = self.inputs().await;
            let decision = plan(&inputs);
            let is_reported =
                inputs.workload.status.as_ref() == Some(&decision.status_inputs.report(&Applied::default()));
            let claims = inputs.claims.iter().all(is_observed);
            let plans = inputs.plan.iter().all(|plan| observed(plan) == Some(&plan.spec.revision));
            if decision.is_settled() && is_reported && claims && plans {
                return;
            }
        }
        panic!("it does not settle: {:#?}", plan(&self.inputs().await));
    }

    /// Objects that are left once the controllers change nothing more. A single run may end between the deletion of an
    /// object and the event about it.
    pub(super) async fn remaining(&self) -> BTreeSet<(ObjectKind, String)> {
        let mut before = self.versions().await;
        loop {
            self.orchestrate(RunScript::Run).await;
            let after = self.versions().await;
            if after == before {
                return self.objects().await;
            }
            before = after;
        }
    }

    pub(super) async fn report_external(&self) {
        let claims: Api<ResourceClaim> = Api::default_namespaced(self.client());
        for claim in self.all::<ResourceClaim>().await.iter().filter(|claim| !is_observed(claim)) {
            let status = json!({
                "phase": "Bound", "outputsAvailable": true, "observedGeneration": claim.metadata.generation,
                "outputs": {
                    "host": {"value": format!("{}.test", claim.spec.class)},
                    "password": {"secretKeyRef": {"name": "secret", "key": "password"}},
                },
                "outputsRevision": format!("{}-{:?}", claim.name_any(), claim.metadata.generation),
            });
            let patch = Patch::Merge(json!({"status": status}));
            claims.patch_status(&claim.name_any(), &PatchParams::default(), &patch).await.unwrap();
        }
        let plans: Api<WorkloadPlan> = Api::default_namespaced(self.client());
        for plan in self.all::<WorkloadPlan>().await {
            let is_empty = plan.status.as_ref().is_none_or(|status| status.inventory.is_empty());
            if plan.spec.runtime_class != EXTERNAL || !is_empty {
                continue;
            }
            let patch =
                Patch::Merge(json!({"status": {"phase": "Ready", "observedRevision": plan.spec.revision}}));
            plans.patch_status(&plan.name_any(), &PatchParams::default(), &patch).await.unwrap();
        }
    }
}

fn names<K: ResourceExt>(kind: ObjectKind, objects: &[K]) -> Vec<(ObjectKind, String)> {
    objects.iter().map(|object| (kind, object.name_any())).collect()
}

fn is_observed(claim: &ResourceClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.observed_generation == claim.metadata.generation)
}

fn observed(plan: &WorkloadPlan) -> Option<&String> {
    plan.status.as_ref()?.observed_revision.as_ref()
}
