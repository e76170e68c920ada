//! Errors of requests to the cluster, as [`DriverError`]: a neutral sentence for users, and the raw answer in the log.

use kube::Error;
use orchestra_api::Reason;
use orchestra_core::denial::{Denial, NotFound};

use super::kind::Kind;
use crate::DriverError;

/// Error of a request about an object of a kind.
pub(super) fn driver_error(kind: Kind, error: &Error) -> DriverError {
    let Error::Api(status) = error else {
        tracing::warn!(?kind, %error, "the cluster is unreachable");
        return DriverError::unreachable("The cluster does not respond; retrying.");
    };
    tracing::warn!(
        ?kind,
        code = status.code,
        reason = status.reason,
        message = status.message,
        "the cluster refused a request"
    );
    if kind == Kind::HttpRoute && NotFound::of(status) == Some(NotFound::Kind) {
        return DriverError::Refused {
            reason: Reason::RuntimeSelecting,
            message: "The Gateway API is not installed on the cluster: the platform's administrators have to install it, or to publish routes in another way.".to_owned(),
        };
    }
    let Some(denial) = Denial::of(status) else {
        return DriverError::Transient {
            reason: Reason::RuntimeProvisioning,
            message: "The cluster could not process a request; retrying.".to_owned(),
        };
    };
    let denied = denial.describe(&status.message);
    let (reason, message) = (denied.reason, denied.message);
    match denial {
        // The Workload has to be corrected.
        Denial::Invalid => DriverError::Refused { reason, message },
        // Quota or permissions may be granted at any time, without an event.
        Denial::Terminating | Denial::Quota | Denial::Policy | Denial::Permission => {
            DriverError::Transient { reason, message }
        }
    }
}

/// Error for a foreign object of the same name.
pub(super) fn name_conflict(kind: Kind, name: &str) -> DriverError {
    DriverError::Refused {
        reason: Reason::RuntimeDegraded,
        message: format!(
            "{} named `{name}` already exists in this namespace and is not managed for this workload: rename the workload, or delete it.",
            kind.label()
        ),
    }
}

/// Error for a previous object that is still being deleted.
pub(super) fn being_deleted() -> DriverError {
    DriverError::Transient {
        reason: Reason::RuntimeProvisioning,
        message: "Stopping the previous version.".to_owned(),
    }
}
