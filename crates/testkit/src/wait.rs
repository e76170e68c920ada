//! Waiting for what is to become true.

use std::{
    fmt::{Debug, Display},
    panic::Location,
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

/// How long a test waits before it fails. It is only ever used up by a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks.
const PACE: Duration = Duration::from_millis(10);

/// What a look at the world may tell: what was waited for, or what is still in the way.
///
/// `bool`, `Option`, `Result` and `Result` of `Option` are outcomes.
pub trait Outcome {
    /// What was waited for.
    type Value;

    /// The value, or why it is not there yet.
    fn into_value(self) -> Result<Self::Value, String>;
}

impl Outcome for bool {
    type Value = ();

    fn into_value(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("it is not so".to_owned()) }
    }
}

impl<T> Outcome for Option<T> {
    type Value = T;

    fn into_value(self) -> Result<T, String> {
        self.ok_or_else(|| "there is none".to_owned())
    }
}

impl<T: Outcome, E: Display> Outcome for Result<T, E> {
    type Value = T::Value;

    fn into_value(self) -> Result<T::Value, String> {
        self.map_err(|error| error.to_string())?.into_value()
    }
}

/// Looks again and again until there is what was waited for, and hands it out.
///
/// A `Result` counts by what is in it, so that `api.get_opt(name)` waits for the object. Errors are waited out: the
/// last one is in the message of the test that fails.
///
/// # Panics
///
/// After half a minute, with the description, the last outcome and the line that waited.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut looks = 0;
/// let answer = orchestra_testkit::eventually("the third look is the charm", || {
///     looks += 1;
///     std::future::ready(if looks < 3 { Err(format!("look {looks}")) } else { Ok(Some(looks)) })
/// });
/// assert_eq!(answer.await, 3);
/// # }
/// ```
#[track_caller]
pub fn eventually<F, Look>(
    description: impl Display,
    look: F,
) -> impl Future<Output = <Look::Output as Outcome>::Value>
where
    F: FnMut() -> Look,
    Look: Future<Output: Outcome>,
{
    wait(description, look, Location::caller())
}

#[allow(clippy::panic, reason = "a test fails by panicking")]
async fn wait<F, Look>(
    description: impl Display,
    mut look: F,
    place: &Location<'_>,
) -> <Look::Output as Outcome>::Value
where
    F: FnMut() -> Look,
    Look: Future<Output: Outcome>,
{
    let deadline = Instant::now() + PATIENCE;
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = "no look came to an end".to_owned();
    while Instant::now() < deadline {
        pace.tick().await;
        match timeout_at(deadline, look()).await.map(Outcome::into_value) {
            Ok(Ok(value)) => return value,
            Ok(Err(reason)) => last = reason,
            Err(_) => break,
        }
    }
    panic!("waited {PATIENCE:?} in vain at {place}: {description}\n  the last look: {last}")
}

/// The value, or a test that fails where the caller stands.
#[allow(clippy::panic, reason = "a test fails by panicking")]
pub(crate) fn must<T, E: Debug>(result: Result<T, E>, action: &str, place: &Location<'_>) -> T {
    result.unwrap_or_else(|error| panic!("failed to {action} at {place}: {error:?}"))
}

#[cfg(test)]
mod tests {
    use super::eventually;

    #[tokio::test(start_paused = true)]
    async fn a_wait_in_vain_says_what_for_where_and_what_it_last_saw() {
        let waited = tokio::spawn(eventually("pigs fly", async || Err::<bool, _>("no pig in sight")));
        let panic = waited.await.unwrap_err().into_panic();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("pigs fly") && text.contains("no pig in sight"), "{text}");
        assert!(text.contains("wait.rs"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_never_ends_is_given_up() {
        let waited = tokio::spawn(eventually("the end", std::future::pending::<bool>));
        let panic = waited.await.unwrap_err().into_panic();
        assert!(panic.downcast_ref::<String>().unwrap().contains("no look came to an end"));
    }
}
