//! The platform that a command talks to.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config,
    api::{Patch, PatchParams},
    client::AuthError,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig},
    core::Status,
};
use orchestra_api::Workload;
use orchestra_core::{
    denial::{Denial, NotFound},
    program_access::PROGRAM_RUNNER,
};

use super::{UserError, connect, server_client::ServerClient, user::kubeconfig as user_kubeconfig};
use crate::{
    args::{Cluster, Target, default_data_dir},
    error::{CliError, ConnectError},
    exit::Exit,
    ui,
};

/// Connection to a platform, with a namespace.
#[derive(Clone)]
pub(super) struct Platform {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) server: Arc<ServerClient>,
    /// Address of the API, for messages.
    url: String,
    /// User of `orchestra user add` whose kubeconfig this is, for messages.
    user: Option<String>,
}

/// Connects to the platform, and runs a command on it.
pub(super) fn with_platform<F>(target: &Target, command: impl FnOnce(Platform) -> F) -> Result<Exit, CliError>
where
    F: Future<Output = Result<Exit, CliError>>,
{
    block_on(async { command(Platform::connect(target).await?).await })
}

/// Runs an async command.
pub(super) fn block_on(command: impl Future<Output = Result<Exit, CliError>>) -> Result<Exit, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CliError::Runtime)?.block_on(command)
}

