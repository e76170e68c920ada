//! Test fixture: a platform, and commands against it.

use std::{
    fmt::Debug,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    pin::pin,
    process::{Child, Command, Stdio},
};

use futures_util::TryStreamExt;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams, WatchEvent, WatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_api::{ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

/// Orchestrator config with an external runtime, which the tests simulate.
pub(crate) const PLAYED: &str = "\
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles: [{name: web-service, kind: service, backends: [{backendId: here, runtimeClass: simulated}]}]
";

/// Output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `orchestra` in a folder. A platform has its data in `data`.
pub(crate) fn orchestra(folder: &Path, args: &[&str]) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_orchestra"))
        .args(args)
        .current_dir(folder)
        .env("ORCHESTRA_DATA_DIR", folder.join("data"))
        .env("HOME", folder)
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    CommandOutput {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Running platform, with a temporary folder.
pub(crate) struct Session {
    folder: tempfile::TempDir,
    server: Child,
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Session {
    pub(crate) fn start() -> Self {
        Self::start_with(PLAYED)
    }

    /// Starts a platform with an orchestrator config.
    pub(crate) fn start_with(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("platform.yaml"), config).unwrap();
        let mut server = Command::new(env!("CARGO_BIN_EXE_orchestra"))
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "debug", "--config", "platform.yaml"])
            .arg("--data-dir")
            .arg(folder.path().join("data"))
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.path().join("server.log")).unwrap())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut greeting).unwrap();
        assert!(greeting.starts_with("Serving the platform on"), "{greeting}");
        Self { folder, server }
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        orchestra(self.folder.path(), args)
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Debug log of the platform so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("server.log")).unwrap()
    }

    /// Applies an object.
    pub(crate) fn put<K>(&self, api: impl FnOnce(Client) -> Api<K>, object: &Json)
    where
        K: Clone + DeserializeOwned + Debug,
    {
        self.with_client(async |client| {
            let apply = PatchParams::apply("test").force();
            let name = object["metadata"]["name"].as_str().unwrap();
            api(client).patch(name, &apply, &Patch::Apply(object)).await.unwrap();
        });
    }

    /// Waits until the status of a workload waits for the runtime.
    pub(crate) fn until_planned(&self, name: &str) {
        self.with_client(async |client| {
            let awaits_runtime = |workload: &Workload| {
                let status = workload.status.clone().unwrap_or_default();
                status
                    .conditions
                    .iter()
                    .any(|condition| condition.message.contains("first status from the runtime"))
            };
            until(&Api::default_namespaced(client), name, awaits_runtime).await
        });
    }

    /// Waits for the plan of a workload.
    pub(crate) fn plan_of(&self, name: &str) -> WorkloadPlan {
        self.with_client(async |client| until_exists(&Api::default_namespaced(client), name).await)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("data/kubeconfig")
    }

    /// Reports a plan as ready at an address, as its runtime would.
    pub(crate) fn report_ready(&self, name: &str, url: &str) {
        self.with_client(async |client| {
            let plans: Api<WorkloadPlan> = Api::default_namespaced(client.clone());
            let exposures: Api<WorkloadExposure> = Api::default_namespaced(client);
            // `apply` returns before the controllers act.
            let revision = until_exists(&plans, name).await.spec.revision;
            until_exists(&exposures, name).await;
            let merge = PatchParams::default();
            let published = json!({"status": {"exposures": [{"url": url, "priority": 1}]}});
            exposures.patch_status(name, &merge, &Patch::Merge(published)).await.unwrap();
            let ready = json!({"status": {"phase": "Ready", "observedRevision": revision}});
            let workloads: Api<Workload> = Api::default_namespaced(plans.clone().into_client());
            // The controllers watch both kinds independently: first the address, then ready.
            let has_endpoint = |workload: &Workload| {
                workload.status.as_ref().is_some_and(|status| status.endpoint.as_deref() == Some(url))
            };
            until(&workloads, name, has_endpoint).await;
            plans.patch_status(name, &merge, &Patch::Merge(ready)).await.unwrap();
        });
    }

    /// resourceVersions of all our objects.
    pub(crate) fn versions(&self) -> Vec<String> {
        self.with_client(async |client| {
            let all = ListParams::default();
            let mut versions = Vec::new();
            versions
                .extend(Api::<Workload>::all(client.clone()).list(&all).await.unwrap().iter().map(version));
            versions.extend(
                Api::<ResourceClaim>::all(client.clone()).list(&all).await.unwrap().iter().map(version),
            );
            versions.extend(
                Api::<WorkloadPlan>::all(client.clone()).list(&all).await.unwrap().iter().map(version),
            );
            versions.extend(
                Api::<WorkloadExposure>::all(client.clone()).list(&all).await.unwrap().iter().map(version),
            );
            versions
        })
    }

    fn with_client<T>(&self, run: impl AsyncFnOnce(Client) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).unwrap();
            let options = KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
            run(Client::try_from(config).unwrap()).await
        })
    }
}

/// Waits until an object exists.
async fn until_exists<K>(api: &Api<K>, name: &str) -> K
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    until(api, name, |_| true).await
}

/// Waits until an object satisfies a condition.
async fn until<K>(api: &Api<K>, name: &str, condition: impl Fn(&K) -> bool) -> K
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let is_it = |object: &K| object.name_any() == name && condition(object);
    let listed = api.list(&ListParams::default()).await.unwrap();
    let version = listed.metadata.resource_version.unwrap_or_default();
    if let Some(found) = listed.items.into_iter().find(is_it) {
        return found;
    }
    let mut events = pin!(api.watch(&WatchParams::default(), &version).await.unwrap());
    while let Some(event) = events.try_next().await.unwrap() {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) if is_it(&object) => return object,
            _ => {}
        }
    }
    panic!("the watch of {name} ended");
}

fn version(object: &impl ResourceExt) -> String {
    object.resource_version().unwrap_or_default()
}
