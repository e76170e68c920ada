//! External provisioner and runtime, each in its own process, with only the API and the role that is shipped for it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Arc,
};

use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
    config::Kubeconfig,
};
use orchestra_api::{ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};
use orchestra_controllers::{Controllers, Options};
use orchestra_e2e::platform::{
    Access, Embedded,
    access::{self, Grant},
    clear, configure, eventually, manifests,
};
use orchestra_testkit::scripted::ScriptedRuntime;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const NAMESPACE: &str = "external";

const DOCUMENT: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {name: default}
spec:
  profiles:
    - name: web-service
      backends:
        - {backendId: here, runtimeClass: example, priority: 10}
        - {backendId: there, runtimeClass: example, priority: 5}
        - {backendId: ours, runtimeClass: scripted, priority: 1}
  provisioners: [{type: queue, engine: external, stateful: false}]
  defaults: {profile: web-service}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn external_drivers_provide_and_run_on_the_embedded_server() {
    let server = Embedded::start().await.unwrap();
    external_drivers_provide_and_run(server.kubeconfig()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: KUBECONFIG"]
async fn external_drivers_provide_and_run_on_a_real_server() {
    let kubeconfig = std::env::var("KUBECONFIG").unwrap();
    external_drivers_provide_and_run(Path::new(&kubeconfig)).await;
}

async fn external_drivers_provide_and_run(server: &Path) {
    let world = World::set_up(server).await;

    // The orchestrator has no drivers, and no external process runs yet.
    let controllers = world.controllers(Vec::new()).await;
    world.apply("shop", json!({}), spec(1, "one")).await;
    world.until("shop", "ClaimsReady", "False", "BindingPending").await;

    let mut provisioner = world.provisioner();
    let waiting = world.until("shop", "RuntimeReady", "False", "RuntimeProvisioning").await;
    assert_eq!(waiting["status"]["claims"][0]["message"], "The queue takes messages.");
    let mut runtime = world.runtime();
    let ready = world.until("shop", "Ready", "True", "Succeeded").await;
    assert_eq!(ready["status"]["endpoint"], "http://shop.external.here.example.org");
    let secrets = world.secrets().await;
    let [secret] = secrets.as_slice() else { panic!("{secrets:?}") };
    let token = String::from_utf8(secret.data.clone().unwrap()["token"].0.clone()).unwrap();
    let environment = fs::read_to_string(world.file("here", "shop")).unwrap();
    assert!(environment.contains(&format!("app/TOKEN=it is {token}\n")), "{environment}");
    assert!(
        environment.contains("app/SHARDS=1\n") && environment.contains("app/STEP=one\n"),
        "{environment}"
    );
    let plan =
        Api::<WorkloadPlan>::namespaced(world.access.admin.clone(), NAMESPACE).get("shop").await.unwrap();
    assert!(!serde_json::to_string(&plan).unwrap().contains(&token), "the plan contains the token");

    // Change the dependency while both processes are killed and restarted.
    stop(&mut provisioner);
    stop(&mut runtime);
    world.apply("shop", json!({}), spec(3, "two")).await;
    world.until("shop", "Ready", "False", "BindingPending").await;
    let mut provisioner = world.provisioner();
    let mut runtime = world.runtime();
    world.until("shop", "Ready", "True", "Succeeded").await;
    let environment = fs::read_to_string(world.file("here", "shop")).unwrap();
    assert!(
        environment.contains("app/SHARDS=3\n") && environment.contains("app/STEP=two\n"),
        "{environment}"
    );
    assert!(environment.contains(&token), "the token has changed");

    // Two Workloads share one queue; the last one to release it deletes it.
    world.apply("till", json!({}), spec(3, "two")).await;
    world.until("till", "Ready", "True", "Succeeded").await;
    assert_eq!(world.secrets().await.len(), 1);
    world.delete("till").await;
    assert_eq!(world.secrets().await.len(), 1);

    // Move to another backend of the same runtime.
    world.apply("shop", json!({"score.dev/move": "there"}), spec(3, "two")).await;
    world.until_endpoint("shop", "http://shop.external.there.example.org").await;
    assert_eq!(world.files(), ["there.external.shop"]);
    controllers.stop().await;

    // Move to a built-in runtime, and back.
    let ours = ScriptedRuntime::new("scripted");
    let controllers = world.controllers(vec![ours.clone()]).await;
    world.apply("shop", json!({"score.dev/move": "ours"}), spec(3, "two")).await;
    world.until_endpoint("shop", "http://shop.external.example.test").await;
    assert_eq!(ours.running(NAMESPACE, "shop").unwrap().variables["app/TOKEN"], format!("it is {token}"));
    assert_eq!(world.files(), Vec::<String>::new());
    world.apply("shop", json!({"score.dev/move": "here"}), spec(3, "two")).await;
    world.until_endpoint("shop", "http://shop.external.here.example.org").await;
    assert_eq!((world.files(), ours.all().len()), (vec!["here.external.shop".to_owned()], 0));

    world.delete("shop").await;
    assert_eq!(world.left().await, BTreeSet::new());
    controllers.stop().await;
    stop(&mut provisioner);
    stop(&mut runtime);
    clear(&world.access.admin, NAMESPACE).await.unwrap();
}

fn spec(shards: u32, step: &str) -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {
            "TOKEN": "it is ${resources.jobs.token}", "SHARDS": "${resources.jobs.shards}", "STEP": step,
        }}},
        "service": {"ports": {"web": {"port": 80}}},
        "resources": {"jobs": {"type": "queue", "id": "jobs", "params": {"shards": shards}}},
    })
}

/// External process, killed with the test.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        stop(self);
    }
}