impl Platform {
    /// Connects to the platform.
    pub(super) async fn connect(target: &Target) -> Result<Self, CliError> {
        let (file, mut kubeconfig) = kubeconfig(target).map_err(CliError::NoPlatform)?;
        user_kubeconfig::use_this_program(&mut kubeconfig, target.kubeconfig.as_deref());
        let command = command_of(&kubeconfig, target.context.as_deref());
        let config = load(file.clone(), kubeconfig, target.context.clone()).await;
        let mut config = config.map_err(CliError::NoPlatform)?;
        if let Some(token) = &target.token {
            config.auth_info = AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() };
        }
        let platform = Self::new(config, target.namespace.as_deref(), target.server.clone());
        platform.map_err(|error| match error {
            ConnectError::Client(kube::Error::Auth(AuthError::AuthExecStart(source))) => {
                CliError::NoCredentialPlugin { file, command, source }
            }
            error => match credentials_error(&error) {
                Some(output) => CliError::Credentials(output),
                None => CliError::NoPlatform(error),
            },
        })
    }

    /// A cluster, even if a platform runs on this machine.
    pub(super) async fn cluster(cluster: &Cluster) -> Result<Self, CliError> {
        let connected = async {
            let (file, kubeconfig) = match &cluster.kubeconfig {
                Some(path) => (path.display().to_string(), Kubeconfig::read_from(path)),
                None => ("kubeconfig".to_owned(), Kubeconfig::read()),
            };
            let kubeconfig = kubeconfig.map_err(ConnectError::ReadKubeconfig)?;
            Self::new(load(file, kubeconfig, cluster.context.clone()).await?, None, None)
        };
        connected.await.map_err(CliError::NoCluster)
    }

    /// The platform of a data folder, running or not.
    pub(super) async fn of_data_dir(data: &Path, namespace: Option<&str>) -> Result<Self, ConnectError> {
        let (file, kubeconfig) = read(&data.join("kubeconfig"))?;
        Self::new(load(file, kubeconfig, None).await?, namespace, None)
    }

    fn new(
        mut config: Config,
        namespace: Option<&str>,
        server_url: Option<String>,
    ) -> Result<Self, ConnectError> {
        if let Some(namespace) = namespace {
            namespace.clone_into(&mut config.default_namespace);
        }
        let url = config.cluster_url.to_string();
        let namespace = config.default_namespace.clone();
        let user = config.auth_info.exec.as_ref().and_then(user_kubeconfig::own_user).map(ToOwned::to_owned);
        let server = Arc::new(ServerClient::new(config.clone(), server_url));
        let client = connect::client(config).map_err(ConnectError::Client)?;
        Ok(Self { client, namespace, server, url, user })
    }

    /// Platform behind a client, for tests.
    #[cfg(test)]
    pub(super) fn with_client(config: Config, client: Client) -> Self {
        let (url, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        Self { client, namespace, server: Arc::new(ServerClient::new(config, None)), url, user: None }
    }

    /// Workloads of the namespace.
    pub(super) fn workloads(&self) -> Api<Workload> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// A workload of the namespace.
    pub(super) async fn workload(&self, name: &str) -> Result<Workload, CliError> {
        match self.workloads().get_opt(name).await {
            Ok(Some(workload)) => Ok(workload),
            Ok(None) => Err(self.workload_not_found(name).await),
            Err(error) => Err(self.api_error(name, error)),
        }
    }

    /// True if the namespace exists, or if the caller may not read it.
    pub(super) async fn has_namespace(&self) -> bool {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        !matches!(namespaces.get_opt(&self.namespace).await, Ok(None))
    }

    /// Creates the namespace if it does not exist.
    pub(super) async fn ensure_namespace(&self) -> Result<(), CliError> {
        if self.has_namespace().await {
            return Ok(());
        }
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace},
        });
        let apply = PatchParams::apply(super::apply::FIELD_MANAGER);
        let created = namespaces.patch(&self.namespace, &apply, &Patch::Apply(namespace)).await;
        created.map(drop).map_err(|error| self.api_error(&self.namespace, error))
    }

    /// Error for a missing workload or namespace.
    pub(super) async fn workload_not_found(&self, name: &str) -> CliError {
        if !self.has_namespace().await {
            return self.namespace_not_found();
        }
        CliError::WorkloadNotFound { name: name.to_owned(), namespace: self.namespace.clone() }
    }

    pub(super) fn namespace_not_found(&self) -> CliError {
        CliError::NamespaceNotFound(self.namespace.clone())
    }

    /// Error of rejected credentials. Those of a user of `orchestra user add` are rejected once the user is removed.
    pub(super) fn unauthorized(&self, error: CliError) -> CliError {
        match &self.user {
            Some(user) => UserError::Removed { user: user.clone() }.into(),
            None => error,
        }
    }

    /// Error of a missing right to run programs on the machine of the platform.
    pub(super) fn no_program_right(&self, workload: &str) -> CliError {
        let namespace = &self.namespace;
        let remedy = match &self.user {
            Some(user) => format!("run `orchestra user add {user} --run-programs -n {namespace}`"),
            None => format!("bind you to the cluster role `{PROGRAM_RUNNER}` in the namespace {namespace}"),
        };
        CliError::NoProgramRight { workload: workload.to_owned(), namespace: namespace.clone(), remedy }
    }

    /// Error of a request about `what`.
    pub(super) fn api_error(&self, what: &str, error: kube::Error) -> CliError {
        let (what, url) = (what.to_owned(), self.url.clone());
        let status = match error {
            kube::Error::Api(status) => status,
            kube::Error::SerdeError(source) => return CliError::InvalidResponse(source),
            source if is_connection_error(&source) => return CliError::Unreachable { url, source },
            source => return CliError::RequestFailed { what, source },
        };
        match NotFound::of(&status) {
            Some(NotFound::Kind) => return CliError::NoCrds { what, url },
            Some(NotFound::Namespace) => return self.namespace_not_found(),
            Some(NotFound::Object) => {
                return CliError::WorkloadNotFound { name: what, namespace: self.namespace.clone() };
            }
            None => {}
        }
        match Denial::of(&status) {
            Some(Denial::Permission) => CliError::Forbidden { what, status },
            Some(Denial::Terminating) => CliError::NamespaceTerminating { what, status },
            None if status.code == 401 => self.unauthorized(CliError::Unauthorized(status)),
            None if is_field_conflict(&status) => CliError::FieldConflict { what, status },
            // The message of a denial names the quota, the policy or the field.
            Some(Denial::Quota | Denial::Policy | Denial::Invalid) | None => CliError::Api { what, status },
        }
    }
}

/// True if another field manager owns a field of an apply. Other conflicts cannot be forced.
fn is_field_conflict(status: &Status) -> bool {
    let details = status.details.iter();
    details.flat_map(|details| &details.causes).any(|cause| cause.reason == "FieldManagerConflict")
}

