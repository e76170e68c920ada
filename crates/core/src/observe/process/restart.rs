//! Restarts of a program that has exited: consecutive failures, and the backoff.

use std::time::Duration;

/// Delay before the first restart of a container; short, since a developer watches.
pub(super) const FIRST_RESTART_BACKOFF: Duration = Duration::from_millis(500);
/// Longest delay between two starts: as long as a user waits before looking at the log.
const MAX_RESTART_BACKOFF: Duration = Duration::from_secs(30);
/// Time for which a program must have been ready before its next failure counts as the first again, and before a crash loop
/// is over. Shorter, and a program that crashes right after its start would be restarted without backoff.
pub(super) const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Delay before the next start after so many consecutive failures: doubles from the first on.
pub fn restart_backoff(first: Duration, failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(doubled).min(MAX_RESTART_BACKOFF)
}

/// Consecutive failures after one more, of a program that was ready for this long; `None` if it was not ready.
pub fn count_failure(failures: u32, ready_for: Option<Duration>) -> u32 {
    let was_stable = ready_for.is_some_and(|time| time >= STABLE_AFTER);
    if was_stable { 1 } else { failures.saturating_add(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_its_limit() {
        let first = Duration::from_millis(500);
        for (failures, wait) in [(0, 500), (1, 500), (2, 1000), (3, 2000), (7, 30_000), (60, 30_000)] {
            assert_eq!(restart_backoff(first, failures), Duration::from_millis(wait), "after {failures}");
        }
    }

    #[test]
    fn a_program_that_was_ready_long_enough_starts_to_count_again() {
        assert_eq!(count_failure(2, None), 3);
        assert_eq!(count_failure(2, Some(STABLE_AFTER.saturating_sub(Duration::from_nanos(1)))), 3);
        assert_eq!(count_failure(2, Some(STABLE_AFTER)), 1);
    }
}
