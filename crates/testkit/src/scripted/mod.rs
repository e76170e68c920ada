//! Scripted drivers that record their calls.
//!
//! Their state outlives the controllers and is counted, so that tests notice lost and duplicate objects.

mod provisioner;
mod runtime;

pub use provisioner::{ProvisionScript, ScriptedProvisioner};
pub use runtime::{RunScript, Running, ScriptedRuntime};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream::BoxStream};
use tokio::sync::broadcast;

/// Namespace and name.
pub type NamespacedName = (String, String);

/// Capacity of the channel of change notifications.
const MAX_NOTIFICATIONS: usize = 4096;

/// State that outlives the controllers, with change notifications.
#[derive(Debug)]
struct Outside<S> {
    state: Arc<Mutex<S>>,
    news: broadcast::Sender<NamespacedName>,
}

impl<S> Clone for Outside<S> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state), news: self.news.clone() }
    }
}

impl<S: Default> Default for Outside<S> {
    fn default() -> Self {
        Self { state: Arc::default(), news: broadcast::Sender::new(MAX_NOTIFICATIONS) }
    }
}

impl<S> Outside<S> {
    fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self, key: NamespacedName) {
        // There is no receiver while no controller runs.
        let _ = self.news.send(key);
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        let listener = self.news.subscribe();
        futures_util::stream::unfold(listener, async |mut listener| {
            loop {
                match listener.recv().await {
                    Ok(key) => return Some((key, listener)),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        })
        .boxed()
    }
}
