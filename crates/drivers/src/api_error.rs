//! Failed requests to a cluster, as [`DriverError`]: a neutral sentence for users, and the raw answer in the log.

use kube::{Error, core::Status};
use orchestra_api::Reason;
use orchestra_core::{Denied, denial::Denial};

use crate::DriverError;

/// Kind whose answers may quote secret values: they are neither logged nor shown.
pub(crate) const SECRET: &str = "Secret";

/// Logs a failed request, and returns the answer of the cluster, or the error for a cluster that gave none.
pub(crate) fn log_answer<'a>(kind: &str, name: &str, error: &'a Error) -> Result<&'a Status, DriverError> {
    let Error::Api(status) = error else {
        tracing::warn!(kind, name, %error, "the cluster is unreachable");
        return Err(DriverError::unreachable("The cluster does not respond; retrying."));
    };
    let (code, reason) = (status.code, &status.reason);
    let message = if kind == SECRET { "" } else { status.message.as_str() };
    tracing::warn!(kind, name, code, reason, message, "the cluster refused a request");
    Ok(status)
}

/// Runtime-neutral noun for an object of a kind, for users.
pub(crate) fn noun(kind: &str) -> &'static str {
    match kind {
        "Ingress" | "HTTPRoute" => "A route",
        "Service" => "An address",
        "Secret" => "A secret",
        "ConfigMap" => "A configuration",
        "PersistentVolumeClaim" => "A volume",
        "Deployment" | "StatefulSet" | "Job" | "Pod" => "A program",
        _ => "An object",
    }
}

/// Error that an answer means, with the reason for what is retried. `describe` words a denial in the terms of the driver.
pub(crate) fn driver_error(
    status: &Status,
    pending: Reason,
    describe: impl FnOnce(Denial, Denied) -> Denied,
) -> DriverError {
    let Some(denial) = Denial::of(status) else {
        return DriverError::Transient {
            reason: pending,
            message: "The cluster could not process a request; retrying.".to_owned(),
        };
    };
    let Denied { reason, message, .. } = describe(denial, denial.describe(&status.message));
    if denial.is_final() {
        DriverError::Refused { reason, message }
    } else {
        DriverError::Transient { reason, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_invalid_object_is_refused_and_everything_else_is_retried() {
        let error = |code, reason: &str, message: &str| {
            let status = Status::failure(message, reason).with_code(code);
            driver_error(&status, Reason::BindingPending, |_, denied| denied)
        };
        let invalid = error(422, "Invalid", "spec.replicas: Invalid value: -1");
        assert!(matches!(invalid, DriverError::Refused { reason: Reason::ProjectionError, .. }), "{invalid}");
        for (code, reason, message, expected) in [
            (403, "Forbidden", "exceeded quota: q", Reason::QuotaExceeded),
            (403, "Forbidden", "User \"a\" cannot create resource", Reason::PermissionDenied),
            (404, "NotFound", "services \"a\" not found", Reason::BindingPending),
            (500, "InternalError", "etcdserver: request timed out", Reason::BindingPending),
        ] {
            let retried = error(code, reason, message);
            assert!(
                matches!(retried, DriverError::Transient { reason, .. } if reason == expected),
                "{retried}"
            );
        }
    }
}
