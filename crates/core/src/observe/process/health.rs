//! Health of a run, from the results of its probes.
//!
//! While a program starts it is probed often, since a developer waits for it; once it is ready, seldom. Liveness is probed
//! from the first readiness on, so that a slow start is not taken for a deadlock.

use std::time::Duration;

/// First interval of readiness probes while a program starts; it doubles. Most programs of a developer start within it.
const FIRST_START_PROBE_INTERVAL: Duration = Duration::from_millis(25);
/// Longest interval of readiness probes while a program starts: what a user does not notice.
const MAX_START_PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of probes once the program is ready; as frequent as costs nothing.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// Longest time of one probe.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time that a program without probes and ports must run before it is ready: most configuration errors end it sooner.
pub const SETTLE_TIME: Duration = Duration::from_millis(500);
/// Time after which liveness is probed even if the program was never ready.
pub const LIVENESS_START_TIMEOUT: Duration = Duration::from_mins(2);
/// Consecutive failures after which a probe has failed: the default of Kubernetes.
const FAILURE_THRESHOLD: u32 = 3;

/// Readiness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// True if the run is ready.
    pub ready: bool,
    failures: u32,
    interval: Duration,
}

impl Default for Readiness {
    fn default() -> Self {
        Self { ready: false, failures: 0, interval: FIRST_START_PROBE_INTERVAL }
    }
}

impl Readiness {
    /// Records the result of a probe, and returns the delay until the next one.
    pub fn record(&mut self, succeeded: bool) -> Duration {
        let was_ready = self.ready;
        self.failures = if succeeded { 0 } else { self.failures + 1 };
        self.ready = succeeded || was_ready && self.failures < FAILURE_THRESHOLD;
        self.interval = if succeeded || was_ready {
            PROBE_INTERVAL
        } else {
            (self.interval * 2).min(MAX_START_PROBE_INTERVAL)
        };
        self.interval
    }
}

/// Liveness of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Liveness {
    failures: u32,
}

impl Liveness {
    /// Records the result of a probe; true if the run has failed for good and is to be restarted.
    pub fn record(&mut self, succeeded: bool) -> bool {
        self.failures = if succeeded { 0 } else { self.failures + 1 };
        self.failures >= FAILURE_THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_probed_often_at_first_and_at_least_every_second() {
        let mut readiness = Readiness::default();
        let delays: Vec<_> = (0..7).map(|_| readiness.record(false).as_millis()).collect();
        assert_eq!(delays, [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!((readiness.record(true), readiness.ready), (PROBE_INTERVAL, true));
    }

    #[test]
    fn a_ready_program_becomes_unready_with_the_third_failure_in_a_row() {
        let mut readiness = Readiness::default();
        let results = [true, false, false, true, false, false, false, false, true];
        let ready = results.map(|succeeded| {
            readiness.record(succeeded);
            readiness.ready
        });
        assert_eq!(ready, [true, true, true, true, true, true, false, false, true]);
    }

    #[test]
    fn liveness_fails_with_the_third_failure_in_a_row() {
        let mut liveness = Liveness::default();
        let results = [false, false, true, false, false, false];
        let failed = results.map(|succeeded| liveness.record(succeeded));
        assert_eq!(failed, [false, false, false, false, false, true]);
    }
}
