//! Fixture of the tests: an API, and processes with the roles that are shipped for external controllers.

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
    Access,
    access::{self, Grant},
    clear, configure, eventually, manifests,
};
use orchestra_testkit::scripted::ScriptedRuntime;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

pub(super) const NAMESPACE: &str = "external";

const CONFIG: &str = "
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

/// External process, killed with the test.
pub(super) struct ChildProcess(Child);

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// API with the config, and the accounts of an external provisioner and runtime.
pub(super) struct Fixture {
    pub(super) access: Access,
    folder: TempDir,
    provisioner: PathBuf,
    runtime: PathBuf,
    orchestrator: Client,
}

impl Fixture {
    pub(super) async fn set_up(server: &Path) -> Self {
        let access = Access::install(server).await.unwrap();
        clear(&access.admin, NAMESPACE).await.unwrap();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        manifests::apply(&access.admin, &namespace).await.unwrap();
        configure(&access.admin, CONFIG).await.unwrap();
        let provisions = [Grant::Everywhere("score-external-provisioner")];
        let provisioner = access.account("example-provisioner", "default", &provisions).await.unwrap();
        let runs = [Grant::Everywhere("score-external-runtime")];
        let runtime = access.account("example-runtime", "default", &runs).await.unwrap();
        let orchestrator = access.account("score-orchestrator", "default", &[]).await.unwrap();
        let orchestrator = access::client(&Kubeconfig::read_from(orchestrator).unwrap()).await.unwrap();
        Self { access, folder: TempDir::new().unwrap(), provisioner, runtime, orchestrator }
    }

    pub(super) async fn controllers(&self, runtimes: Vec<ScriptedRuntime>) -> Controllers {
        let runtimes = runtimes.into_iter().map(|runtime| Arc::new(runtime) as _).collect();
        let options = Options { runtimes, ..Options::default() };
        Controllers::start(self.orchestrator.clone(), options).await.unwrap()
    }

    pub(super) fn provisioner(&self) -> ChildProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_example-provisioner"));
        ChildProcess(command.env("KUBECONFIG", &self.provisioner).spawn().unwrap())
    }

    pub(super) fn runtime(&self) -> ChildProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_example-runtime"));
        command.arg("--folder").arg(self.folder.path());
        ChildProcess(command.env("KUBECONFIG", &self.runtime).spawn().unwrap())
    }

    pub(super) fn file(&self, backend: &str, name: &str) -> PathBuf {
        self.folder.path().join(format!("{backend}.{NAMESPACE}.{name}"))
    }

    pub(super) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut files: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    }

    fn workloads(&self) -> Api<Workload> {
        Api::namespaced(self.access.admin.clone(), NAMESPACE)
    }

    pub(super) fn claims(&self) -> Api<ResourceClaim> {
        Api::namespaced(self.access.admin.clone(), NAMESPACE)
    }

    pub(super) fn plans(&self) -> Api<WorkloadPlan> {
        Api::namespaced(self.access.admin.clone(), NAMESPACE)
    }

    pub(super) async fn apply(&self, name: &str, annotations: Json, spec: Json) {
        let object = json!({
            "apiVersion": "score.dev/v1b1", "kind": "Workload",
            "metadata": {"name": name, "annotations": annotations}, "spec": spec,
        });
        let params = PatchParams::apply("author").force();
        self.workloads().patch(name, &params, &Patch::Apply(object)).await.unwrap();
    }

    /// Waits until a condition of the current generation has a status and a reason.
    pub(super) async fn until(&self, name: &str, type_: &str, status: &str, reason: &str) -> Json {
        let waited = eventually(format!("{name} is {type_}={status}/{reason}"), async || {
            let workload = json!(self.workloads().get(name).await?);
            let conditions = &workload["status"]["conditions"];
            let mut all = conditions.as_array().into_iter().flatten();
            let matches = all.any(|found| {
                found["type"] == type_
                    && found["status"] == status
                    && found["reason"] == reason
                    && found["observedGeneration"] == workload["metadata"]["generation"]
            });
            if matches { Ok(workload) } else { Err(format!("{conditions:#}").into()) }
        });
        waited.await.unwrap()
    }

    /// Waits until a Workload is ready with an endpoint.
    pub(super) async fn until_endpoint(&self, name: &str, endpoint: &str) {
        let waited = eventually(format!("{name} is at {endpoint}"), async || {
            let workload = json!(self.workloads().get(name).await?);
            let plan = self.plans().get(name).await?;
            let conditions = &workload["status"]["conditions"];
            let is_ready = conditions[3]["type"] == "Ready" && conditions[3]["status"] == "True";
            if is_ready && workload["status"]["endpoint"] == endpoint {
                return Ok(());
            }
            Err(format!("{:#}\n{:#}", workload["status"], json!(plan)).into())
        });
        waited.await.unwrap();
    }

    pub(super) async fn delete(&self, name: &str) {
        self.workloads().delete(name, &DeleteParams::default()).await.unwrap();
        let waited =
            eventually(format!("{name} goes"), async || match self.workloads().get_opt(name).await? {
                None => Ok(()),
                Some(workload) => Err(format!("{:#}", json!(workload.status)).into()),
            });
        waited.await.unwrap();
    }

    pub(super) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.access.admin.clone(), NAMESPACE)
    }

    pub(super) async fn all_secrets(&self) -> Vec<Secret> {
        self.secrets().list(&ListParams::default()).await.unwrap().items
    }

    /// Everything that is left, in the API and on disk.
    pub(super) async fn left(&self) -> BTreeSet<String> {
        let all = ListParams::default();
        let claims = self.claims().list(&all).await.unwrap();
        let plans = self.plans().list(&all).await.unwrap();
        let exposures: Api<WorkloadExposure> = Api::namespaced(self.access.admin.clone(), NAMESPACE);
        let exposures = exposures.list(&all).await.unwrap();
        let mut left: BTreeSet<_> = self.files().into_iter().collect();
        left.extend(claims.iter().map(ResourceExt::name_any));
        left.extend(plans.iter().map(ResourceExt::name_any));
        left.extend(exposures.iter().map(ResourceExt::name_any));
        left.extend(self.all_secrets().await.iter().map(ResourceExt::name_any));
        left
    }
}
