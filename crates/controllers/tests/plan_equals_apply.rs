//! Plan equals apply: after a reconcile the API has exactly the previewed objects, on built-in and external runtimes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use orchestra_api::{
    PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, crd, finalizer,
};
use orchestra_controllers::{Controllers, Options};
use orchestra_core::{
    Applied, Decision, Inputs, Observed, config,
    decision::{Deferral, DeletionKind},
    plan,
};
use orchestra_testkit::{
    TestEnv,
    scripted::{RunScript, ScriptedRuntime},
};
use proptest::{
    prelude::*,
    sample::select,
    strategy::ValueTree,
    test_runner::{Config as Running, RngAlgorithm, TestRng, TestRunner},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

/// Random histories of a Workload; each takes a few passes of all controllers.
const HISTORIES: usize = 12;
const NAME: &str = "shop";

/// Class of the built-in runtime.
const BUILT_IN: &str = "scripted";
/// Class of the external runtime.
const EXTERNAL: &str = "others";

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

/// Change of the Workload (annotations, spec) or of the policy.
#[derive(Clone, Debug)]
enum Change {
    Workload(Json, Json),
    Policy(Json),
}

fn change() -> impl Strategy<Value = Change> {
    let annotations = select(vec![
        json!({}),
        json!({"score.dev/requirements": "big"}),
        json!({"score.dev/profile": "none"}),
    ]);
    let text = select(vec![
        "plain",
        "${resources.db.host}",
        "x ${resources.db.password}",
        "${resources.db.nothing}",
    ]);
    let class = select(vec!["default", "small"]);
    let cache = select(vec![
        None,
        Some(json!({"type": "redis"})),
        Some(json!({"type": "redis", "params": {"at": "${resources.db.host}"}})),
    ]);
    let ports = select(vec![None, Some(json!({"ports": {"http": {"port": 80}}}))]);
    let workload =
        (annotations, text, class, cache, ports).prop_map(|(annotations, text, class, cache, ports)| {
            let mut spec = json!({
                "containers": {"app": {"image": "nginx", "variables": {"TEXT": text}}},
                "resources": {"db": {"type": "postgres", "class": class}},
            });
            if let Some(ports) = ports {
                spec["service"] = ports;
            }
            if let Some(cache) = cache {
                spec["resources"]["cache"] = cache;
            }
            Change::Workload(annotations, spec)
        });
    let policy = select(vec![
        json!({}),
        json!({"limits": {"claims": 1}}),
        json!({"defaults": {"requests": {"memory": "32Mi"}}}),
    ]);
    prop_oneof![4 => workload, 1 => policy.prop_map(Change::Policy)]
}

struct Platform {
    env: TestEnv,
    config: String,
    runtime: ScriptedRuntime,
}

impl Platform {
    async fn start(runtime_class: &str) -> Self {
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
        Self { env, config: config_text(runtime_class), runtime: ScriptedRuntime::new(BUILT_IN) }
    }

    fn client(&self) -> Client {
        self.env.client()
    }

    async fn write<K>(&self, api: Api<K>, kind: &str, name: &str, annotations: &Json, spec: &Json)
    where
        K: Clone + DeserializeOwned + std::fmt::Debug,
    {
        let object = json!({
            "apiVersion": "score.dev/v1b1", "kind": kind, "metadata": {"name": name, "annotations": annotations}, "spec": spec,
        });
        api.patch(name, &PatchParams::apply("author").force(), &Patch::Apply(object)).await.unwrap();
    }

    async fn all<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        Api::<K>::all(self.client()).list(&ListParams::default()).await.unwrap().items
    }

    /// Inputs of `plan`, assembled as the server assembles them.
    async fn inputs(&self) -> Inputs {
        let observed = Observed {
            workload: self.all::<Workload>().await.pop().unwrap(),
            namespace: Api::<Namespace>::all(self.client()).get_opt("default").await.unwrap(),
            policies: self.all::<PlatformPolicy>().await,
            unreadable_policies: Vec::new(),
            config: Arc::new(config::check(&self.config).unwrap()),
            claims: self.all::<ResourceClaim>().await,
            plan: self.all::<WorkloadPlan>().await.pop(),
            exposure: self.all::<WorkloadExposure>().await.pop(),
            runtimes: [BUILT_IN.to_owned()].into(),
        };
        Inputs::assemble(observed, Timestamp::now(), Duration::ZERO)
    }

    /// Runs the controllers until they are idle. A plan on the built-in runtime proceeds as the script says.
    async fn orchestrate(&self, script: RunScript) {
        self.runtime.script("default", NAME, script);
        let options = Options { runtimes: vec![Arc::new(self.runtime.clone())], ..Options::default() };
        let controllers = Controllers::start(self.client(), options).await.unwrap();
        controllers.idle().await;
        controllers.stop().await;
    }

    /// Reports as external controllers would, and runs ours, until nothing changes.
    async fn settle(&self) {
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

    async fn report_external(&self) {
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

fn is_observed(claim: &ResourceClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.observed_generation == claim.metadata.generation)
}

fn observed(plan: &WorkloadPlan) -> Option<&String> {
    plan.status.as_ref()?.observed_revision.as_ref()
}

fn specs<K: Resource<DynamicType = ()>, S: Serialize>(
    all: &[K],
    spec: fn(&K) -> &S,
) -> BTreeMap<String, Json> {
    all.iter().map(|object| (object.name_any(), json!(spec(object)))).collect()
}

/// Specs of a kind in the API after a decision, by name.
fn expected(
    mut specs: BTreeMap<String, Json>,
    written: BTreeMap<String, Json>,
    deleted: &[&str],
) -> BTreeMap<String, Json> {
    specs.extend(written);
    specs.retain(|name, _| !deleted.contains(&name.as_str()));
    specs
}

async fn check(platform: &Platform, before: &Inputs, decision: &Decision) {
    let deleted = |kind: DeletionKind| {
        let deletion = decision.delete.iter().filter(move |deletion| deletion.kind == kind);
        deletion.map(|deletion| deletion.name.as_str()).collect::<Vec<_>>()
    };
    let after = platform.inputs().await;
    // A claim with a finalizer is terminating, and gone later.
    let stays = |claim: &&ResourceClaim| claim.metadata.deletion_timestamp.is_none();
    let claims: Vec<_> = after.claims.iter().filter(stays).cloned().collect();
    let before_claims: Vec<_> = before.claims.iter().filter(stays).cloned().collect();
    assert_eq!(
        specs(&claims, |claim| &claim.spec),
        expected(
            specs(&before_claims, |claim| &claim.spec),
            specs(&decision.claims, |claim| &claim.spec),
            &deleted(DeletionKind::ResourceClaim),
        ),
    );
    let plans = |plan: &Option<WorkloadPlan>| specs(plan.as_slice(), |plan| &plan.spec);
    assert_eq!(plans(&after.plan), expected(plans(&before.plan), plans(&decision.plan), &[]));
    let exposures =
        |exposure: &Option<WorkloadExposure>| specs(exposure.as_slice(), |exposure| &exposure.spec);
    assert_eq!(
        exposures(&after.exposure),
        expected(exposures(&before.exposure), exposures(&decision.exposure), &[])
    );
    // The next decision has no changes.
    let next = plan(&after);
    assert!(next.claims.is_empty() && next.plan.is_none() && next.exposure.is_none(), "{next:#?}");
    let expected = next.report(&Applied::default());
    match &after.workload.status {
        Some(reported) => {
            let status = next.status_inputs.report(&Applied::default());
            assert_eq!(status.conditions, reported.conditions);
        }
        None => assert_eq!(expected.deferred, Some(Deferral::FirstStatus)),
    }
}

/// The finalizer of built-in runtimes is on their plans, and on no others.
fn check_finalizer(plan: &WorkloadPlan) {
    let has_finalizer = plan.finalizers().iter().any(|name| name == finalizer::RUNTIME);
    assert_eq!(has_finalizer, plan.spec.runtime_class == BUILT_IN, "{plan:#?}");
}

async fn follow_histories(runtime_class: &str) {
    let mut runner =
        TestRunner::new_with_rng(Running::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let histories = proptest::collection::vec(change(), 1..4);
    for _ in 0..HISTORIES {
        let history = histories.new_tree(&mut runner).unwrap().current();
        let platform = Platform::start(runtime_class).await;
        let workloads: Api<Workload> = Api::default_namespaced(platform.client());
        let first = json!({"containers": {"app": {"image": "nginx"}}});
        platform.write(workloads.clone(), "Workload", NAME, &json!({}), &first).await;
        for change in &history {
            match change {
                Change::Workload(annotations, spec) => {
                    platform.write(workloads.clone(), "Workload", NAME, annotations, spec).await;
                }
                Change::Policy(spec) => {
                    let policies: Api<PlatformPolicy> = Api::all(platform.client());
                    platform.write(policies, "PlatformPolicy", "policy", &json!({}), spec).await;
                }
            }
            let before = platform.inputs().await;
            let decision = plan(&before);
            // A runtime that is still starting leads to no further decision.
            platform.orchestrate(RunScript::Start).await;
            check(&platform, &before, &decision).await;
            platform.settle().await;
            platform.all().await.iter().for_each(check_finalizer);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_shows_what_apply_does_on_an_external_runtime() {
    follow_histories(EXTERNAL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_shows_what_apply_does_on_a_built_in_runtime() {
    follow_histories(BUILT_IN).await;
}
