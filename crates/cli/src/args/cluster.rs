//! Arguments of the commands for clusters: `install`, `uninstall`, `doctor`.

use std::{num::NonZeroU16, path::PathBuf, time::Duration};

use clap::ValueHint;

use super::{Format, Output, duration};

/// Cluster of a command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Cluster {
    /// Kubeconfig of the cluster [default: $KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Install or upgrade the orchestrator on a cluster
///
/// Applies the CRDs, the namespace score-system, the roles and the Deployment, and waits until
/// it is ready. Options from the previous install are kept unless overridden. The orchestrator
/// config is overwritten only with --config.
///
///   orchestra install --image registry.example.org/orchestra:0.1.0
///   orchestra install --server-url https://orchestra.example.org
///   orchestra install --dry-run                    show what would change
///   orchestra install --dry-run -o yaml            print the objects
///
/// The server that answers `orchestra plan`, `explain` and `logs` is a service of the cluster.
/// For users outside the cluster, expose it (ingress, load balancer or node port) and pass its
/// address with --server-url.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(clippy::doc_markdown, reason = "this is the help, as the terminal shows it")]
#[command(
    after_help = "Exit codes: 0 installed and ready, 1 not installed or not ready in time, 2 invalid usage, 3 the cluster is unreachable."
)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) cluster: Cluster,

    /// Image of the orchestrator [default: as installed, or orchestra:VERSION of this program]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// Number of replicas; one leads, the others are on standby [default: as installed, or 2]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) replicas: Option<NonZeroU16>,

    /// Address of the server for users [default: as installed, or its address inside the cluster]
    #[arg(long, value_name = "URL", value_parser = https)]
    pub(crate) server_url: Option<String>,

    /// Orchestrator config [default: keep the current one]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not wait until the orchestrator is ready
    #[arg(long, conflicts_with = "timeout")]
    pub(crate) no_wait: bool,

    /// Timeout, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// Output format; `human` prints only names
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Remove the orchestrator from a cluster
///
/// Fails while workloads exist, because nothing would manage them afterwards.
///
///   orchestra uninstall
///   orchestra uninstall --delete-workloads         delete all workloads first, with their data
///   orchestra uninstall --keep-crds                keep the CRDs and the orchestrator config
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 removed, 1 not removed, 2 invalid usage, 3 the cluster is unreachable."
)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) cluster: Cluster,

    /// Delete all workloads first, with their data where its policy allows
    #[arg(long)]
    pub(crate) delete_workloads: bool,

    /// Keep the CRDs, and the namespace with the orchestrator config
    #[arg(long)]
    pub(crate) keep_crds: bool,

    /// Timeout of each deletion, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

/// Check a cluster and its orchestrator
///
/// Checks the version, CRDs, permissions, the orchestrator itself, and ingress and storage for
/// workloads. It changes nothing.
///
///   orchestra doctor
///   orchestra doctor -o json | jq '.checks[] | select(.verdict != "ok")'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 all checks passed, 1 a check failed, 2 invalid usage, 3 the cluster is unreachable."
)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) cluster: Cluster,

    /// Namespace for workloads [default: that of the kubeconfig]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

/// Parses an https address.
pub(super) fn https(text: &str) -> Result<String, String> {
    let url: http::Uri =
        text.parse().map_err(|_| "expected an address such as https://orchestra.example.org")?;
    match (url.scheme_str(), url.host()) {
        (Some("https"), Some(_)) if url.query().is_none() => Ok(text.trim_end_matches('/').to_owned()),
        _ => {
            Err("expected an https address such as https://orchestra.example.org: it receives tokens"
                .to_owned())
        }
    }
}
