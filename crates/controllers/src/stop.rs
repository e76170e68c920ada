//! The wish to end, told to everything that runs.
//!
//! A `watch` channel does it all but one thing: whoever listens must not outlive a sender that was dropped without a
//! word, for instance by a panic. Here that counts as the wish to end.

use tokio::sync::watch;

/// Ends everything that holds a [`Stop`] of it, when told or when dropped.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Tells when it is time to end. Clones tell the same.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// Both ends of the signal.
pub fn channel() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    /// Tells all to end.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Waits until it is time to end.
    pub async fn requested(&self) {
        // An error means that the stopper is gone.
        let _ = self.0.clone().wait_for(|stop| *stop).await;
    }

    /// Whether it is time to end.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::channel;

    #[tokio::test]
    async fn all_who_hold_the_signal_are_told() {
        let (stopper, stop) = channel();
        let other = stop.clone();
        assert!(!stop.is_requested());
        stopper.stop();
        stop.requested().await;
        other.requested().await;
        assert!(other.is_requested());
    }

    #[tokio::test]
    async fn a_stopper_that_is_dropped_stops() {
        let (stopper, stop) = channel();
        drop(stopper);
        stop.requested().await;
        assert!(stop.is_requested());
    }
}
