//! What follows from what the cluster answers.

use kube::Error;
use orchestra_api::Reason;
use orchestra_core::denial::Denial;

use super::kind::Kind;
use crate::DriverError;

/// What follows from a request about an object that failed.
pub(super) fn refusal(kind: Kind, error: &Error) -> DriverError {
    let Error::Api(status) = error else {
        tracing::warn!(?kind, "the cluster cannot be reached: {error}");
        return DriverError::unreachable("The cluster does not answer; it is tried again.");
    };
    tracing::warn!(?kind, code = status.code, "the cluster refuses: {}", status.message);
    if kind == Kind::HttpRoute && status.code == 404 && !is_about_object(&status.message) {
        return DriverError::Refused {
            reason: Reason::RuntimeSelecting,
            message: "The cluster knows no routes of the Gateway API: the platform team has to install it, or to publish in another way.".to_owned(),
        };
    }
    let Some(denial) = Denial::of(status.code, &status.message) else {
        return DriverError::Transient {
            reason: Reason::RuntimeProvisioning,
            message: "The cluster could not take it just now; it is tried again.".to_owned(),
        };
    };
    let denied = denial.told(&status.message);
    let (reason, message) = (denied.reason, denied.message);
    match denial {
        // Somebody has to correct the workload.
        Denial::Invalid => DriverError::Refused { reason, message },
        // Somebody may free something, or allow it: nobody would tell.
        Denial::Terminating | Denial::Quota | Denial::Policy | Denial::Permission => {
            DriverError::Transient { reason, message }
        }
    }
}

/// An object of this name is another's.
pub(super) fn foreign(kind: Kind, name: &str) -> DriverError {
    DriverError::Refused {
        reason: Reason::RuntimeDegraded,
        message: format!(
            "In this namespace there is {} named `{name}` already, which is not of this workload and is left alone: rename the workload, or have the other one removed.",
            kind.told()
        ),
    }
}

/// What ran before is in the way, for now.
pub(super) fn leaving() -> DriverError {
    DriverError::Transient {
        reason: Reason::RuntimeProvisioning,
        message: "What ran before is being stopped.".to_owned(),
    }
}

/// Whether an answer speaks of an object, and not of its namespace or its kind.
pub(super) fn is_about_object(message: &str) -> bool {
    !["namespaces \"", "could not find the requested resource", "page not found"]
        .iter()
        .any(|sign| message.contains(sign))
}
