//! Instances of which there is something new.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::mpsc;

use super::means::Id;

/// Tells whoever listens. Clones tell the same.
#[derive(Clone, Debug, Default)]
pub(super) struct News(Arc<Mutex<Vec<mpsc::UnboundedSender<Id>>>>);

impl News {
    pub(super) fn tell(&self, id: &Id) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(id.clone()).is_ok());
    }

    pub(super) fn listen(&self) -> BoxStream<'static, Id> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver))).boxed()
    }
}
