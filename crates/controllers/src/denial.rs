//! Classification of failed writes: refusals that concern the user go into the status, the rest is retried.

use kube::core::Status;
use orchestra_core::{Denied, denial::Denial};

use crate::error::Error;

/// Refusal of an apply to report, or the error to retry.
pub(crate) fn classify(error: Error) -> Result<Denied, Error> {
    let denied = |status: &Status| Some(Denial::of(status)?.of_own_write(&status.message));
    error.status().and_then(denied).ok_or(error)
}

#[cfg(test)]
mod tests {
    use orchestra_api::Reason;

    use super::*;

    fn classified(code: u16, message: &str) -> Result<Reason, &'static str> {
        let status = Status { code, message: message.to_owned(), ..Status::default() };
        match classify(kube::Error::Api(Box::new(status)).into()) {
            Ok(denied) => Ok(denied.reason),
            Err(error) if error.is_conflict() => Err("conflict"),
            Err(_) => Err("transient"),
        }
    }

    #[test]
    fn denials_are_reported_and_other_errors_are_retried() {
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
            assert_eq!(classified(code, message), expected, "{code} {message}");
        }
    }
}
