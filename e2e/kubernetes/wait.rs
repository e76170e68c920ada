//! Waiting for what is to come, with an end.

use std::{fmt::Display, time::Duration};

use orchestra_e2e::platform::Error;
use tokio::time::{Instant, sleep};

/// How long something is waited for before that counts as a failure.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);
/// How often it is looked at.
const PACE: Duration = Duration::from_millis(150);

/// Looks again and again until a look answers without an error.
pub(crate) async fn until<T>(
    what: impl Display,
    mut look: impl AsyncFnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let end = Instant::now() + PATIENCE;
    loop {
        match look().await {
            Ok(found) => return Ok(found),
            Err(error) if Instant::now() > end => return Err(format!("{what}: {error}").into()),
            Err(_) => sleep(PACE).await,
        }
    }
}

/// An error that says what is expected and what is there, unless they are equal.
#[allow(clippy::needless_pass_by_value, reason = "what is compared is often made for it")]
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: impl Display,
    found: T,
    expected: T,
) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected:?}, found {found:?}").into())
    }
}

/// An error that shows a text, unless it contains a part.
pub(crate) fn contains(what: impl Display, text: &str, part: &str) -> Result<(), Error> {
    if text.contains(part) { Ok(()) } else { Err(format!("{what}: {part:?} is missing in: {text}").into()) }
}

/// An error with this text, unless something holds.
pub(crate) fn holds(what: impl Display, it: bool) -> Result<(), Error> {
    if it { Ok(()) } else { Err(what.to_string().into()) }
}
