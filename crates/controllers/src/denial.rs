//! Why the API refuses a write: what concerns the user goes into the status, the rest is tried again.

use kube::Error;
use orchestra_api::Reason;
use orchestra_core::{Denied, denial::Denial};

use crate::work::Failure;

/// What follows from a refused apply.
pub(crate) fn judge(error: &Error) -> Result<Denied, Failure> {
    match error {
        Error::Api(status) => {
            let denial = Denial::of(status.code, &status.message).ok_or_else(|| failure(error))?;
            Ok(told(denial, &status.message))
        }
        _ => Err(failure(error)),
    }
}

/// What follows from any other write that failed.
pub(crate) fn failure(error: &Error) -> Failure {
    match error {
        Error::Api(status) if status.code == 409 => Failure::Conflict(status.message.clone()),
        error => Failure::Transient(error.to_string()),
    }
}

/// An object of ours that is refused is told with the words of the API, which name it.
fn told(denial: Denial, message: &str) -> Denied {
    match denial {
        Denial::Quota => Denied {
            reason: denial.reason(),
            message: format!("There is not enough left in this namespace: {message}"),
        },
        Denial::Permission => Denied {
            reason: denial.reason(),
            message: format!(
                "The platform may not do what is needed; the platform team has to allow it: {message}"
            ),
        },
        // What the orchestrator writes is valid but for rules that somebody added.
        Denial::Invalid => Denied {
            reason: Reason::PolicyViolation,
            message: format!("The platform does not take it: {message}"),
        },
        Denial::Policy => Denied {
            reason: denial.reason(),
            message: format!("A policy of the organisation forbids it: {message}"),
        },
        Denial::Terminating => denial.told(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn judged(code: u16, message: &str) -> Result<Reason, &'static str> {
        let status = Status { code, message: message.to_owned(), ..Status::default() };
        match judge(&Error::Api(Box::new(status))) {
            Ok(denied) => Ok(denied.reason),
            Err(Failure::Conflict(_)) => Err("conflict"),
            Err(Failure::Transient(_)) => Err("transient"),
        }
    }

    #[test]
    fn what_concerns_the_user_is_told_and_the_rest_is_tried_again() {
        for (code, message, expected) in [
            (403, "claims is forbidden: exceeded quota: q, requested: count=1", Ok(Reason::QuotaExceeded)),
            (
                403,
                "x is forbidden: unable to create new content in namespace a because it is being terminated",
                Ok(Reason::RuntimeProvisioning),
            ),
            (403, "admission webhook \"w\" denied the request: no", Ok(Reason::PolicyViolation)),
            (403, "User \"u\" cannot patch resource", Ok(Reason::PermissionDenied)),
            (
                422,
                "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                Ok(Reason::PolicyViolation),
            ),
            (
                500,
                "failed to create typed patch object (a/b; …): .spec.x: field not declared in schema",
                Ok(Reason::PolicyViolation),
            ),
            (500, "etcdserver: leader changed", Err("transient")),
            (409, "the object has been modified", Err("conflict")),
            (429, "slow down", Err("transient")),
        ] {
            assert_eq!(judged(code, message), expected, "{code} {message}");
        }
    }
}
