//! The platform that a command talks to.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config,
    api::{Patch, PatchParams},
    config::{AuthInfo, KubeConfigOptions, Kubeconfig},
};
use orchestra_api::Workload;

use super::{connect, questions::Questions};
use crate::{
    args::{Cluster, Target, default_data_dir},
    exit::Exit,
    ui,
};

/// A platform, and the namespace that is meant.
#[derive(Clone)]
pub(super) struct Platform {
    pub(super) client: Client,
    pub(super) namespace: String,
    /// Where questions go that the API does not answer.
    pub(super) questions: Arc<Questions>,
    /// What to call it in messages.
    name: String,
}

/// Why a command cannot go on.
pub(super) enum Trouble {
    /// The platform cannot be reached.
    Unreachable(String),
    /// The answer is no.
    No(String),
}

impl Trouble {
    /// What it is.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Unreachable(why) | Self::No(why) => why,
        }
    }

    /// Says it, and ends.
    pub(super) fn tell(self) -> Exit {
        match self {
            Self::Unreachable(why) => {
                ui::complain(&why);
                Exit::Unreachable
            }
            Self::No(why) => {
                ui::complain(&why);
                Exit::No
            }
        }
    }
}

/// Runs a command that talks to a platform.
pub(super) fn with_platform<F>(target: &Target, command: impl FnOnce(Platform) -> F) -> Exit
where
    F: Future<Output = Result<Exit, Trouble>>,
{
    run(async {
        let platform = Platform::reach(target).await?;
        command(platform).await
    })
}

/// Runs a command that waits for others.
pub(super) fn run(command: impl Future<Output = Result<Exit, Trouble>>) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Trouble::No(format!("failed to start: {error}")).tell(),
    };
    runtime.block_on(command).unwrap_or_else(Trouble::tell)
}

