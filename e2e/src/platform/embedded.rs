//! Embedded server over TLS, in a temporary folder.

use std::path::{Path, PathBuf};

use orchestra_apiserver::{
    Api, Caller, Options,
    store::{Folder, Redb},
};
use orchestra_serve::Server;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::Error;

/// Server that stops when dropped.
#[derive(Debug)]
pub struct Embedded {
    api: Api,
    task: JoinHandle<()>,
    kubeconfig: PathBuf,
    _data: TempDir,
}

impl Embedded {
    /// Starts an empty server on any free port.
    pub async fn start() -> Result<Self, Error> {
        let data = TempDir::new()?;
        let store = Redb::open(Folder::hold(data.path())?)?;
        let server = Server::bind(([127, 0, 0, 1], 0).into(), data.path())?;
        let api = Api::open(store, Options::default()).await?;
        let kubeconfig = server.kubeconfig().to_owned();
        let router = api.router();
        let task = tokio::spawn(async move {
            // The task is aborted on drop; its result does not matter.
            let identify = |peer: orchestra_serve::Peer| Caller::new(peer.name, peer.groups);
            let _ = server.run(router, identify, std::future::pending()).await;
        });
        Ok(Self { api, task, kubeconfig, _data: data })
    }

    /// Kubeconfig of the administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.api.stop();
        self.task.abort();
    }
}
