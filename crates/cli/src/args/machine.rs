//! Arguments of the commands for this machine: `up`, `down`, `serve`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{ValueEnum, ValueHint};

use super::{Documents, duration, name};

/// Run workloads on this machine, with their dependencies
///
/// Starts the platform in the background if it is not running, applies the Score files, and
/// shows status and logs. Edited files are applied again; while a file is invalid, the last
/// version keeps running. Ctrl-C suspends the workloads and keeps their data; the next
/// `orchestra up` or `orchestra apply` resumes them.
///
///   orchestra up                                   run ./score.yaml
///   orchestra up examples/hello                    run the Score file of a folder
///   orchestra up web.yaml worker.yaml --keep       keep them running after Ctrl-C
///
/// Workloads run as programs, without a container engine: `image: .` is the folder of the
/// Score file, and `command` is run there.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that users set")]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) documents: Documents,

    /// Namespace
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Data folder [default: ~/.local/share/orchestra]
    #[arg(long, value_name = "FOLDER", env = "ORCHESTRA_DATA_DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,

    /// Return when all workloads are ready, and keep them running
    #[arg(short, long, conflicts_with_all = ["keep", "rm"])]
    pub(crate) detach: bool,

    /// Timeout of --detach, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration, requires = "detach")]
    pub(crate) timeout: Duration,

    /// Keep the workloads running after Ctrl-C
    #[arg(long, conflicts_with = "rm")]
    pub(crate) keep: bool,

    /// Delete the workloads after Ctrl-C, with their data where its policy allows
    #[arg(long)]
    pub(crate) rm: bool,

    /// Open the endpoint in a browser
    #[arg(long)]
    pub(crate) open: bool,

    /// Start the platform with this option of `orchestra serve`: users with the right may run programs, as you
    #[arg(long)]
    pub(crate) trust_users: bool,
}

/// Stop workloads that `orchestra up` runs
///
/// Data is kept for the next `orchestra up`, unless --rm is given.
///
///   orchestra down                                 stop all workloads of the namespace
///   orchestra down web --rm                        delete one, with its data
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Down {
    /// Workloads [default: all of the namespace]
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) names: Vec<String>,

    /// Namespace
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Data folder [default: ~/.local/share/orchestra]
    #[arg(long, value_name = "FOLDER", env = "ORCHESTRA_DATA_DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,

    /// Delete the workloads, with their data where its policy allows
    #[arg(long)]
    pub(crate) rm: bool,
}

/// Run the platform on this machine, or on a cluster with --cluster
///
/// Without --cluster, it serves an embedded Kubernetes-style API and runs the controllers on it.
/// kubectl and other controllers can use that API: custom resource definitions, namespaces,
/// secrets, config maps, events, leases and service accounts, with watches, server-side apply
/// and validation as on a real cluster.
///
///   orchestra serve
///   orchestra apply score.yaml                     in another terminal
///   export KUBECONFIG=~/.local/share/orchestra/kubeconfig
///   kubectl get workloads.score.dev
///
/// The first start creates a certificate authority and a kubeconfig in the data folder,
/// readable only by you. Acknowledged writes survive a crash.
///
/// With --cluster, several processes share the API of a cluster: the leader runs the
/// controllers, and all answer users. `orchestra install` sets them up.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that users set")]
pub(crate) struct Serve {
    /// Data folder [default: ~/.local/share/orchestra]
    #[arg(long, value_name = "FOLDER", env = "ORCHESTRA_DATA_DIR", value_hint = ValueHint::DirPath)]
    data_dir: Option<PathBuf>,

    /// Orchestrator config, written to the config map orchestrator-config in score-system
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Serve only the API, without the CRDs and the controllers of the orchestrator
    #[arg(long, conflicts_with = "config")]
    pub(crate) api_only: bool,

    /// Keys that encrypt Secrets in the data folder, one per line, 32 bytes in base64: the first encrypts, all decrypt
    /// [default: pki/encryption.key in the data folder, created at the first start]
    #[arg(long, value_name = "FILE", env = "ORCHESTRA_ENCRYPTION_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) encryption_key: Option<PathBuf>,

    /// Audit log: a file, `-` for standard output, or `off` [default: audit/audit.log in the data folder]
    #[arg(long, value_name = "FILE", env = "ORCHESTRA_AUDIT_LOG", value_hint = ValueHint::FilePath)]
    pub(crate) audit_log: Option<AuditDestination>,

    /// Requests in the audit log
    #[arg(long, value_enum, value_name = "REQUESTS", default_value_t)]
    pub(crate) audit_requests: AuditScope,