fn stop(other: &mut Other) {
    // The process may have ended already.
    let _ = other.0.kill();
    let _ = other.0.wait();
}

struct World {
    access: Access,
    folder: TempDir,
    provisioner: PathBuf,
    runtime: PathBuf,
    orchestrator: Client,
}

impl World {
    async fn set_up(server: &Path) -> Self {
        let access = Access::install(server).await.unwrap();
        clear(&access.admin, NAMESPACE).await.unwrap();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        manifests::apply(&access.admin, &namespace).await.unwrap();
        configure(&access.admin, DOCUMENT).await.unwrap();
        let provisions = [Grant::Everywhere("score-external-provisioner")];
        let provisioner = access.account("example-provisioner", "default", &provisions).await.unwrap();
        let runs = [Grant::Everywhere("score-external-runtime")];
        let runtime = access.account("example-runtime", "default", &runs).await.unwrap();
        let orchestrator = access.account("score-orchestrator", "default", &[]).await.unwrap();
        let orchestrator = access::client(&Kubeconfig::read_from(orchestrator).unwrap()).await.unwrap();
        Self { access, folder: TempDir::new().unwrap(), provisioner, runtime, orchestrator }
    }

    async fn controllers(&self, runtimes: Vec<ScriptedRuntime>) -> Controllers {
        let runtimes = runtimes.into_iter().map(|runtime| Arc::new(runtime) as _).collect();
        let options = Options { runtimes, ..Options::default() };
        Controllers::start(self.orchestrator.clone(), options).await.unwrap()
    }

    fn provisioner(&self) -> Other {
        let mut command = Command::new(env!("CARGO_BIN_EXE_example-provisioner"));
        Other(command.env("KUBECONFIG", &self.provisioner).spawn().unwrap())
    }

    fn runtime(&self) -> Other {
        let mut command = Command::new(env!("CARGO_BIN_EXE_example-runtime"));
        command.arg("--folder").arg(self.folder.path());
        Other(command.env("KUBECONFIG", &self.runtime).spawn().unwrap())
    }

    fn file(&self, backend: &str, name: &str) -> PathBuf {
        self.folder.path().join(format!("{backend}.{NAMESPACE}.{name}"))
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut files: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    }

    fn workloads(&self) -> Api<Workload> {
        Api::namespaced(self.access.admin.clone(), NAMESPACE)
    }

    async fn apply(&self, name: &str, annotations: Json, spec: Json) {
        let object = json!({
            "apiVersion": "score.dev/v1b1", "kind": "Workload",
            "metadata": {"name": name, "annotations": annotations}, "spec": spec,
        });
        let params = PatchParams::apply("author").force();
        self.workloads().patch(name, &params, &Patch::Apply(object)).await.unwrap();
    }

    /// Waits until a condition of the current generation has a status and a reason.
    async fn until(&self, name: &str, type_: &str, status: &str, reason: &str) -> Json {
        let waited = eventually(format!("{name} is {type_}={status}/{reason}"), async || {
            let workload = json!(self.workloads().get(name).await?);
            let conditions = &workload["status"]["conditions"];
            let mut all = conditions.as_array().into_iter().flatten();
            let is_so = all.any(|found| {
                found["type"] == type_
                    && found["status"] == status
                    && found["reason"] == reason
                    && found["observedGeneration"] == workload["metadata"]["generation"]
            });
            if is_so { Ok(workload) } else { Err(format!("{conditions:#}").into()) }
        });
        waited.await.unwrap()
    }

    /// Waits until a Workload is ready with an endpoint.
    async fn until_endpoint(&self, name: &str, endpoint: &str) {
        let waited = eventually(format!("{name} is at {endpoint}"), async || {
            let workload = json!(self.workloads().get(name).await?);
            let plan: WorkloadPlan = Api::namespaced(self.access.admin.clone(), NAMESPACE).get(name).await?;
            let conditions = &workload["status"]["conditions"];
            let is_ready = conditions[3]["type"] == "Ready" && conditions[3]["status"] == "True";
            if is_ready && workload["status"]["endpoint"] == endpoint {
                return Ok(());
            }
            Err(format!("{:#}\n{:#}", workload["status"], json!(plan)).into())
        });
        waited.await.unwrap();
    }

    async fn delete(&self, name: &str) {
        self.workloads().delete(name, &DeleteParams::default()).await.unwrap();
        let waited =
            eventually(format!("{name} goes"), async || match self.workloads().get_opt(name).await? {
                None => Ok(()),
                Some(workload) => Err(format!("{:#}", json!(workload.status)).into()),
            });
        waited.await.unwrap();
    }

    async fn secrets(&self) -> Vec<Secret> {
        let secrets: Api<Secret> = Api::namespaced(self.access.admin.clone(), NAMESPACE);
        secrets.list(&ListParams::default()).await.unwrap().items
    }

    /// Everything that is left, in the API and on disk.
    async fn left(&self) -> BTreeSet<String> {
        let admin = || self.access.admin.clone();
        let all = ListParams::default();
        let claims = Api::<ResourceClaim>::namespaced(admin(), NAMESPACE).list(&all).await.unwrap();
        let plans = Api::<WorkloadPlan>::namespaced(admin(), NAMESPACE).list(&all).await.unwrap();
        let exposures = Api::<WorkloadExposure>::namespaced(admin(), NAMESPACE).list(&all).await.unwrap();
        let mut left: BTreeSet<_> = self.files().into_iter().collect();
        left.extend(claims.iter().map(ResourceExt::name_any));
        left.extend(plans.iter().map(ResourceExt::name_any));
        left.extend(exposures.iter().map(ResourceExt::name_any));
        left.extend(self.secrets().await.iter().map(ResourceExt::name_any));
        left
    }
}
