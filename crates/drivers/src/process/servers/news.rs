//! Who is to be told about which instance.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::mpsc;

use super::Id;

/// Carries news to whoever listens.
#[derive(Clone, Debug, Default)]
pub(super) struct News(Arc<Mutex<Vec<mpsc::UnboundedSender<Id>>>>);

impl News {
    /// There is something new about an instance.
    pub(super) fn tell(&self, id: &Id) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(id.clone()).is_ok());
    }

    /// All that is told from now on.
    pub(super) fn listen(&self) -> BoxStream<'static, Id> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver))).boxed()
    }
}
