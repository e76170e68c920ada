//! Runs each test in-process and over TLS.

use std::time::Duration;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_apiserver::{
    Api, Caller, Options,
    store::{Folder, Redb},
};
use orchestra_serve::{Peer, ServeError, Server};
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinHandle, time::timeout};

/// Declares two tests for each function that takes a client.
macro_rules! on_both {
    ($($test:ident),+ $(,)?) => {
        mod in_process {
            $(#[tokio::test]
            async fn $test() {
                let env = orchestra_testkit::TestEnv::start().await;
                crate::kube_rs::both::bounded(super::$test(env.client())).await;
            })+
        }

        mod over_tls {
            $(#[tokio::test]
            async fn $test() {
                let server = crate::kube_rs::both::TlsServer::start().await;
                crate::kube_rs::both::bounded(super::$test(server.client().await)).await;
                server.end().await;
            })+
        }
    };
}

/// Fails a test that hangs.
pub(crate) async fn bounded(test: impl Future<Output = ()>) {
    timeout(Duration::from_mins(1), test).await.expect("the test completes in time");
}

/// Server as in `orchestra serve`, with its own data folder.
pub(crate) struct TlsServer {
    folder: TempDir,
    api: Api,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl TlsServer {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Redb::open(Folder::hold(folder.path()).unwrap()).unwrap();
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), folder.path()).unwrap();
        let api = Api::open(store, Options::default()).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let identify = |peer: Peer| Caller::new(peer.name, peer.groups);
        let task = tokio::spawn(server.run(api.router(), identify, async { drop(stopped.await) }));
        Self { folder, api, stop, task }
    }

    /// Client of the generated kubeconfig.
    pub(crate) async fn client(&self) -> Client {
        let kubeconfig = Kubeconfig::read_from(self.folder.path().join("kubeconfig")).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    }

    pub(crate) async fn end(self) {
        self.api.stop();
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}
