//! A clock that tests set.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use orchestra_apiserver::clock::Clock;

/// The first moment of 2026, 20,454 days after 1970 began.
const START: Duration = Duration::from_hours(20_454 * 24);

/// A clock that stands still until it is set or advanced. Clones show the same time.
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
    /// The first moment of 2026.
    fn default() -> Self {
        Self::at(UNIX_EPOCH + START)
    }
}

impl ManualClock {
    /// A clock that stands at this time.
    pub fn at(time: SystemTime) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// The time it shows.
    pub fn now(&self) -> SystemTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets it, also back.
    pub fn set(&self, time: SystemTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }

    /// The same clock, as a server reads it.
    pub fn for_server(&self) -> Clock {
        let clock = self.clone();
        Clock::new(move || clock.now())
    }
}
