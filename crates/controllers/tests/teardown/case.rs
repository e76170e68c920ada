//! One case: some Workloads, and what happens to them.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use fastrand::Rng;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use orchestra_api::{
    ConditionStatus, ConditionType, PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan,
};
use orchestra_controllers::Options;
use orchestra_drivers::static_engine::Static;
use orchestra_testkit::scripted::{ProvisionScript, RunScript};
use serde_json::{Value as Json, json};

use crate::common::{DOCUMENT, Platform, Process};

/// The types of what Workloads depend on. Nobody provides a queue.
const TYPES: [&str; 4] = ["postgres", "redis", "link", "queue"];

/// What happens.
#[derive(Clone, Debug)]
enum Act {
    DeleteWorkload(usize),
    DeleteNamespace,
    DeletePolicy,
    DeleteDocument,
    BreakDocument,
    DeleteClaim,
    DeletePlan,
    DeleteExposure,
    ProvisionerGoes,
    RuntimeGoes,
    ProvisionerClings,
    RuntimeClings(usize),
    Restart,
    Pause(u64),
}

pub(crate) struct Case {
    title: String,
    specs: Vec<Json>,
    /// Whether it begins once all that can be ready is ready.
    patient: bool,
    acts: Vec<Act>,
}

/// Which drivers the controllers have.
#[derive(Clone, Copy)]
struct Drivers {
    provisioner: bool,
    runtime: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (begins when ready: {})", self.title, self.patient)?;
        self.specs.iter().try_for_each(|spec| writeln!(f, "  {}", spec["resources"]))?;
        write!(f, "  {:?}", self.acts)
    }
}

impl Case {
    pub(crate) fn random(seed: u64, case: u64) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_add(case.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let specs: Vec<_> = (0..rng.usize(1..=3)).map(|_| workload(&mut rng)).collect();
        let mut acts = Vec::new();
        for _ in 0..rng.usize(0..6) {
            acts.push(match rng.u8(0..12) {
                0 => Act::DeletePolicy,
                1 => Act::DeleteDocument,
                2 => Act::BreakDocument,
                3 => Act::DeleteClaim,
                4 => Act::DeletePlan,
                5 => Act::DeleteExposure,
                6 => Act::ProvisionerGoes,
                7 => Act::RuntimeGoes,
                8 => Act::ProvisionerClings,
                9 => Act::RuntimeClings(rng.usize(0..specs.len())),
                10 => Act::Restart,
                _ => Act::Pause(rng.u64(1..40)),
            });
        }
        let whole = rng.u8(0..3) == 0;
        if whole {
            acts.push(Act::DeleteNamespace);
        }
        let doomed = (0..specs.len()).filter(|_| !whole || rng.bool()).map(Act::DeleteWorkload);
        acts.extend(doomed.collect::<Vec<_>>());
        rng.shuffle(&mut acts);
        let title = format!("seed {seed}, case {case}");
        Self { title, patient: rng.u8(0..3) > 0, specs, acts }
    }

