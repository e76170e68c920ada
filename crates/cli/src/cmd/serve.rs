//! `orchestra serve`: a platform in one process, or one of several processes on a cluster, until shutdown is requested.

#[cfg(feature = "embedded")]
mod access;
#[cfg(feature = "embedded")]
mod audit;
#[cfg(feature = "embedded")]
mod embedded;
#[cfg(feature = "embedded")]
mod program_access;
#[cfg(feature = "embedded")]
pub(super) mod roles;

use std::{
    io,
    path::{Path, PathBuf},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    config::{InClusterError, KubeconfigError},
};
use orchestra_api::{SYSTEM_NAMESPACE, config::CONFIG_MAP};
#[cfg(feature = "embedded")]
use orchestra_apiserver::store::FolderError;
use orchestra_core::config::{self, PlatformKind};

#[cfg(feature = "embedded")]
use super::ManifestError;
use super::{cluster, config::config_map, input, logging};
use crate::{
    args::Serve,
    drivers,
    error::{CliError, root_cause},
    exit::Exit,
    ui,
};

/// Field manager of the objects that `serve` writes.
pub(super) const FIELD_MANAGER: &str = "orchestra-serve";

/// Error of a server at start-up or shutdown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    NoHome(#[from] crate::args::NoHome),
    #[error(transparent)]
    Listen(#[from] orchestra_serve::ServeError),
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Store(#[from] orchestra_apiserver::store::StoreError),
    #[cfg(feature = "embedded")]
    #[error(
        "the key for tokens is unusable: {0}; remove pki/tokens.pem in the data folder, and the next start makes a new one"
    )]
    TokenKey(#[from] orchestra_apiserver::KeyError),
    #[cfg(feature = "embedded")]
    #[error(
        "cannot open the audit log {}: {source}; create its folder, or pass another file with --audit-log",
        path.display()
    )]
    AuditLog { path: PathBuf, source: io::Error },
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("failed to {action}: {}", root_cause(source))]
    Api { action: &'static str, source: kube::Error },
    #[cfg(feature = "embedded")]
    #[error("failed to {action}: {source}")]
    Io { action: &'static str, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    #[error("not inside a cluster ({0}); pass --kubeconfig")]
    NotInCluster(#[source] InClusterError),
    #[error("failed to store the certificate in the secret orchestra-serving: too many conflicts")]
    CertificateConflicts,
    #[cfg(not(feature = "embedded"))]
    #[error("this build has no embedded API; pass --cluster")]
    NotEmbedded,
}

impl ServeError {
    pub(super) fn api(action: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Api { action, source }
    }

    #[cfg(feature = "embedded")]
    fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

pub(crate) fn run(args: &Serve) -> Result<Exit, CliError> {
    let platform = if args.cluster { PlatformKind::CLUSTER } else { PlatformKind::MACHINE };
    let config = args.config.as_deref().map(|path| read_config(path, platform)).transpose()?;
    logging::start(args.log, args.log_format);
    #[cfg(feature = "embedded")]
    if args.background {
        super::idle::detach_from_terminal();
    }
    let mut runtime = if args.cluster {
        // One thread is faster than any API server; several would only wake each other.
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = runtime.enable_all().build().map_err(CliError::Runtime)?;
    if args.cluster {
        runtime.block_on(cluster::serve(args, config))?;
    } else {
        #[cfg(feature = "embedded")]
        match runtime.block_on(embedded::serve(args, config)) {
            Err(error @ ServeError::Folder(FolderError::InUse { .. })) if args.background => {
                ui::print_error(&error.into());
                return Ok(Exit::DataFolderInUse);
            }
            served => served?,
        }
        #[cfg(not(feature = "embedded"))]
        return Err(ServeError::NotEmbedded.into());
    }
    Ok(Exit::Success)
}

/// Reads and checks an orchestrator config for a kind of platform.
pub(super) fn read_config(path: &Path, platform: PlatformKind) -> Result<String, CliError> {
    let source = input::read(path).map_err(CliError::Input)?;
    let file = input::name(path);
    if let Err(faults) = config::check_for(platform, &source.text) {
        return Err(CliError::InvalidConfig { file, faults });
    }
    for missing in drivers::capabilities().missing(&source.text) {
        ui::print_status(&format!("warning: {file}: {missing}"));
    }
    Ok(source.text)
}

/// Writes the orchestrator config of `--config`.
pub(super) async fn write_config(client: &Client, config: &str) -> kube::Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let apply = PatchParams::apply(FIELD_MANAGER).force();
    maps.patch(CONFIG_MAP, &apply, &Patch::Apply(config_map(config))).await.map(drop)
}

/// Resolves at the first SIGINT, SIGTERM or SIGHUP after this call, even if it is polled later.
pub(super) fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        kinds.map(|kind| signal(kind).ok())
    };
    async move {
        #[cfg(unix)]
        if let [Some(mut interrupt), Some(mut terminate), Some(mut hangup)] = signals {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            return;
        }
        let _ = tokio::signal::ctrl_c().await;
    }
}