    /// Size in MiB after which a new file of the audit log begins
    #[arg(long, value_name = "MIB", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) audit_log_max_size: u32,

    /// Number of files of the audit log; older ones are deleted
    #[arg(long, value_name = "FILES", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) audit_log_max_files: u16,

    /// Minimum log level (logs go to stderr)
    // The last occurrence wins: the Deployment of a cluster sets both options, and users add their own.
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        env = "ORCHESTRA_LOG",
        default_value_t,
        overrides_with = "log"
    )]
    pub(crate) log: LogLevel,

    /// Log format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, overrides_with = "log_format")]
    pub(crate) log_format: LogFormat,

    /// Address to listen on; port 0 selects a free port [default: 127.0.0.1:7443, or [::]:8443 with --cluster]
    #[arg(long, value_name = "ADDRESS", value_parser = socket_address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Address of a listener for health checks alone, over HTTP; with --cluster only
    #[arg(long, value_name = "ADDRESS", requires = "cluster", value_parser = socket_address)]
    pub(crate) health_listen: Option<SocketAddr>,

    /// Use the API of a cluster instead of the embedded one
    #[arg(long, conflicts_with_all = ["data_dir", "api_only", "trust_users", "background", "encryption_key", "audit_log", "audit_requests", "audit_log_max_size", "audit_log_max_files"])]
    pub(crate) cluster: bool,

    /// Kubeconfig of the cluster [default: $KUBECONFIG, or the service account of the pod]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Address published to users, in the config map orchestra-server in score-system
    #[arg(long, value_name = "URL", requires = "cluster", value_parser = super::cluster::https)]
    pub(crate) server_url: Option<String>,

    /// Serving certificate, PEM [default: self-issued, stored in the secret orchestra-serving]
    #[arg(long, value_name = "FILE", requires_all = ["cluster", "tls_key"], value_hint = ValueHint::FilePath)]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of the serving certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    pub(crate) tls_key: Option<PathBuf>,

    /// Root certificate for clients, PEM [default: the root certificates of their system]
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    pub(crate) tls_ca: Option<PathBuf>,

    /// Run programs on this machine, as you, for users with the right to run programs, even from other machines
    ///
    /// By default, programs run only if --listen is a loopback address, and in namespaces that only administrators can
    /// change. `orchestra user add --run-programs` gives the right. In a namespace that somebody without it can
    /// change, nothing runs.
    #[arg(long)]
    pub(crate) trust_users: bool,

    /// Background mode of `orchestra up`: detached from the terminal, on a free port if the one of --listen is in use,
    /// with a shutdown when idle
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

#[cfg(feature = "embedded")]
impl Serve {
    /// Address of the embedded API.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listen.unwrap_or_else(|| ([127, 0, 0, 1], 7443).into())
    }

    pub(crate) fn data_dir(&self) -> Result<PathBuf, NoHome> {
        data_dir(self.data_dir.as_ref())
    }
}

/// Destination of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AuditDestination {
    /// None
    Off,
    /// Standard output
    Stdout,
    /// File, with an absolute path
    File(PathBuf),
}

impl From<&str> for AuditDestination {
    fn from(text: &str) -> Self {
        match text {
            "off" => Self::Off,
            "-" => Self::Stdout,
            path => Self::File(std::path::absolute(path).unwrap_or_else(|_| path.into())),
        }
    }
}

/// Requests in the audit log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditScope {
    /// Writes, reads of Secrets and logs, and refused requests; none of the platform's own controllers
    #[default]
    Changes,
    /// All requests
    All,
}

/// No default data folder.
#[derive(Debug, thiserror::Error)]
#[error("no data folder: $HOME is not set; pass --data-dir")]
pub(crate) struct NoHome;

/// Data folder: the given one, or the default of the user. Absolute, because a background process has another working folder.
pub(crate) fn data_dir(given: Option<&PathBuf>) -> Result<PathBuf, NoHome> {
    let folder = given.cloned().or_else(default_data_dir).ok_or(NoHome)?;
    Ok(std::path::absolute(&folder).unwrap_or(folder))
}

/// Log level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Errors
    Error,
    /// Warnings
    #[default]
    Warn,
    /// Important events
    Info,
    /// Every step
    Debug,
}

/// Log format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text with fields
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// Default data folder of the user.
pub(crate) fn default_data_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_DATA_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("orchestra"))
}
/// Parses the address of a listener.
fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected ADDRESS:PORT, such as 127.0.0.1:7443 or [::]:8443".to_owned())
}
