//! What a plan says is what the API holds afterwards: the decision is taken from what there is, shown as `plan` shows
//! it, and then the controllers act.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, crd};
use orchestra_controllers::{Controllers, Options, world::namespace_of};
use orchestra_core::{Applied, Decision, Inputs, config, decision::DoomedKind, plan};
use orchestra_testkit::TestEnv;
use proptest::{
    prelude::*,
    sample::select,
    strategy::ValueTree,
    test_runner::{Config as Running, RngAlgorithm, TestRng, TestRunner},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

/// How many histories of one Workload are looked at; each takes a few passes of all controllers.
const HISTORIES: usize = 12;
const NAME: &str = "shop";

const DOCUMENT: &str = r"
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {name: default}
spec:
  profiles:
    - name: web-service
      backends:
        - {backendId: here, runtimeClass: others, priority: 10}
        - {backendId: there, runtimeClass: others, constraints: {features: [big]}}
  provisioners: [{type: postgres, engine: external}, {type: redis, engine: external}]
";

/// A Workload as somebody writes it, or a policy.
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
}

impl Platform {
    async fn start() -> Self {
        let env = TestEnv::start().await;
        for definition in crd::all() {
            env.install(definition).await;
        }
        env.namespace("score-system").await;
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "orchestrator-config"}, "data": {"config.yaml": DOCUMENT},
        });
        let maps: Api<ConfigMap> = Api::namespaced(env.client(), "score-system");
        maps.patch("orchestrator-config", &PatchParams::apply("test"), &Patch::Apply(map)).await.unwrap();
        Self { env }
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

    /// What `plan` would show now.
    async fn inputs(&self) -> Inputs {
        let workload = self.all::<Workload>().await.pop().unwrap();
        let home = Api::<Namespace>::all(self.client()).get("default").await.unwrap();
        Inputs {
            workload,
            namespace: namespace_of(&home),
            policies: self.all::<PlatformPolicy>().await,
            config: Arc::new(config::check(DOCUMENT).unwrap()),
            claims: self.all::<ResourceClaim>().await,
            plan: self.all::<WorkloadPlan>().await.pop(),
            exposure: self.all::<WorkloadExposure>().await.pop(),
            now: Timestamp::now(),
        }
    }

    /// Lets the controllers act. What is provided and run here is others' work, so the workload controller is alone.
    async fn orchestrate(&self) {
        let controllers = Controllers::start(self.client(), Options::default()).await.unwrap();
        controllers.idle().await;
        controllers.stop().await;
    }

    /// Answers as the others would, and lets the controllers act on it, until everything is at rest.
    async fn come_to_rest(&self) {
        for _ in 0..12 {
            self.answer().await;
            self.orchestrate().await;
            let inputs = self.inputs().await;
            let decision = plan(&inputs);
            let is_said =
                inputs.workload.status.as_ref() == Some(&decision.basis.report(&Applied::default()));
            let claims = inputs.claims.iter().all(is_observed);
            let plans = inputs.plan.iter().all(|plan| observed(plan) == Some(&plan.spec.revision));
            if decision.is_settled() && is_said && claims && plans {
                return;
            }
        }
        panic!("it does not come to rest: {:#?}", plan(&self.inputs().await));
    }

    async fn answer(&self) {
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

/// What the API must hold of a kind after a decision, by name.
fn expected(
    mut held: BTreeMap<String, Json>,
    written: BTreeMap<String, Json>,
    gone: &[&str],
) -> BTreeMap<String, Json> {
    held.extend(written);
    held.retain(|name, _| !gone.contains(&name.as_str()));
    held
}

async fn check(platform: &Platform, before: &Inputs, decision: &Decision) {
    let gone = |kind: DoomedKind| {
        let doomed = decision.delete.iter().filter(move |doomed| doomed.kind == kind);
        doomed.map(|doomed| doomed.name.as_str()).collect::<Vec<_>>()
    };
    let after = platform.inputs().await;
    // What is held by a finalizer is marked, and goes later.
    let stays = |claim: &&ResourceClaim| claim.metadata.deletion_timestamp.is_none();
    let claims: Vec<_> = after.claims.iter().filter(stays).cloned().collect();
    let before_claims: Vec<_> = before.claims.iter().filter(stays).cloned().collect();
    assert_eq!(
        specs(&claims, |claim| &claim.spec),
        expected(
            specs(&before_claims, |claim| &claim.spec),
            specs(&decision.claims, |claim| &claim.spec),
            &gone(DoomedKind::ResourceClaim),
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
    // And the next plan has nothing more to say.
    let next = plan(&after);
    assert!(next.claims.is_empty() && next.plan.is_none() && next.exposure.is_none(), "{next:#?}");
    let reported = after.workload.status.unwrap();
    assert_eq!(next.basis.report(&Applied::default()).conditions, reported.conditions);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_plan_says_is_what_the_api_holds_afterwards() {
    let mut runner =
        TestRunner::new_with_rng(Running::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let histories = proptest::collection::vec(change(), 1..4);
    for _ in 0..HISTORIES {
        let history = histories.new_tree(&mut runner).unwrap().current();
        let platform = Platform::start().await;
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
            platform.orchestrate().await;
            check(&platform, &before, &decision).await;
            platform.come_to_rest().await;
        }
    }
}
