//! Controllers that can be killed like a process.

use std::{sync::Arc, time::Duration};

use kube::Client;
use orchestra_controllers::{Controllers, Options};
use tokio::{runtime::Runtime, sync::watch};

/// Timeout of a kill: the current poll of each task has to return.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// Controllers on a Tokio runtime of their own. A kill drops their tasks at the next await point.
pub(crate) struct Process {
    runtime: Option<Runtime>,
    controllers: watch::Receiver<Option<Arc<Controllers>>>,
}

impl Process {
    /// Starts the controllers. The client is built on their runtime, since it spawns a task.
    pub(crate) fn start(client: impl FnOnce() -> Client + Send + 'static, options: Options) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (sender, controllers) = watch::channel(None);
        runtime.spawn(async move {
            // A process killed during startup fails to start.
            if let Ok(started) = Controllers::start(client(), options).await {
                sender.send_replace(Some(Arc::new(started)));
                std::future::pending::<()>().await;
            }
        });
        Self { runtime: Some(runtime), controllers }
    }

    /// Waits until no controller has anything to reconcile.
    pub(crate) async fn idle(&self) {
        let mut controllers = self.controllers.clone();
        let started = controllers.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        started.idle().await;
    }

    /// Kills the controllers and waits until all their tasks are dropped.
    pub(crate) async fn kill(mut self) {
        if let Some(runtime) = self.runtime.take() {
            tokio::task::spawn_blocking(|| runtime.shutdown_timeout(KILL_TIMEOUT)).await.unwrap();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