/// True if a request got no complete response: no connection, TLS or login, or the connection was lost.
fn is_connection_error(error: &kube::Error) -> bool {
    use kube::Error::{Auth, HyperError, ReadEvents, RustlsTls, Service};
    matches!(error, Service(_) | HyperError(_) | ReadEvents(_) | RustlsTls(_) | Auth(_))
}

/// Output of a command of a kubeconfig that was to provide credentials, if it has failed.
fn credentials_error(error: &ConnectError) -> Option<String> {
    let ConnectError::Client(kube::Error::Auth(AuthError::AuthExecRun { out, .. })) = error else {
        return None;
    };
    let output = String::from_utf8_lossy(&out.stderr);
    let last = output.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(ui::printable(last.trim_start_matches("error: ")).into_owned())
}

/// Command of a kubeconfig that provides the credentials, for messages.
fn command_of(kubeconfig: &Kubeconfig, context: Option<&str>) -> String {
    let context = context.or(kubeconfig.current_context.as_deref());
    let context = kubeconfig.contexts.iter().find(|named| Some(named.name.as_str()) == context);
    let user = context.and_then(|named| named.context.as_ref()?.user.as_deref());
    let info = kubeconfig.auth_infos.iter().find(|named| Some(named.name.as_str()) == user);
    let exec = info.and_then(|named| named.auth_info.as_ref()?.exec.as_ref());
    let command = exec.and_then(|exec| exec.command.as_deref()).unwrap_or_default();
    ui::printable(command).into_owned()
}

/// Connection that a kubeconfig describes.
async fn load(file: String, kubeconfig: Kubeconfig, context: Option<String>) -> Result<Config, ConnectError> {
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|source| ConnectError::Kubeconfig { file, source })
}

fn read(path: &Path) -> Result<(String, Kubeconfig), ConnectError> {
    let kubeconfig = Kubeconfig::read_from(path).map_err(ConnectError::ReadKubeconfig)?;
    Ok((path.display().to_string(), kubeconfig))
}

