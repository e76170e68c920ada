//! Graceful shutdown: a `watch` channel whose dropped sender, for instance after a panic, counts as the request.

use tokio::sync::watch;

/// Requests the shutdown of everything that holds its [`Shutdown`], when triggered or dropped.
#[derive(Debug)]
pub struct ShutdownTrigger(watch::Sender<bool>);

/// Receiver of a shutdown request. Clones share it.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// Trigger and receiver.
pub fn channel() -> (ShutdownTrigger, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (ShutdownTrigger(sender), Shutdown(receiver))
}

impl ShutdownTrigger {
    /// Requests the shutdown.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Waits for the request.
    pub async fn requested(&self) {
        // An error means that the trigger was dropped.
        let _ = self.0.clone().wait_for(|stop| *stop).await;
    }

    /// True if shutdown was requested.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::channel;

    #[tokio::test]
    async fn all_clones_observe_the_request() {
        let (trigger, shutdown) = channel();
        let other = shutdown.clone();
        assert!(!shutdown.is_requested());
        trigger.trigger();
        shutdown.requested().await;
        other.requested().await;
        assert!(other.is_requested());
    }

    #[tokio::test]
    async fn a_stopper_that_is_dropped_stops() {
        let (trigger, shutdown) = channel();
        drop(trigger);
        shutdown.requested().await;
        assert!(shutdown.is_requested());
    }
}