    /// Plays it: how long it took until all that was left said what it waits for, and until all was gone.
    pub(crate) async fn play(&self, platform: Platform) -> (Duration, Duration) {
        let env = &platform.env;
        env.namespace("shop").await;
        platform.configure(DOCUMENT).await;
        let policies: Api<PlatformPolicy> = Api::all(env.client());
        let policy = json!({
            "apiVersion": "score.dev/v1b1", "kind": "PlatformPolicy", "metadata": {"name": "house"},
            "spec": {"priority": 1, "limits": {"containers": 2}},
        });
        let params = PatchParams::apply("test").force();
        policies.patch("house", &params, &Patch::Apply(policy)).await.unwrap();
        let mut stage = Stage {
            process: None,
            drivers: Drivers { provisioner: true, runtime: true },
            platform: &platform,
        };
        stage.restart().await;
        for (index, spec) in self.specs.iter().enumerate() {
            platform.apply(&name(index), spec.clone()).await;
        }
        if self.patient {
            for (index, spec) in self.specs.iter().enumerate() {
                if !spec.to_string().contains("queue") {
                    platform.until_ready(&name(index)).await;
                }
            }
        }
        let mut held = false;
        for act in &self.acts {
            held |= matches!(
                act,
                Act::ProvisionerGoes | Act::RuntimeGoes | Act::ProvisionerClings | Act::RuntimeClings(_)
            );
            stage.perform(act).await;
        }
        let begun = Instant::now();
        if held {
            self.until_said(&platform).await;
        }
        let said = begun.elapsed();
        if held {
            for type_ in TYPES {
                platform.provisioner.script(type_, ProvisionScript::Bind);
            }
            for index in 0..self.specs.len() {
                platform.runtime.script("shop", &name(index), RunScript::Run);
            }
            let missing = !(stage.drivers.provisioner && stage.drivers.runtime);
            stage.drivers = Drivers { provisioner: true, runtime: true };
            if missing {
                stage.restart().await;
            }
        }
        let begun = Instant::now();
        self.until_gone(&platform).await;
        let ended = begun.elapsed();
        self.clear(&platform).await;
        stage.end().await;
        (said, ended)
    }

    async fn until_said(&self, platform: &Platform) {
        let workloads = platform.workloads();
        platform
            .env
            .eventually(format!("{self}\n every Workload is gone, or says what it waits for"), async || {
                let left = workloads.list(&ListParams::default()).await.unwrap();
                let silent: Vec<_> =
                    left.iter().filter(|workload| !says_what_it_waits_for(workload)).collect();
                if silent.is_empty() {
                    Ok(true)
                } else {
                    Err(json!([silent, state(platform).await]).to_string())
                }
            })
            .await;
    }

    async fn until_gone(&self, platform: &Platform) {
        platform
            .env
            .eventually(format!("{self}\n everything is gone"), async || {
                let left = platform.left().await;
                if left.is_empty() {
                    return Ok(true);
                }
                Err(format!("{left:#?}\n{}", state(platform).await))
            })
            .await;
    }

    async fn clear(&self, platform: &Platform) {
        let namespaces: Api<Namespace> = Api::all(platform.env.client());
        let _ = namespaces.delete("shop", &DeleteParams::default()).await;
        let gone = async || Ok::<_, kube::Error>(namespaces.get_opt("shop").await?.is_none());
        platform.env.eventually(format!("{self}\n the namespace is gone"), gone).await;
        let maps: Api<ConfigMap> = Api::namespaced(platform.env.client(), "score-system");
        let _ = maps.delete("orchestrator-config-in-force", &DeleteParams::default()).await;
    }
}

/// What there is, for whoever has to find out why it is still there.
async fn state(platform: &Platform) -> Json {
    let params = ListParams::default();
    let workloads = platform.workloads().list(&params).await.unwrap().items;
    let claims = platform.claims().list(&params).await.unwrap().items;
    let plans = platform.plans().list(&params).await.unwrap().items;
    let mut state = json!({"workloads": workloads, "claims": claims, "plans": plans});
    for object in state.as_object_mut().unwrap().values_mut().flat_map(|kind| kind.as_array_mut().unwrap()) {
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
    }
    state
}

struct Stage<'a> {
    process: Option<Process>,
    drivers: Drivers,
    platform: &'a Platform,
}

