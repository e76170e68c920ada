//! Polling with a timeout, and checks.

use std::{fmt::Display, time::Duration};

use orchestra_e2e::platform::Error;
use tokio::time::{Instant, sleep};

/// Timeout of a wait.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_mins(3);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Polls until a check succeeds.
pub(crate) async fn until<T>(
    what: impl Display,
    mut check: impl AsyncFnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let end = Instant::now() + WAIT_TIMEOUT;
    loop {
        match check().await {
            Ok(found) => return Ok(found),
            Err(error) if Instant::now() > end => return Err(format!("{what}: {error}").into()),
            Err(_) => sleep(POLL_INTERVAL).await,
        }
    }
}

/// Error with the expected and the actual value, unless they are equal.
#[allow(clippy::needless_pass_by_value, reason = "callers often pass temporaries")]
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

/// Error with the text, unless it contains a part.
pub(crate) fn contains(what: impl Display, text: &str, part: &str) -> Result<(), Error> {
    if text.contains(part) { Ok(()) } else { Err(format!("{what}: {part:?} is missing in: {text}").into()) }
}

/// Error with this text, unless the condition holds.
pub(crate) fn holds(what: impl Display, it: bool) -> Result<(), Error> {
    if it { Ok(()) } else { Err(what.to_string().into()) }
}
