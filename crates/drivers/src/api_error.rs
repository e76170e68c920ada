//! Failed requests to a cluster, as [`DriverError`]: a neutral sentence for users, and the raw answer as its source.

use kube::{Error, core::Status};
use orchestra_api::Reason;
use orchestra_core::{
    Denied,
    denial::{Denial, WriteOf},
};

use crate::DriverError;

/// Kind whose answers may quote secret values: they are neither logged nor shown.
pub(crate) const SECRET: &str = "Secret";

/// Failed request about an object, for operators.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The cluster gave no answer.
    #[error("no answer about the {kind} `{name}`")]
    NoAnswer {
        /// Kind of the object.
        kind: String,
        /// Its name; empty for requests about several.
        name: String,
        /// Error of the client.
        source: Error,
    },
    /// The cluster refused it.
    #[error("request about the {kind} `{name}` refused: {code} {reason} {message}")]
    Refused {
        /// Kind of the object.
        kind: String,
        /// Its name; empty for requests about several.
        name: String,
        /// Status code.
        code: u16,
        /// Reason of the answer.
        reason: String,
        /// Message of the answer; empty if it may quote secret values.
        message: String,
    },
}

/// Answer of the cluster and the failed request for operators, or the error for a cluster that gave no answer.
pub(crate) fn answer(
    kind: &str,
    name: &str,
    error: Error,
) -> Result<(Box<Status>, RequestError), DriverError> {
    let (kind, name) = (kind.to_owned(), name.to_owned());
    match error {
        Error::Api(status) => {
            let message = if kind == SECRET { String::new() } else { status.message.clone() };
            let (code, reason) = (status.code, status.reason.clone());
            Ok((status, RequestError::Refused { kind, name, code, reason, message }))
        }
        source => Err(DriverError::unreachable("The cluster does not respond; retrying.")
            .with_source(RequestError::NoAnswer { kind, name, source })),
    }
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
        return DriverError::transient(pending, "The cluster could not process a request; retrying.");
    };
    let Denied { reason, message, .. } = describe(denial, denial.describe(&status.message));
    if denial.is_retried(WriteOf::RenderedObject) {
        DriverError::transient(reason, message)
    } else {
        DriverError::refused(reason, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DriverErrorKind;

    #[test]
    fn only_an_invalid_object_is_refused_and_everything_else_is_retried() {
        let error = |code, reason: &str, message: &str| {
            let status = Status::failure(message, reason).with_code(code);
            driver_error(&status, Reason::BindingPending, |_, denied| denied)
        };
        let invalid = error(422, "Invalid", "spec.replicas: Invalid value: -1");
        assert_eq!((invalid.kind, invalid.reason), (DriverErrorKind::Refused, Reason::ProjectionError));
        for (code, reason, message, expected) in [
            (403, "Forbidden", "exceeded quota: q", Reason::QuotaExceeded),
            (403, "Forbidden", "User \"a\" cannot create resource", Reason::PermissionDenied),
            (404, "NotFound", "services \"a\" not found", Reason::BindingPending),
            (500, "InternalError", "etcdserver: request timed out", Reason::BindingPending),
        ] {
            let retried = error(code, reason, message);
            assert_eq!((retried.kind, retried.reason), (DriverErrorKind::Transient, expected), "{retried}");
        }
    }
}
