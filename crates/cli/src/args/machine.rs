//! What is said of a platform on this machine.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{ValueEnum, ValueHint};

use super::{Documents, duration, name};

/// Run what Score files describe on this machine, with everything they depend on
///
/// Starts the platform in the background if it does not run yet, hands it the files, and
/// shows how they fare and what they write. An edited file is applied again; one with a
/// mistake is shown, and what ran before runs on. Ctrl-C stops what was begun here, and
/// its data stays: the next `orchestra up` goes on with it.
///
///   orchestra up                                   runs ./score.yaml
///   orchestra up examples/hello                    runs the Score file of a folder
///   orchestra up web.yaml worker.yaml --keep       leaves them running at the end
///
/// Where there is no container engine, `image: .` stands for the folder of the Score file,
/// and `command` is run there.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that users set")]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) documents: Documents,

    /// The namespace
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Where everything is kept [default: orchestra in the data folder of the user, ~/.local/share]
    #[arg(long, value_name = "FOLDER", env = "ORCHESTRA_DATA_DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,

    /// Return once everything is ready, and leave it running
    #[arg(short, long, conflicts_with_all = ["keep", "rm"])]
    pub(crate) detach: bool,

    /// How long --detach waits, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration, requires = "detach")]
    pub(crate) timeout: Duration,

    /// Leave what was begun running at the end
    #[arg(long, conflicts_with = "rm")]
    pub(crate) keep: bool,

    /// Remove everything at the end, also the data, as far as its policy allows
    #[arg(long)]
    pub(crate) rm: bool,

    /// Open the endpoint in a browser once there is one
    #[arg(long)]
    pub(crate) open: bool,
}

/// Stop what `orchestra up` runs on this machine
///
/// The data stays, and `orchestra up` goes on with it; `--rm` removes everything.
///
///   orchestra down                                 all workloads of the namespace
///   orchestra down web --rm                        one, with its data
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Down {
    /// The workloads; all of the namespace if none is named
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) names: Vec<String>,

    /// The namespace
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Where everything is kept [default: orchestra in the data folder of the user, ~/.local/share]
    #[arg(long, value_name = "FOLDER", env = "ORCHESTRA_DATA_DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,

    /// Remove everything, also the data, as far as its policy allows
    #[arg(long)]
    pub(crate) rm: bool,
}

/// Serve a whole platform from this machine, without a cluster; or one for a cluster, with --cluster
///
/// A Kubernetes-style API with the kinds of the orchestrator, and the controllers that
/// decide about Workloads. Any kubectl and any controller can use it: definitions of
/// custom kinds, namespaces, secrets, config maps, events, leases and service accounts,
/// with watches, server-side apply and validation as on a real cluster.
///
///   orchestra serve
///   orchestra apply score.yaml                     in another terminal
///   export KUBECONFIG=~/.local/share/orchestra/kubeconfig
///   kubectl get workloads.score.dev
///
/// The first start makes a certificate authority and a kubeconfig in the data folder,
/// readable for you alone. Every write that was answered survives a crash.
///
/// With --cluster, the API is that of a cluster: of several such processes one works, and all
/// answer users. `orchestra install` sets them up.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that users set")]
pub(crate) struct Serve {
    /// Where everything is kept [default: orchestra in the data folder of the user, ~/.local/share]
    #[arg(long, value_name = "FOLDER", env = "ORCHESTRA_DATA_DIR", value_hint = ValueHint::DirPath)]
    data_dir: Option<PathBuf>,

    /// The platform's document; it is written to the config map orchestrator-config in score-system
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Only the API: without the kinds of the orchestrator, and without its controllers
    #[arg(long, conflicts_with = "config")]
    pub(crate) api_only: bool,

    /// What is logged on standard error: this and everything graver
    #[arg(long, value_enum, value_name = "LEVEL", env = "ORCHESTRA_LOG", default_value_t)]
    pub(crate) log: LogLevel,

    /// How it is logged
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) log_format: LogFormat,

    /// The address to listen on; port 0 takes any free one [default: 127.0.0.1:7443, for a cluster port 8443 of all
    /// addresses]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,

    /// Serve for a cluster, as one of several processes, instead of bringing an API along
    #[arg(long, conflicts_with_all = ["data_dir", "api_only", "trust_users", "background"])]
    pub(crate) cluster: bool,

    /// How to reach the cluster [default: $KUBECONFIG, else from within]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The address that is published to users, in the config map orchestra-server in score-system
    #[arg(long, value_name = "URL", requires = "cluster", value_parser = super::cluster::https)]
    pub(crate) server_url: Option<String>,

    /// A certificate to show, as PEM [default: one of our own, kept in the secret orchestra-serving]
    #[arg(long, value_name = "FILE", requires_all = ["cluster", "tls_key"], value_hint = ValueHint::FilePath)]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    pub(crate) tls_key: Option<PathBuf>,

    /// What users have to trust for that certificate [default: what their system trusts]
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    pub(crate) tls_ca: Option<PathBuf>,

    /// Let everyone who may create workloads run programs on this machine, as you, also from other machines
    ///
    /// Without it, programs of this machine are run only where the address above is reached from this machine alone.
    #[arg(long)]
    pub(crate) trust_users: bool,

    /// Apart from the terminal, on any free port if that of the address is taken, and to an end when nothing runs
    /// any more: as `orchestra up` starts it
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

impl Serve {
    /// The address to listen on, on a machine.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listen.unwrap_or_else(|| ([127, 0, 0, 1], 7443).into())
    }

    /// The data folder.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, String> {
        data_dir(self.data_dir.as_ref())
    }
}

/// The data folder that was named, else that of the user.
pub(crate) fn data_dir(named: Option<&PathBuf>) -> Result<PathBuf, String> {
    let chosen = named.cloned().or_else(default_data_dir);
    chosen.ok_or_else(|| "there is no home folder to keep data in; name one with --data-dir".to_owned())
}

/// What is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// What went wrong
    Error,
    /// What somebody should look at
    #[default]
    Warn,
    /// What happens
    Info,
    /// Every step
    Debug,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Words and fields, for people
    #[default]
    Text,
    /// A JSON object for each line, for programs
    Json,
}

/// The data folder of a user who names none.
pub(crate) fn default_data_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_DATA_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("orchestra"))
}
