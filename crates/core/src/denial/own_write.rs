//! Denial of a write of one of our own kinds.

use orchestra_api::Reason;

use super::Denial;
use crate::decision::Denied;

impl Denial {
    /// Reason and sentence about a denied write of a claim, plan or exposure. The message of the API names the object.
    pub fn of_own_write(self, message: &str) -> Denied {
        let (reason, message) = match self {
            Self::Terminating => return self.describe(message),
            Self::Quota => (self.reason(), format!("The quota of this namespace is exceeded: {message}")),
            Self::Permission => {
                (self.reason(), format!("The orchestrator lacks a permission that it needs here: {message}"))
            }
            // The orchestrator writes valid objects, so a rule that somebody added rejects it.
            Self::Invalid => (Reason::PolicyViolation, format!("The API rejected it as invalid: {message}")),
            Self::Policy => {
                (self.reason(), format!("Denied by an admission policy or a rule of the cluster: {message}"))
            }
        };
        Denied { reason, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_write_names_its_cause_and_an_invalid_one_is_due_to_a_policy() {
        for (denial, reason, start) in [
            (Denial::Terminating, Reason::RuntimeProvisioning, "The namespace is being deleted"),
            (Denial::Quota, Reason::QuotaExceeded, "The quota of this namespace is exceeded: x"),
            (Denial::Permission, Reason::PermissionDenied, "The orchestrator lacks a permission"),
            (Denial::Invalid, Reason::PolicyViolation, "The API rejected it as invalid: x"),
            (
                Denial::Policy,
                Reason::PolicyViolation,
                "Denied by an admission policy or a rule of the cluster: x",
            ),
        ] {
            let denied = denial.of_own_write("x");
            assert_eq!(denied.reason, reason, "{denial:?}");
            assert!(denied.message.starts_with(start), "{denied:?}");
        }
    }
}
