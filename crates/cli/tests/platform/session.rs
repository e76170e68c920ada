//! A folder with a platform in it, and a user who types.

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

/// Workloads run where a test plays the runtime.
pub(crate) const PLAYED: &str = "\
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles: [{name: web-service, kind: service, backends: [{backendId: here, runtimeClass: played}]}]
";

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `orchestra` in a folder whose platform, if any, is in `data`.
pub(crate) fn orchestra(folder: &Path, args: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_orchestra"))
        .args(args)
        .current_dir(folder)
        .env("ORCHESTRA_DATA_DIR", folder.join("data"))
        .env("HOME", folder)
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    Answer {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A platform that runs, and a folder to work in; both go away in the end.
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

    /// With a document of the platform; what it logs can be read.
    pub(crate) fn start_with(document: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("platform.yaml"), document).unwrap();
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

    pub(crate) fn run(&self, args: &[&str]) -> Answer {
        orchestra(self.folder.path(), args)
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What the platform has logged so far, from its every step.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("server.log")).unwrap()
    }

    /// Puts an object of the platform in place.
    pub(crate) fn put<K>(&self, api: impl FnOnce(Client) -> Api<K>, object: &Json)
    where
        K: Clone + DeserializeOwned + Debug,
    {
        self.talk(async |client| {
            let apply = PatchParams::apply("somebody").force();
            let name = object["metadata"]["name"].as_str().unwrap();
            api(client).patch(name, &apply, &Patch::Apply(object)).await.unwrap();
        });
    }

    /// Waits until the platform has said of a workload what it waits for.
    pub(crate) fn until_planned(&self, name: &str) {
        self.talk(async |client| {
            let is_told = |workload: &Workload| {
                let status = workload.status.clone().unwrap_or_default();
                status.conditions.iter().any(|condition| condition.message.contains("is being started"))
            };
            until(&Api::default_namespaced(client), name, is_told).await
        });
    }

    /// The plan of a workload, as soon as there is one.
    pub(crate) fn plan_of(&self, name: &str) -> WorkloadPlan {
        self.talk(async |client| appearing(&Api::default_namespaced(client), name).await)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("data/kubeconfig")
    }

    /// Says as a runtime that a plan runs, at an address, and lets go of nothing else.
    pub(crate) fn run_everything(&self, name: &str, url: &str) {
        self.talk(async |client| {
            let plans: Api<WorkloadPlan> = Api::default_namespaced(client.clone());
            let exposures: Api<WorkloadExposure> = Api::default_namespaced(client);
            // An apply is answered before the controllers have acted on it.
            let revision = appearing(&plans, name).await.spec.revision;
            appearing(&exposures, name).await;
            let merge = PatchParams::default();
            let published = json!({"status": {"exposures": [{"url": url, "priority": 1}]}});
            exposures.patch_status(name, &merge, &Patch::Merge(published)).await.unwrap();
            let ready = json!({"status": {"phase": "Ready", "observedRevision": revision}});
            let workloads: Api<Workload> = Api::default_namespaced(plans.clone().into_client());
            // Both reach the controllers each on its own way: the address is to be there when it is ready.
            let is_told = |workload: &Workload| {
                workload.status.as_ref().is_some_and(|status| status.endpoint.as_deref() == Some(url))
            };
            until(&workloads, name, is_told).await;
            plans.patch_status(name, &merge, &Patch::Merge(ready)).await.unwrap();
        });
    }

    /// The versions of everything of ours.
    pub(crate) fn versions(&self) -> Vec<String> {
        self.talk(async |client| {
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

    fn talk<T>(&self, with: impl AsyncFnOnce(Client) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).unwrap();
            let options = KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
            with(Client::try_from(config).unwrap()).await
        })
    }
}

/// An object, as soon as there is one.
async fn appearing<K>(api: &Api<K>, name: &str) -> K
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    until(api, name, |_| true).await
}

/// An object, as soon as it is as wanted.
async fn until<K>(api: &Api<K>, name: &str, is_so: impl Fn(&K) -> bool) -> K
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let is_it = |object: &K| object.name_any() == name && is_so(object);
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
    panic!("the watch ended before {name} was as wanted");
}

fn version(object: &impl ResourceExt) -> String {
    object.resource_version().unwrap_or_default()
}
