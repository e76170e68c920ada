//! Timeout of driver calls.

use std::time::Duration;

use orchestra_drivers::DriverError;

/// Timeout of one call of a driver. Calls are safe to cancel and to repeat.
const DRIVER_CALL_TIMEOUT: Duration = Duration::from_mins(2);

/// Answer of a driver, or an error after the timeout.
pub(crate) async fn in_time<T>(call: impl Future<Output = Result<T, DriverError>>) -> Result<T, DriverError> {
    let answer = tokio::time::timeout(DRIVER_CALL_TIMEOUT, call).await;
    answer.unwrap_or_else(|_| {
        let seconds = DRIVER_CALL_TIMEOUT.as_secs();
        Err(DriverError::unreachable(format!(
            "Timed out after {seconds}s waiting for the runtime or provisioner; retrying."
        )))
    })
}
