//! Clock of the server, which tests replace.

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Source of the current time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// System clock.
    pub fn system() -> Self {
        Self::new(SystemTime::now)
    }

    /// Custom clock.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Seconds since 1970.
    pub fn seconds(&self) -> i64 {
        let since = (self.0)().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    /// Microseconds since 1970.
    pub fn micros(&self) -> i64 {
        let since = (self.0)().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    /// Current time in the format of objects: `2026-11-16T08:30:00Z`.
    pub fn now(&self) -> String {
        orchestra_cel::time::rfc3339(self.seconds())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
