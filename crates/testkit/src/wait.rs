//! Polling with a timeout.

use std::{
    fmt::{Debug, Display},
    panic::Location,
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

/// Timeout of a wait. Only failing tests reach it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Result of a poll: the awaited value, or the reason why it is not there yet.
///
/// Implemented for `bool`, `Option`, and `Result` of both.
pub trait PollOutcome {
    /// Awaited value.
    type Value;

    /// Value, or the reason why it is not there yet.
    fn into_value(self) -> Result<Self::Value, String>;
}

impl PollOutcome for bool {
    type Value = ();

    fn into_value(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("false".to_owned()) }
    }
}

impl<T> PollOutcome for Option<T> {
    type Value = T;

    fn into_value(self) -> Result<T, String> {
        self.ok_or_else(|| "none".to_owned())
    }
}

impl<T: PollOutcome, E: Display> PollOutcome for Result<T, E> {
    type Value = T::Value;

    fn into_value(self) -> Result<T::Value, String> {
        self.map_err(|error| error.to_string())?.into_value()
    }
}

/// Polls until the awaited value is there, and returns it.
///
/// A `Result` counts by its content, so `api.get_opt(name)` waits for the object. Errors are retried; the message of a
/// failing test has the last one.
///
/// # Panics
///
/// After 30 seconds, with the description, the last outcome and the location of the caller.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut polls = 0;
/// let answer = orchestra_testkit::eventually("the third poll succeeds", || {
///     polls += 1;
///     std::future::ready(if polls < 3 { Err(format!("poll {polls}")) } else { Ok(Some(polls)) })
/// });
/// assert_eq!(answer.await, 3);
/// # }
/// ```
#[track_caller]
pub fn eventually<F, Look>(
    description: impl Display,
    poll: F,
) -> impl Future<Output = <Look::Output as PollOutcome>::Value>
where
    F: FnMut() -> Look,
    Look: Future<Output: PollOutcome>,
{
    wait(description, poll, Location::caller())
}

#[allow(clippy::panic, reason = "a test fails by panicking")]
async fn wait<F, Look>(
    description: impl Display,
    mut poll: F,
    place: &Location<'_>,
) -> <Look::Output as PollOutcome>::Value
where
    F: FnMut() -> Look,
    Look: Future<Output: PollOutcome>,
{
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let mut interval = interval(POLL_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = "no poll completed".to_owned();
    while Instant::now() < deadline {
        interval.tick().await;
        match timeout_at(deadline, poll()).await.map(PollOutcome::into_value) {
            Ok(Ok(value)) => return value,
            Ok(Err(reason)) => last = reason,
            Err(_) => break,
        }
    }
    panic!("timed out after {WAIT_TIMEOUT:?} at {place}: {description}\n  last outcome: {last}")
}

/// Value, or a panic with the location of the caller.
#[allow(clippy::panic, reason = "a test fails by panicking")]
pub(crate) fn must<T, E: Debug>(result: Result<T, E>, action: &str, place: &Location<'_>) -> T {
    result.unwrap_or_else(|error| panic!("failed to {action} at {place}: {error:?}"))
}

#[cfg(test)]
mod tests {
    use super::eventually;

    #[tokio::test(start_paused = true)]
    async fn a_timeout_has_the_description_the_location_and_the_last_outcome() {
        let waited = tokio::spawn(eventually("pigs fly", async || Err::<bool, _>("no pig in sight")));
        let panic = waited.await.unwrap_err().into_panic();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("pigs fly") && text.contains("no pig in sight"), "{text}");
        assert!(text.contains("wait.rs"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_that_never_completes_times_out() {
        let waited = tokio::spawn(eventually("the end", std::future::pending::<bool>));
        let panic = waited.await.unwrap_err().into_panic();
        assert!(panic.downcast_ref::<String>().unwrap().contains("no poll completed"));
    }
}
