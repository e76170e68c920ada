//! The controllers as a process of their own, which can be killed.

use std::{sync::Arc, time::Duration};

use kube::Client;
use orchestra_controllers::{Controllers, Options};
use tokio::{runtime::Runtime, sync::watch};

/// How long a step may take in which a process cannot be killed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The controllers, on threads of their own. They end in the middle of whatever they do.
pub(crate) struct Process {
    runtime: Option<Runtime>,
    controllers: watch::Receiver<Option<Arc<Controllers>>>,
}

impl Process {
    /// Starts the controllers. A client is made inside, since it has a task of its own.
    pub(crate) fn start(client: impl FnOnce() -> Client + Send + 'static, options: Options) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (sender, controllers) = watch::channel(None);
        runtime.spawn(async move {
            // A process that dies while it starts has nothing to tell.
            if let Ok(started) = Controllers::start(client(), options).await {
                sender.send_replace(Some(Arc::new(started)));
                std::future::pending::<()>().await;
            }
        });
        Self { runtime: Some(runtime), controllers }
    }

    /// Waits until no controller has anything to do.
    pub(crate) async fn idle(&self) {
        let mut controllers = self.controllers.clone();
        let started = controllers.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        started.idle().await;
    }

    /// Kills it. Once this is over, nothing of it is left.
    pub(crate) async fn kill(mut self) {
        if let Some(runtime) = self.runtime.take() {
            tokio::task::spawn_blocking(|| runtime.shutdown_timeout(PATIENCE)).await.unwrap();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
