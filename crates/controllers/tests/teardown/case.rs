//! One case: some Workloads, and a random sequence of steps.

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

use crate::common::{CONFIG, Platform, Process};

/// Types of dependencies. No provisioner provides a queue.
const TYPES: [&str; 4] = ["postgres", "redis", "link", "queue"];

/// Step of a case.
#[derive(Clone, Debug)]
enum Step {
    DeleteWorkload(usize),
    DeleteNamespace,
    DeletePolicy,
    DeleteConfig,
    BreakConfig,
    DeleteClaim,
    DeletePlan,
    DeleteExposure,
    RemoveProvisioner,
    RemoveRuntime,
    BlockProvisioner,
    BlockRuntime(usize),
    Restart,
    Pause(u64),
}

pub(crate) struct Case {
    title: String,
    specs: Vec<Json>,
    /// Start the steps once all Workloads that can be ready are ready.
    await_ready: bool,
    steps: Vec<Step>,
}

/// Drivers of the controllers.
#[derive(Clone, Copy)]
struct Drivers {
    provisioner: bool,
    runtime: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (starts when ready: {})", self.title, self.await_ready)?;
        self.specs.iter().try_for_each(|spec| writeln!(f, "  {}", spec["resources"]))?;
        write!(f, "  {:?}", self.steps)
    }
}

impl Case {
    pub(crate) fn random(seed: u64, case: u64) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_add(case.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let specs: Vec<_> = (0..rng.usize(1..=3)).map(|_| workload(&mut rng)).collect();
        let mut steps = Vec::new();
        for _ in 0..rng.usize(0..6) {
            steps.push(match rng.u8(0..12) {
                0 => Step::DeletePolicy,
                1 => Step::DeleteConfig,
                2 => Step::BreakConfig,
                3 => Step::DeleteClaim,
                4 => Step::DeletePlan,
                5 => Step::DeleteExposure,
                6 => Step::RemoveProvisioner,
                7 => Step::RemoveRuntime,
                8 => Step::BlockProvisioner,
                9 => Step::BlockRuntime(rng.usize(0..specs.len())),
                10 => Step::Restart,
                _ => Step::Pause(rng.u64(1..40)),
            });
        }
        let whole = rng.u8(0..3) == 0;
        if whole {
            steps.push(Step::DeleteNamespace);
        }
        let deletion = (0..specs.len()).filter(|_| !whole || rng.bool()).map(Step::DeleteWorkload);
        steps.extend(deletion.collect::<Vec<_>>());
        rng.shuffle(&mut steps);
        let title = format!("seed {seed}, case {case}");
        Self { title, await_ready: rng.u8(0..3) > 0, specs, steps }
    }

    /// Runs the case. Returns the time until all remaining Workloads reported what blocks them, and until all was deleted.
    pub(crate) async fn run(&self, platform: Platform) -> (Duration, Duration) {
        let env = &platform.env;
        env.namespace("shop").await;
        platform.configure(CONFIG).await;
        let policies: Api<PlatformPolicy> = Api::all(env.client());
        let policy = json!({
            "apiVersion": "score.dev/v1b1", "kind": "PlatformPolicy", "metadata": {"name": "house"},
            "spec": {"priority": 1, "limits": {"containers": 2}},
        });
        let params = PatchParams::apply("test").force();
        policies.patch("house", &params, &Patch::Apply(policy)).await.unwrap();
        let mut runner = Runner {
            process: None,
            drivers: Drivers { provisioner: true, runtime: true },
            platform: &platform,
        };
        runner.restart().await;
        for (index, spec) in self.specs.iter().enumerate() {
            platform.apply(&name(index), spec.clone()).await;
        }
        if self.await_ready {
            for (index, spec) in self.specs.iter().enumerate() {
                if !spec.to_string().contains("queue") {
                    platform.until_ready(&name(index)).await;
                }
            }
        }
        let mut blocked = false;
        for step in &self.steps {
            blocked |= matches!(
                step,
                Step::RemoveProvisioner
                    | Step::RemoveRuntime
                    | Step::BlockProvisioner
                    | Step::BlockRuntime(_)
            );
            runner.perform(step).await;
        }
        let start = Instant::now();
        if blocked {
            self.until_reported(&platform).await;
        }
        let reported = start.elapsed();
        if blocked {
            for type_ in TYPES {
                platform.provisioner.script(type_, ProvisionScript::Bind);
            }
            for index in 0..self.specs.len() {
                platform.runtime.script("shop", &name(index), RunScript::Run);
            }
            let missing = !(runner.drivers.provisioner && runner.drivers.runtime);
            runner.drivers = Drivers { provisioner: true, runtime: true };
            if missing {
                runner.restart().await;
            }
        }
        let start = Instant::now();
        self.until_gone(&platform).await;
        let deleted = start.elapsed();
        self.clear(&platform).await;
        runner.kill().await;
        (reported, deleted)
    }

