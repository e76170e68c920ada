//! Why the API refuses a write: what concerns the user goes into the status, the rest is tried again.

use kube::{Error, core::Status};
use orchestra_api::Reason;
use orchestra_core::Denied;

use crate::work::Failure;

/// What follows from a refused apply.
pub(crate) fn judge(error: &Error) -> Result<Denied, Failure> {
    match error {
        Error::Api(status) => match status.code {
            403 => Ok(forbidden(status)),
            422 => Ok(invalid(status)),
            // A schema that does not fit is answered so, and trying again does not help.
            500 if status.message.starts_with("failed to create typed patch object") => Ok(invalid(status)),
            _ => Err(failure(error)),
        },
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

fn forbidden(status: &Status) -> Denied {
    let message = status.message.as_str();
    if message.contains("is being terminated") {
        return Denied {
            reason: Reason::RuntimeProvisioning,
            message: "The namespace is being deleted: nothing new is made in it.".to_owned(),
        };
    }
    if message.contains("exceeded quota") {
        let message = format!("There is not enough left in this namespace: {message}");
        return Denied { reason: Reason::QuotaExceeded, message };
    }
    if is_policy(message) {
        return Denied { reason: Reason::PolicyViolation, message: policy(message) };
    }
    let message =
        format!("The platform may not do what is needed; the platform team has to allow it: {message}");
    Denied { reason: Reason::PermissionDenied, message }
}

fn invalid(status: &Status) -> Denied {
    let message = status.message.as_str();
    let message = if is_policy(message) {
        policy(message)
    } else {
        format!("The platform does not take it: {message}")
    };
    Denied { reason: Reason::PolicyViolation, message }
}

/// Whether a policy of the organisation speaks: an admission policy or a webhook.
fn is_policy(message: &str) -> bool {
    message.contains("denied request") || message.contains("denied the request")
}

fn policy(message: &str) -> String {
    format!("A policy of the organisation forbids it: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
