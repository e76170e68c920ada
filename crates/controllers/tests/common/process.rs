//! The controllers as a process of their own, which can be killed.

use std::sync::Arc;

use kube::Client;
use orchestra_controllers::{Controllers, Options};
use tokio::{runtime::Runtime, sync::watch};

/// The controllers, on threads of their own. They end at once, in the middle of whatever they do, when this is
/// dropped.
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

    /// Kills it.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
