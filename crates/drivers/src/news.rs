//! Who is to be told about which Workload or instance.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::mpsc;

/// A namespace, and a name or an identity in it.
type Id = (String, String);

/// Carries news to whoever listens. Clones tell the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct News(Arc<Mutex<Vec<mpsc::UnboundedSender<Id>>>>);

impl News {
    /// There is something new about one of them.
    pub(crate) fn tell(&self, id: &Id) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(id.clone()).is_ok());
    }

    /// All that is told from now on.
    pub(crate) fn listen(&self) -> BoxStream<'static, Id> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver))).boxed()
    }
}