impl Stage<'_> {
    /// Kills the controllers, and starts them again with the drivers that there are.
    async fn restart(&mut self) {
        let mut options = Options { provisioners: vec![Arc::new(Static)], ..Options::default() };
        if self.drivers.provisioner {
            options.provisioners.push(Arc::new(self.platform.provisioner.clone()));
        }
        if self.drivers.runtime {
            options.runtimes.push(Arc::new(self.platform.runtime.clone()));
        }
        let env = Arc::clone(&self.platform.env);
        self.end().await;
        self.process = Some(Process::start(move || env.client(), options));
    }

    async fn end(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    async fn perform(&mut self, act: &Act) {
        let platform = self.platform;
        let params = DeleteParams::default();
        match act {
            Act::DeleteWorkload(index) => drop(platform.workloads().delete(&name(*index), &params).await),
            Act::DeleteNamespace => {
                let namespaces: Api<Namespace> = Api::all(platform.env.client());
                namespaces.delete("shop", &params).await.unwrap();
            }
            Act::DeletePolicy => {
                let policies: Api<PlatformPolicy> = Api::all(platform.env.client());
                drop(policies.delete("house", &params).await);
            }
            Act::DeleteDocument => {
                let maps: Api<ConfigMap> = Api::namespaced(platform.env.client(), "score-system");
                drop(maps.delete("orchestrator-config", &params).await);
            }
            Act::BreakDocument => platform.configure("this: is not a document").await,
            Act::DeleteClaim => {
                let claims: Api<ResourceClaim> = platform.api();
                if let Some(claim) = claims.list(&ListParams::default()).await.unwrap().items.first() {
                    drop(claims.delete(&claim.name_any(), &params).await);
                }
            }
            Act::DeletePlan => drop(platform.api::<WorkloadPlan>().delete("w0", &params).await),
            Act::DeleteExposure => drop(platform.api::<WorkloadExposure>().delete("w0", &params).await),
            Act::ProvisionerGoes => {
                self.drivers.provisioner = false;
                self.restart().await;
            }
            Act::RuntimeGoes => {
                self.drivers.runtime = false;
                self.restart().await;
            }
            Act::ProvisionerClings => platform.provisioner.script("postgres", ProvisionScript::Cling),
            Act::RuntimeClings(index) => platform.runtime.script("shop", &name(*index), RunScript::Cling),
            Act::Restart => self.restart().await,
            Act::Pause(millis) => tokio::time::sleep(Duration::from_millis(*millis)).await,
        }
    }
}

fn name(index: usize) -> String {
    format!("w{index}")
}

/// Up to three dependencies, some shared between Workloads, some needing others.
fn workload(rng: &mut Rng) -> Json {
    let mut resources = serde_json::Map::new();
    let mut variables = serde_json::Map::new();
    let mut before: Option<String> = None;
    for index in 0..rng.usize(0..=3) {
        let type_ = TYPES[rng.usize(0..TYPES.len())];
        let key = format!("r{index}");
        let mut resource = json!({"type": type_});
        let is_shared = rng.u8(0..4) == 0;
        if is_shared {
            resource["id"] = json!("common");
        } else if let Some(before) = before.as_ref().filter(|_| rng.bool()) {
            resource["params"] = json!({"behind": format!("${{resources.{before}.host}}")});
        }
        let policy = ["Delete", "Retain", "Orphan"][rng.usize(0..3)];
        resource["metadata"] = json!({"annotations": {"score.dev/deprovision": policy}});
        if is_shared {
            // Sharers agree on everything.
            resource["metadata"] = json!({"annotations": {"score.dev/deprovision": "Delete"}});
        }
        if matches!(type_, "postgres" | "redis") {
            variables.insert(format!("PASSWORD{index}"), json!(format!("${{resources.{key}.password}}")));
            before = Some(key.clone());
        }
        resources.insert(key, resource);
    }
    json!({
        "containers": {"app": {"image": "nginx", "variables": variables}},
        "service": {"ports": {"www": {"port": 80}}},
        "resources": resources,
    })
}

/// Whether the status of a Workload that is being deleted tells why it is still there.
fn says_what_it_waits_for(workload: &Workload) -> bool {
    let conditions = workload.status.iter().flat_map(|status| &status.conditions);
    let mut ready = conditions.filter(|condition| condition.type_ == ConditionType::Ready);
    workload.metadata.deletion_timestamp.is_some()
        && ready.any(|ready| {
            ready.status == ConditionStatus::False && ready.message.starts_with("Being deleted: waiting for ")
        })
}
