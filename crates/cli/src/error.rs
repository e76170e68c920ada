//! Errors of commands.
//!
//! Commands return them, and [`print_error`](crate::ui::print_error) prints them in one place. The text of an error names the
//! cause and the remedy.

use std::{error::Error, io, path::PathBuf};

use kube::{config::KubeconfigError, core::Status};
use orchestra_core::config::Fault;
use orchestra_score::{Diagnostic, overrides::OverrideError};
use rustls::pki_types::pem;

use crate::{
    args::NoHome,
    cmd::{
        AttachError, EnvLineError, IN_CLUSTER_URL, ManifestError, ServeError, ServerError, UserError,
        WaitError,
    },
    exit::Exit,
};

/// Error that ends a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    // The platform or the cluster cannot be reached: exit code 3.
    #[error(
        "no platform found: {0}; start one with `orchestra up` or `orchestra serve`, or pass --kubeconfig"
    )]
    NoPlatform(#[source] ConnectError),
    #[error("no cluster found: {0}; pass --kubeconfig, or set $KUBECONFIG")]
    NoCluster(#[source] ConnectError),
    #[error(
        "cannot reach the platform at {url}: {}; check that it is running (`orchestra up` and `orchestra serve` start one)",
        root_cause(source)
    )]
    Unreachable { url: String, source: kube::Error },
    #[error(
        "cannot reach the orchestrator's server at {url}: {}; {}",
        root_cause(source),
        server_remedy(url)
    )]
    ServerUnreachable { url: String, source: ConnectError },
    #[error("connection lost while reading logs: {0}")]
    LogStream(#[source] io::Error),
    #[cfg(feature = "template")]
    #[error("failed to read the {what}: {}", root_cause(source))]
    ReadSystem { what: &'static str, source: kube::Error },
    /// The background process of `orchestra up` ended, or was not ready in time.
    #[error("failed to start the platform: {last_line}; see {}", log.display())]
    Start { last_line: String, log: PathBuf },

    // Responses of the API.
    #[error("{what}: {}", status.message)]
    Api {
        what: String,
        #[source]
        status: Box<Status>,
    },
    #[error("{what}: permission denied: {}", status.message)]
    Forbidden {
        what: String,
        #[source]
        status: Box<Status>,
    },
    /// Another field manager owns a field.
    #[error("{what}: {}; take over the fields with --force-conflicts", status.message)]
    FieldConflict {
        what: String,
        #[source]
        status: Box<Status>,
    },
    #[error(
        "{what}: the orchestrator's CRDs are not installed at {url}; run `orchestra install`, or apply the output of `orchestra crd`"
    )]
    NoCrds { what: String, url: String },
    #[cfg(feature = "template")]
    #[error(
        "permission denied: you cannot read the {what} in the namespace score-system; ask an administrator of the cluster, or pass --builtin"
    )]
    ReadSystemForbidden {
        what: &'static str,
        #[source]
        status: Box<Status>,
    },
    #[error(
        "namespace {0:?} not found; create it with `kubectl create namespace {0}`, or pass another one with --namespace"
    )]
    NamespaceNotFound(String),
    #[error("{what}: {}; use another namespace, or wait until this one is deleted", status.message)]
    NamespaceTerminating {
        what: String,
        #[source]
        status: Box<Status>,
    },
    #[error(
        "workload {name:?} not found in namespace {namespace:?}; list all workloads with `orchestra get -A`"
    )]
    WorkloadNotFound { name: String, namespace: String },
    #[error("{0} is being deleted; apply it again after `orchestra wait {0} --for deleted`")]
    BeingDeleted(String),
    #[error("{workload} has no resource {resource:?}; its resources are {known}")]
    NoResource { workload: String, resource: String, known: String },
    #[error("resource {resource} has no output {output:?}; its outputs are {known}")]
    NoOutput { resource: String, output: String, known: String },
    #[error("secret {0} not found")]
    NoSecret(String),
    #[error(transparent)]
    Wait(#[from] WaitError),

    #[error(
        "{workload}: permission denied: a file with `image: .` or variables of this machine needs the right to run programs on it, which you do not have in the namespace {namespace}; ask the administrator to {remedy}, with a platform that runs with `--trust-users`"
    )]
    NoProgramRight { workload: String, namespace: String, remedy: String },
    #[error("the cluster rejects your credentials; log in again, or pass another token with --token")]
    Unauthorized(#[source] Box<Status>),

    // The orchestrator's server.
    #[error("failed to look up the orchestrator's server: {}; pass its address with --server", .0.message)]
    ServerLookup(#[source] Box<Status>),
    #[error(
        "the orchestrator's server requires a token, and your kubeconfig has only a client certificate; pass one with --token, for example from `kubectl create token ACCOUNT`"
    )]
    NoToken,
    #[error(
        "{0}: no orchestrator is installed on this cluster; run `orchestra install`, and check with `orchestra doctor`"
    )]
    NoServer(String),
    #[error("{workload}: {source}")]
    Server { workload: String, source: ServerError },
    #[error("{what}: request failed: {}", root_cause(source))]
    RequestFailed { what: String, source: kube::Error },
    #[error("invalid request: {0}")]
    Request(#[from] http::Error),
    #[error("invalid response of the platform: {0}")]
    InvalidResponse(#[source] serde_json::Error),

    // Files and arguments.
    /// The diagnostics are printed already.
    #[error("invalid Score files")]
    InvalidFiles,
    #[error("{file}: {source}")]
    Attach { file: String, source: AttachError },
    #[error("duplicate workload {0}: two files define it")]
    DuplicateWorkload(String),
    #[error("no score.yaml in {}; create one with `orchestra init`", .0.display())]
    NoScoreFile(PathBuf),
    #[error("{}:{source}", path.display())]
    EnvFile { path: PathBuf, source: EnvLineError },
    #[error("{}; {}", .0.message, .0.hint)]
    Input(Box<Diagnostic>),
    #[error("invalid orchestrator config {file}:{}", indented(faults))]
    InvalidConfig { file: String, faults: Vec<Fault> },
    #[error("{0} exists; pass another file, or overwrite it with --force")]
    FileExists(String),
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {file}: {source}")]
    Write { file: String, source: io::Error },
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    #[error("cannot encode the output: {0}")]
    Encode(#[source] Box<dyn Error + Send + Sync>),
    #[error("--overrides-file, --override-property and --image: {0}")]
    Overrides(#[from] OverrideError),
    #[error("standard input can be read only once")]
    StdinTwice,
    #[error("--explain cannot be used with -o json")]
    ExplainJson,
    #[cfg(feature = "template")]
    #[error("invalid value `{0}`: expected KEY=VALUE")]
    NotKeyValue(String),

    // Provisioner files.
    #[cfg(feature = "template")]
    #[error("{file}: {source}")]
    ProvisionerFile { file: String, source: Box<dyn Error + Send + Sync> },
    #[cfg(feature = "template")]
    #[error("{file}: {uri}: {source}")]
    ProvisionerEntry { file: String, uri: String, source: Box<dyn Error + Send + Sync> },
    #[cfg(feature = "template")]
    #[error("{0}: no entry for this type")]
    NoEntryOfType(String),
    #[cfg(feature = "template")]
    #[error("no provisioner file has an entry for `{0}`; list them with `orchestra provisioners list`")]
    NoProvisioner(String),

    // Installation.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    #[error("{0}; run `orchestra install` again to continue")]
    Install(#[source] Box<Self>),
    #[error("Kubernetes {found} is too old: the orchestrator requires {}.{}; upgrade the cluster", required.0, required.1)]
    OldCluster { found: String, required: (u32, u32) },
    #[error("failed to read the version of the cluster: {}", .0.message)]
    ClusterVersion(#[source] Box<Status>),
    #[error("cannot uninstall: {0} would be orphaned; delete them first, or pass --delete-workloads")]
    WorkloadsExist(String),
    #[error("cannot delete {0}: the orchestrator is not running; run `orchestra install` first")]
    OrchestratorDown(String),
    #[error("deletion in progress: {kind} {names}; wait until it is complete, or pass --keep-crds")]
    Finalizers { kind: &'static str, names: String },

    #[error(transparent)]
    User(#[from] UserError),
    /// The command of the kubeconfig that provides the credentials has failed.
    #[error("no credentials: {0}")]
    Credentials(String),
    #[error(
        "cannot run {command:?}, named in {file} under `exec.command`: {source}; install that program, or correct its path in the file"
    )]
    NoCredentialPlugin { file: String, command: String, source: io::Error },

    // Processes of this machine.
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    NoHome(#[from] NoHome),
    #[error("cannot store data in {}: {source}; choose another folder with --data-dir", path.display())]
    DataFolder { path: PathBuf, source: io::Error },
    #[error("timed out after {seconds}s waiting for {missing}")]
    Timeout { seconds: u64, missing: String },
    #[error("not stopped after {0}s; check with `orchestra get`")]
    StopTimeout(u64),
    #[error("cannot start the async runtime: {0}")]
    Runtime(#[source] io::Error),
    #[error("invalid PORT {0:?}: expected a number from 0 to 65535")]
    InvalidPort(String),
    #[error("cannot listen on port {port}: {source}")]
    Listen { port: u16, source: io::Error },
}

impl CliError {
    /// Exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoPlatform(_)
            | Self::NoCluster(_)
            | Self::Unreachable { .. }
            | Self::ServerUnreachable { .. }
            | Self::LogStream(_)
            | Self::Start { .. } => Exit::Unreachable,
            #[cfg(feature = "template")]
            Self::ReadSystem { .. } => Exit::Unreachable,
            Self::Overrides(_) | Self::StdinTwice | Self::ExplainJson => Exit::Usage,
            #[cfg(feature = "template")]
            Self::NotKeyValue(_) => Exit::Usage,
            Self::Install(error) => error.exit(),
            _ => Exit::Failure,
        }
    }
}

/// Error of a kubeconfig, or of a client that is made from one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("no kubeconfig")]
    NoKubeconfig,
    #[error(transparent)]
    ReadKubeconfig(KubeconfigError),
    #[error("{file}: {source}")]
    Kubeconfig { file: String, source: KubeconfigError },
    #[error(transparent)]
    Client(kube::Error),
    #[error(transparent)]
    Url(#[from] http::uri::InvalidUri),
    #[error("invalid certificate in the config map orchestra-server: {0}")]
    Certificate(#[source] pem::Error),
}

/// Message of the innermost error: the outer ones only add that something failed.
pub(crate) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    loop {
        if let Some(kube::Error::Api(status)) = cause.downcast_ref() {
            return status.message.clone();
        }
        match cause.source() {
            Some(source) => cause = source,
            None => return cause.to_string(),
        }
    }
}

fn server_remedy(url: &str) -> String {
    let forward = "run `kubectl -n score-system port-forward service/orchestra 8443:443` and pass --server https://localhost:8443";
    if url == IN_CLUSTER_URL {
        format!(
            "this address works only inside the cluster: publish it with `orchestra install --server-url URL`, or {forward}"
        )
    } else {
        format!("pass another address with --server, or {forward}")
    }
}

/// Lines below a title.
fn indented(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("\n  {fault}")).collect::<Vec<_>>().concat()
}
