//! Timeout of driver calls.

use std::time::Duration;

use orchestra_drivers::DriverError;

/// Timeout of one call of a driver. Calls are safe to cancel and to repeat.
const DEADLINE: Duration = Duration::from_mins(2);

/// Answer of a driver, or an error after the timeout.
pub(crate) async fn in_time<T>(call: impl Future<Output = Result<T, DriverError>>) -> Result<T, DriverError> {
    let answer = tokio::time::timeout(DEADLINE, call).await;
    answer.unwrap_or_else(|_| {
        Err(DriverError::unreachable("Timed out after 2m waiting for the runtime or provisioner; retrying."))
    })
}
