//! Drivers talk to the world, which may never answer: nobody waits for it longer than this.

use std::time::Duration;

use orchestra_drivers::DriverError;

/// How long a driver may take for one call. All calls are safe to break off and to repeat.
const DEADLINE: Duration = Duration::from_mins(2);

/// What a driver answers, in time.
pub(crate) async fn in_time<T>(call: impl Future<Output = Result<T, DriverError>>) -> Result<T, DriverError> {
    let answer = tokio::time::timeout(DEADLINE, call).await;
    answer.unwrap_or_else(|_| {
        Err(DriverError::unreachable("What is needed for it does not answer; it is tried again."))
    })
}