    async fn until_reported(&self, platform: &Platform) {
        let workloads = platform.workloads();
        platform
            .env
            .eventually(format!("{self}\n every Workload is gone, or reports what blocks it"), async || {
                let remaining = workloads.list(&ListParams::default()).await.unwrap();
                let silent: Vec<_> =
                    remaining.iter().filter(|workload| !reports_what_blocks_it(workload)).collect();
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
                let leftovers = platform.leftovers().await;
                if leftovers.is_empty() {
                    return Ok(true);
                }
                Err(format!("{leftovers:#?}\n{}", state(platform).await))
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

/// Remaining objects, for the message of a failure.
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

/// Executor of the steps of a case.
struct Runner<'a> {
    process: Option<Process>,
    drivers: Drivers,
    platform: &'a Platform,
}

impl Runner<'_> {
    /// Kills the controllers, and starts new ones with the current drivers.
    async fn restart(&mut self) {
        let mut options = Options { provisioners: vec![Arc::new(Static)], ..Options::default() };
        if self.drivers.provisioner {
            options.provisioners.push(Arc::new(self.platform.provisioner.clone()));
        }
        if self.drivers.runtime {
            options.runtimes.push(Arc::new(self.platform.runtime.clone()));
        }
        let env = Arc::clone(&self.platform.env);
        self.kill().await;
        self.process = Some(Process::start(move || env.client(), options));
    }

    async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    async fn perform(&mut self, step: &Step) {
        let platform = self.platform;
        let params = DeleteParams::default();
        match step {
            Step::DeleteWorkload(index) => drop(platform.workloads().delete(&name(*index), &params).await),
            Step::DeleteNamespace => {
                let namespaces: Api<Namespace> = Api::all(platform.env.client());
                namespaces.delete("shop", &params).await.unwrap();
            }
            Step::DeletePolicy => {
                let policies: Api<PlatformPolicy> = Api::all(platform.env.client());
                drop(policies.delete("house", &params).await);
            }
            Step::DeleteConfig => {
                let maps: Api<ConfigMap> = Api::namespaced(platform.env.client(), "score-system");
                drop(maps.delete("orchestrator-config", &params).await);
            }
            Step::BreakConfig => platform.configure("this: is not a config").await,
            Step::DeleteClaim => {
                let claims: Api<ResourceClaim> = platform.api();
                if let Some(claim) = claims.list(&ListParams::default()).await.unwrap().items.first() {
                    drop(claims.delete(&claim.name_any(), &params).await);
                }
            }
            Step::DeletePlan => drop(platform.api::<WorkloadPlan>().delete("w0", &params).await),
            Step::DeleteExposure => drop(platform.api::<WorkloadExposure>().delete("w0", &params).await),
            Step::RemoveProvisioner => {
                self.drivers.provisioner = false;
                self.restart().await;
            }
            Step::RemoveRuntime => {
                self.drivers.runtime = false;
                self.restart().await;
            }
            Step::BlockProvisioner => {
                platform.provisioner.script("postgres", ProvisionScript::ReleaseForever);
            }
            Step::BlockRuntime(index) => {
                platform.runtime.script("shop", &name(*index), RunScript::StopForever);
            }
            Step::Restart => self.restart().await,
            Step::Pause(millis) => tokio::time::sleep(Duration::from_millis(*millis)).await,
        }
    }
}

fn name(index: usize) -> String {
    format!("w{index}")
}

/// Spec with up to three dependencies: some shared between Workloads, some dependent on others.
fn workload(rng: &mut Rng) -> Json {
    let mut resources = serde_json::Map::new();
    let mut variables = serde_json::Map::new();
    let mut previous: Option<String> = None;
    for index in 0..rng.usize(0..=3) {
        let type_ = TYPES[rng.usize(0..TYPES.len())];
        let key = format!("r{index}");
        let mut resource = json!({"type": type_});
        let is_shared = rng.u8(0..4) == 0;
        if is_shared {
            resource["id"] = json!("common");
        } else if let Some(previous) = previous.as_ref().filter(|_| rng.bool()) {
            resource["params"] = json!({"behind": format!("${{resources.{previous}.host}}")});
        }
        let policy = ["Delete", "Retain", "Orphan"][rng.usize(0..3)];
        resource["metadata"] = json!({"annotations": {"score.dev/deprovision": policy}});
        if is_shared {
            // Claims that share an instance agree on everything.
            resource["metadata"] = json!({"annotations": {"score.dev/deprovision": "Delete"}});
        }
        if matches!(type_, "postgres" | "redis") {
            variables.insert(format!("PASSWORD{index}"), json!(format!("${{resources.{key}.password}}")));
            previous = Some(key.clone());
        }
        resources.insert(key, resource);
    }
    json!({
        "containers": {"app": {"image": "nginx", "variables": variables}},
        "service": {"ports": {"www": {"port": 80}}},
        "resources": resources,
    })
}

/// True if the status of a Workload that is being deleted names what it waits for.
fn reports_what_blocks_it(workload: &Workload) -> bool {
    let conditions = workload.status.iter().flat_map(|status| &status.conditions);
    let mut ready = conditions.filter(|condition| condition.type_ == ConditionType::Ready);
    workload.metadata.deletion_timestamp.is_some()
        && ready.any(|ready| {
            ready.status == ConditionStatus::False && ready.message.starts_with("Being deleted: waiting for ")
        })
}
