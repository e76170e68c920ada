//! Notifications about Workloads and instances.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::mpsc;

use crate::NamespacedName;

/// Notifier of any number of subscribers. Clones share the subscribers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notifier(Arc<Mutex<Vec<mpsc::UnboundedSender<NamespacedName>>>>);

impl Notifier {
    /// Notifies all subscribers that the status of one has changed.
    pub(crate) fn notify(&self, id: &NamespacedName) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(id.clone()).is_ok());
    }

    /// Stream of all notifications from now on.
    pub(crate) fn subscribe(&self) -> BoxStream<'static, NamespacedName> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver))).boxed()
    }
}