/// Kubeconfig and its name, from the first of: `--kubeconfig`, `$KUBECONFIG`, the platform of this machine, `~/.kube/config`.
pub(super) fn kubeconfig(target: &Target) -> Result<(String, Kubeconfig), ConnectError> {
    if let Some(path) = &target.kubeconfig {
        return read(path);
    }
    if std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty()) {
        let kubeconfig = Kubeconfig::read().map_err(ConnectError::ReadKubeconfig)?;
        return Ok(("$KUBECONFIG".to_owned(), kubeconfig));
    }
    let data = std::env::var_os("ORCHESTRA_DATA_DIR").map(PathBuf::from).or_else(default_data_dir);
    if let Some(path) = data.map(|data| data.join("kubeconfig")).filter(|path| path.exists()) {
        return read(&path);
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match home.map(|home| home.join(".kube/config")).filter(|path| path.exists()) {
        Some(path) => read(&path),
        None => Err(ConnectError::NoKubeconfig),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn platform() -> Platform {
        let service = tower::service_fn(async |_: http::Request<kube::client::Body>| {
            http::Response::builder().status(500).body(kube::client::Body::empty())
        });
        let config = Config::new("https://localhost".parse().unwrap());
        Platform::with_client(config, Client::new(service, "default"))
    }

    #[tokio::test]
    async fn only_a_connection_error_means_that_the_platform_is_unreachable() {
        let platform = platform();
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let lost = platform.api_error("web", kube::Error::Service(Box::new(refused)));
        assert_eq!(lost.exit(), Exit::Unreachable);
        let garbled = serde_json::from_str::<Workload>("{").unwrap_err();
        let error = platform.api_error("web", kube::Error::SerdeError(garbled));
        assert!(matches!(error, CliError::InvalidResponse(_)), "{error}");
        assert_eq!(error.exit(), Exit::Failure);
        let error = platform.api_error("web", kube::Error::TlsRequired);
        assert_eq!(error.exit(), Exit::Failure, "{error}");
    }

    #[tokio::test]
    async fn an_api_error_names_the_cause_and_offers_only_a_remedy_that_helps() {
        let denied = |message: &str, causes: serde_json::Value| json!({"code": 403, "reason": "Forbidden", "message": message, "details": {"causes": causes}});
        let conflict = |message: &str, causes: serde_json::Value| json!({"code": 409, "reason": "Conflict", "message": message, "details": {"causes": causes}});
        for (mut status, expected) in [
            (
                denied(
                    r#"workloads.score.dev is forbidden: User "jane" cannot patch resource "workloads""#,
                    json!([]),
                ),
                r#"web: permission denied: workloads.score.dev is forbidden: User "jane" cannot patch resource "workloads""#,
            ),
            (
                denied(r#"workloads.score.dev "web" is forbidden: exceeded quota: small"#, json!([])),
                r#"web: workloads.score.dev "web" is forbidden: exceeded quota: small"#,
            ),
            (
                denied(r#"admission webhook "names.example.org" denied the request: no"#, json!([])),
                r#"web: admission webhook "names.example.org" denied the request: no"#,
            ),
            (
                denied("unable to create new content", json!([{"reason": "NamespaceTerminating"}])),
                "web: unable to create new content; use another namespace, or wait until this one is deleted",
            ),
            (
                json!({"code": 401, "reason": "Unauthorized", "message": "Unauthorized"}),
                "the cluster rejects your credentials; log in again, or pass another token with --token",
            ),
            (
                conflict(
                    r#"conflict with "kubectl""#,
                    json!([{"reason": "FieldManagerConflict", "field": ".spec"}]),
                ),
                r#"web: conflict with "kubectl"; take over the fields with --force-conflicts"#,
            ),
            (conflict("the object has been modified", json!([])), "web: the object has been modified"),
            (
                json!({"code": 409, "reason": "AlreadyExists", "message": r#"workloads.score.dev "web" already exists"#}),
                r#"web: workloads.score.dev "web" already exists"#,
            ),
            (
                json!({"code": 422, "reason": "Invalid", "message": "spec: Required value"}),
                "web: spec: Required value",
            ),
        ] {
            status["status"] = json!("Failure");
            let status = serde_json::from_value(status).unwrap();
            let error = platform().api_error("web", kube::Error::Api(Box::new(status)));
            assert_eq!((error.to_string().as_str(), error.exit()), (expected, Exit::Failure));
        }
    }

    #[tokio::test]
    async fn rejected_credentials_of_a_user_mean_that_the_access_was_removed() {
        let status =
            json!({"status": "Failure", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"});
        let platform = Platform { user: Some("jane".to_owned()), ..platform() };
        let status = serde_json::from_value(status).unwrap();
        let error = platform.api_error("web", kube::Error::Api(Box::new(status))).to_string();
        assert!(error.contains("access of jane was removed") && error.contains("administrator"), "{error}");
    }

    #[tokio::test]
    async fn a_command_of_a_kubeconfig_that_cannot_be_started_is_named_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/nope/login", "interactiveMode": "Never"});
        let content = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {"exec": exec}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        std::fs::write(&file, content.to_string()).unwrap();
        let target = Target {
            kubeconfig: Some(file.clone()),
            context: None,
            namespace: None,
            server: None,
            token: None,
        };
        let Err(error) = Platform::connect(&target).await else { panic!("connected") };
        let start = format!("cannot run \"/nope/login\", named in {} under `exec.command`", file.display());
        assert!(error.to_string().starts_with(&start), "{error}");
    }

    #[tokio::test]
    async fn a_missing_namespace_differs_from_a_missing_workload_and_missing_crds() {
        let error = |message: &str, details: serde_json::Value| {
            let status = json!({"status": "Failure", "code": 404, "reason": "NotFound", "message": message, "details": details});
            platform().api_error("web", kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
        };
        let namespace = error("namespaces \"shop\" not found", json!({"kind": "namespaces", "name": "shop"}));
        assert!(matches!(namespace, CliError::NamespaceNotFound(_)), "{namespace}");
        let object = error("workloads \"web\" not found", json!({"kind": "workloads", "name": "web"}));
        assert!(matches!(object, CliError::WorkloadNotFound { .. }), "{object}");
        let kind = error("the server could not find the requested resource", json!({}));
        assert!(matches!(kind, CliError::NoCrds { .. }), "{kind}");
    }
}
