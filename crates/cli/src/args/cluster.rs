//! What is said of a platform on a cluster.

use std::{num::NonZeroU16, path::PathBuf, time::Duration};

use clap::ValueHint;

use super::{Format, Output, duration};

/// Which cluster is meant.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Cluster {
    /// How to reach the cluster [default: $KUBECONFIG, else ~/.kube/config]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Install the orchestrator on a cluster, or bring it up to date
///
/// Applies the definitions of the kinds, the namespace score-system, the roles, and the
/// orchestrator itself, and waits until it is ready. What was said at an earlier time holds
/// unless it is said anew; the platform's document is never overwritten without --config.
///
///   orchestra install --image registry.example.org/orchestra:0.1.0
///   orchestra install --server-url https://orchestra.example.org
///   orchestra install --dry-run                    what would change
///   orchestra install --dry-run -o yaml            the objects, to apply them yourself
///
/// The server that answers `orchestra plan`, `explain` and `logs` is a service of the cluster.
/// For users outside, publish it (an ingress, a load balancer, a node port) and name its address
/// with --server-url.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(clippy::doc_markdown, reason = "this is the help, as the terminal shows it")]
#[command(
    after_help = "Exit codes: 0 installed and ready, 1 not installed or not ready in time, 2 wrong usage, 3 the cluster is unreachable."
)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) cluster: Cluster,

    /// The image of the orchestrator [default: the one installed, else orchestra with the version of this program]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// How many processes: one works, the others stand by [default: as installed, else 2]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) replicas: Option<NonZeroU16>,

    /// Where users reach the server [default: as installed, else its address in the cluster]
    #[arg(long, value_name = "URL", value_parser = https)]
    pub(crate) server_url: Option<String>,

    /// The platform's document; without it, the one that is there stays
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Change nothing, and say what would be changed
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Return without waiting until it is ready
    #[arg(long, conflicts_with = "timeout")]
    pub(crate) no_wait: bool,

    /// How long to wait, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// How to print the objects; people see only their names
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Remove the orchestrator from a cluster
///
/// Refuses while there are workloads, since nobody would look after them.
///
///   orchestra uninstall
///   orchestra uninstall --delete-workloads         first everything that runs, with its data
///   orchestra uninstall --keep-crds                the kinds and the platform's document stay
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(after_help = "Exit codes: 0 it is gone, 1 it is not, 2 wrong usage, 3 the cluster is unreachable.")]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) cluster: Cluster,

    /// Delete all workloads first: they stop, and their data goes as far as its policy allows
    #[arg(long)]
    pub(crate) delete_workloads: bool,

    /// Leave the definitions of the kinds, and the namespace with the platform's document
    #[arg(long)]
    pub(crate) keep_crds: bool,

    /// How long to wait for workloads to go, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

/// Check a cluster, and say what is missing
///
/// Versions, kinds, rights, the orchestrator itself, and what workloads may need: ways in and
/// storage. Nothing is changed.
///
///   orchestra doctor
///   orchestra doctor -o json | jq '.checks[] | select(.verdict != "ok")'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 nothing is missing, 1 something is, 2 wrong usage, 3 the cluster is unreachable."
)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) cluster: Cluster,

    /// The namespace in which you want to run workloads [default: that of the kubeconfig]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// How to print the checks
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

/// An address of a server that speaks TLS.
pub(super) fn https(text: &str) -> Result<String, String> {
    let url: http::Uri =
        text.parse().map_err(|_| "write an address such as https://orchestra.example.org")?;
    match (url.scheme_str(), url.host()) {
        (Some("https"), Some(_)) if url.query().is_none() => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err("write an address such as https://orchestra.example.org: tokens are sent there".to_owned()),
    }
}
