//! The two ways to the server.

use std::time::Duration;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_apiserver::{
    Api, Options, serve,
    store::{Folder, Redb},
};
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinHandle, time::timeout};

/// Makes two tests of each function that takes a client.
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

/// A test that hangs fails.
pub(crate) async fn bounded(test: impl Future<Output = ()>) {
    timeout(Duration::from_mins(1), test).await.expect("the test comes to an end");
}

/// A server as `orchestra serve` runs it, in a folder of its own.
pub(crate) struct TlsServer {
    folder: TempDir,
    api: Api,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), serve::ServeError>>,
}

impl TlsServer {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Redb::open(Folder::hold(folder.path()).unwrap()).unwrap();
        let server = serve::Server::bind("127.0.0.1:0".parse().unwrap(), folder.path()).await.unwrap();
        let api = Api::open(store, Options::default()).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.run(api.router(), async { drop(stopped.await) }));
        Self { folder, api, stop, task }
    }

    /// A client as the written kubeconfig makes it.
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
