//! Exponential backoff with jitter, capped and without an end: a controller that gives up needs a human to start it again.

use std::{collections::BTreeMap, time::Duration};

/// Delay after the first failure, before jitter.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// Longest delay: a fault that is fixed is noticed within this time.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// Consecutive conflicts that are retried at once: a fresh read settles most.
const FREE_CONFLICTS: u32 = 5;

/// Delay after this many earlier failures. `random` is in `0..1`; the delay is at least half its full length.
pub fn delay(failures: u32, random: f64) -> Duration {
    let full = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(failures)).min(MAX_BACKOFF);
    full.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
}

/// Consecutive failures by key.
#[derive(Clone, Debug)]
pub struct Backoff<K, R> {
    failing: BTreeMap<K, Failing>,
    random: R,
}

#[derive(Clone, Copy, Debug, Default)]
struct Failing {
    failures: u32,
    conflicts: u32,
}

impl<K: Ord + Clone, R: FnMut() -> f64> Backoff<K, R> {
    /// Backoff without failures. `random` returns numbers in `0..1`.
    pub fn new(random: R) -> Self {
        Self { failing: BTreeMap::new(), random }
    }

    /// Counts a failure and returns the delay.
    pub fn failed(&mut self, key: &K) -> Duration {
        let failing = self.failing.entry(key.clone()).or_default();
        let before = failing.failures;
        failing.failures = before.saturating_add(1);
        delay(before, (self.random)())
    }

    /// Counts a conflict and returns the delay: none at first, then as after a failure.
    pub fn conflicted(&mut self, key: &K) -> Duration {
        let failing = self.failing.entry(key.clone()).or_default();
        if failing.conflicts < FREE_CONFLICTS {
            failing.conflicts += 1;
            return Duration::ZERO;
        }
        self.failed(key)
    }

    /// Resets the key.
    pub fn succeeded(&mut self, key: &K) {
        self.failing.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(random: f64, count: usize) -> Vec<u128> {
        let mut backoff = Backoff::new(move || random);
        (0..count).map(|_| backoff.failed(&"key").as_millis()).collect()
    }

    #[test]
    fn delays_double_up_to_half_a_minute() {
        let full = [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000];
        assert_eq!(delays(1.0, 11), full);
    }

    #[test]
    fn jitter_takes_at_most_half_off() {
        assert_eq!(delays(0.0, 3), [50, 100, 200]);
        assert_eq!(delays(0.5, 3), [75, 150, 300]);
    }

    #[test]
    fn the_delay_is_capped_after_any_number_of_failures() {
        assert_eq!(delay(u32::MAX, 1.0), MAX_BACKOFF);
        let mut backoff = Backoff::new(|| 1.0);
        for _ in 0..10_000 {
            assert!(backoff.failed(&"key") <= MAX_BACKOFF);
        }
    }

    #[test]
    fn success_resets_a_key_and_keys_are_independent() {
        let mut backoff = Backoff::new(|| 1.0);
        backoff.failed(&"a");
        backoff.failed(&"a");
        assert_eq!(backoff.failed(&"b"), FIRST_BACKOFF);
        backoff.succeeded(&"a");
        assert_eq!(backoff.failed(&"a"), FIRST_BACKOFF);
    }

    #[test]
    fn five_conflicts_in_a_row_are_retried_at_once() {
        let mut backoff = Backoff::new(|| 1.0);
        let waits: Vec<u128> = (0..7).map(|_| backoff.conflicted(&"key").as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 100, 200]);
        backoff.succeeded(&"key");
        assert_eq!(backoff.conflicted(&"key"), Duration::ZERO);
    }
}
