//! The embedded server, over TLS, in a folder that goes away with it.

use std::path::{Path, PathBuf};

use orchestra_apiserver::{
    Api, Options,
    serve::Server,
    store::{Folder, Redb},
};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::Error;

/// A server that ends when it is dropped.
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
        let server = Server::bind(([127, 0, 0, 1], 0).into(), data.path()).await?;
        let api = Api::open(store, Options::default()).await?;
        let kubeconfig = server.kubeconfig().to_owned();
        let router = api.router();
        let task = tokio::spawn(async move {
            // It is ended from outside; how is of no interest.
            let _ = server.run(router, std::future::pending()).await;
        });
        Ok(Self { api, task, kubeconfig, _data: data })
    }

    /// The kubeconfig of its administrator.
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
