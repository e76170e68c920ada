//! Timeout of driver calls, and the log of their causes.

use std::{error::Error as _, time::Duration};

use orchestra_drivers::DriverError;

/// Timeout of one call of a driver. Calls are safe to cancel and to repeat.
const DRIVER_CALL_TIMEOUT: Duration = Duration::from_mins(2);

/// Answer of a driver, or an error after the timeout. Its cause is for operators: the status has only the neutral sentence.
pub(crate) async fn in_time<T>(call: impl Future<Output = Result<T, DriverError>>) -> Result<T, DriverError> {
    let answer = tokio::time::timeout(DRIVER_CALL_TIMEOUT, call).await;
    let answer = answer.unwrap_or_else(|_| {
        let seconds = DRIVER_CALL_TIMEOUT.as_secs();
        Err(DriverError::unreachable(format!(
            "Timed out after {seconds}s waiting for the runtime or provisioner; retrying."
        )))
    });
    answer.inspect_err(|error| {
        if let Some(source) = error.source() {
            tracing::warn!(error = source, kind = ?error.kind, "a driver failed: {error}");
        }
    })
}