impl Platform {
    async fn reach(target: &Target) -> Result<Self, Trouble> {
        let unreachable = |why: String| {
            let remedy =
                "start one with `orchestra up` or `orchestra serve`, or name a kubeconfig with --kubeconfig";
            Trouble::Unreachable(format!("there is no platform to talk to: {why}; {remedy}"))
        };
        let (file, kubeconfig) = kubeconfig(target).map_err(unreachable)?;
        let config = read(kubeconfig, target.context.clone()).await;
        let mut config = config.map_err(|why| unreachable(format!("{file}: {why}")))?;
        if let Some(token) = &target.token {
            config.auth_info = AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() };
        }
        let reached = Self::of(config, target.namespace.as_deref(), target.server.clone());
        reached.map_err(|why| unreachable(format!("{file}: {why}")))
    }

    /// A cluster, whatever runs on this machine.
    pub(super) async fn cluster(cluster: &Cluster) -> Result<Self, Trouble> {
        let unreachable = |why: String| {
            let remedy = "name its kubeconfig with --kubeconfig, or in $KUBECONFIG";
            Trouble::Unreachable(format!("there is no cluster to talk to: {why}; {remedy}"))
        };
        let kubeconfig = match &cluster.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let kubeconfig = kubeconfig.map_err(|error| unreachable(error.to_string()))?;
        let config = read(kubeconfig, cluster.context.clone()).await.map_err(unreachable)?;
        Self::of(config, None, None).map_err(unreachable)
    }

    /// The platform of this machine whose data is in a folder, whether it runs or not.
    pub(super) async fn at(data: &Path, namespace: Option<&str>) -> Result<Self, String> {
        let kubeconfig = Kubeconfig::read_from(data.join("kubeconfig")).map_err(|error| error.to_string())?;
        Self::of(read(kubeconfig, None).await?, namespace, None)
    }

    fn of(mut config: Config, namespace: Option<&str>, server: Option<String>) -> Result<Self, String> {
        if let Some(namespace) = namespace {
            namespace.clone_into(&mut config.default_namespace);
        }
        let name = config.cluster_url.to_string();
        let namespace = config.default_namespace.clone();
        let questions = Arc::new(Questions::new(config.clone(), server));
        let client = connect::client(config).map_err(|error| error.to_string())?;
        Ok(Self { client, namespace, questions, name })
    }

    /// The workloads of the namespace.
    pub(super) fn workloads(&self) -> Api<Workload> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// A workload of the namespace.
    pub(super) async fn workload(&self, name: &str) -> Result<Workload, Trouble> {
        match self.workloads().get_opt(name).await {
            Ok(Some(workload)) => Ok(workload),
            Ok(None) => Err(self.absent(name).await),
            Err(error) => Err(self.trouble(name, error)),
        }
    }

    /// Whether the namespace exists. To those who may not look, it does.
    pub(super) async fn has_namespace(&self) -> bool {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        !matches!(namespaces.get_opt(&self.namespace).await, Ok(None))
    }

    /// Makes the namespace, unless it exists.
    pub(super) async fn make_namespace(&self) -> Result<(), Trouble> {
        if self.has_namespace().await {
            return Ok(());
        }
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace},
        });
        let apply = PatchParams::apply(super::apply::MANAGER);
        let made = namespaces.patch(&self.namespace, &apply, &Patch::Apply(namespace)).await;
        made.map(drop).map_err(|error| self.trouble(&self.namespace, error))
    }

    /// There is no such workload, perhaps since there is no such namespace.
    pub(super) async fn absent(&self, name: &str) -> Trouble {
        if !self.has_namespace().await {
            return self.no_namespace();
        }
        Trouble::No(format!(
            "there is no workload {name:?} in the namespace {:?}; `orchestra get -A` lists those that there are",
            self.namespace
        ))
    }

    pub(super) fn no_namespace(&self) -> Trouble {
        Trouble::No(format!(
            "there is no namespace {0:?}; make it with `kubectl create namespace {0}`, or name another with --namespace",
            self.namespace
        ))
    }

    /// What an error of the platform means to the user. `what` is what was asked for.
    pub(super) fn trouble(&self, what: &str, error: kube::Error) -> Trouble {
        match error {
            kube::Error::Api(status) => match status.code {
                404 if status.message.contains("page not found") || status.details.is_none() => {
                    Trouble::No(format!(
                        "{what}: the platform at {} does not know the kinds of the orchestrator; `orchestra crd` prints them",
                        self.name
                    ))
                }
                404 => Trouble::No(format!(
                    "{what}: there is no such workload in the namespace {:?}; `orchestra get -A` lists all",
                    self.namespace
                )),
                401 | 403 => Trouble::No(format!("{what}: you may not do that: {}", status.message)),
                409 => Trouble::No(format!(
                    "{what}: {}; take the fields over with --force-conflicts",
                    status.message
                )),
                _ => Trouble::No(format!("{what}: {}", status.message)),
            },
            error => Trouble::Unreachable(format!(
                "the platform at {} cannot be reached: {}; is it running? `orchestra up` and `orchestra serve` start one",
                self.name,
                root_cause(&error)
            )),
        }
    }
}

/// How a kubeconfig says that a platform is reached.
async fn read(kubeconfig: Kubeconfig, context: Option<String>) -> Result<Config, String> {
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| error.to_string())
}

/// The innermost reason: the others only say that something failed.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// The kubeconfig that is meant: the one named, that of the environment, that of the platform which runs here, or
/// that of the user.
fn kubeconfig(target: &Target) -> Result<(String, Kubeconfig), String> {
    let read = |path: PathBuf| {
        let file = path.display().to_string();
        Kubeconfig::read_from(path)
            .map(|config| (file.clone(), config))
            .map_err(|error| format!("{file}: {error}"))
    };
    if let Some(path) = &target.kubeconfig {
        return read(path.clone());
    }
    if std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty()) {
        return Kubeconfig::read()
            .map(|config| ("$KUBECONFIG".to_owned(), config))
            .map_err(|error| error.to_string());
    }
    let data = std::env::var_os("ORCHESTRA_DATA_DIR").map(PathBuf::from).or_else(default_data_dir);
    if let Some(path) = data.map(|data| data.join("kubeconfig")).filter(|path| path.exists()) {
        return read(path);
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match home.map(|home| home.join(".kube/config")).filter(|path| path.exists()) {
        Some(path) => read(path),
        None => Err("there is no kubeconfig".to_owned()),
    }
}
