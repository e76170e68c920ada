//! Manual clock.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use orchestra_apiserver::clock::Clock;

/// 2026-01-01T00:00:00Z, 20,454 days after the Unix epoch.
const START: Duration = Duration::from_hours(20_454 * 24);

/// Clock that changes only when it is set or advanced. Clones share the time.
///
/// ```
/// use orchestra_testkit::ManualClock;
/// use std::time::Duration;
///
/// let clock = ManualClock::default();
/// let server = clock.for_server();
/// assert_eq!(server.now(), "2026-01-01T00:00:00Z");
/// clock.advance(Duration::from_secs(90));
/// assert_eq!(server.now(), "2026-01-01T00:01:30Z");
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Mutex<SystemTime>>);

impl Default for ManualClock {
    /// 2026-01-01T00:00:00Z.
    fn default() -> Self {
        Self::at(UNIX_EPOCH + START)
    }
}

impl ManualClock {
    /// Clock at this time.
    pub fn at(time: SystemTime) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// Current time.
    pub fn now(&self) -> SystemTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, time: SystemTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// Advances the time.
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }

    /// This clock as a clock of the server.
    pub fn for_server(&self) -> Clock {
        let clock = self.clone();
        Clock::new(move || clock.now())
    }
}
