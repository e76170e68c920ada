//! Denial of a write of one of our own kinds.

use orchestra_api::Reason;

use super::Denial;
use crate::decision::Denied;

impl Denial {
    /// Reason and sentence for users about a denied write of a claim, plan or exposure.
    pub fn of_own_write(self, cause: &str) -> Denied {
        let denied = self.describe(cause);
        match self {
            // The orchestrator writes valid objects, so a rule that somebody added rejects it.
            Self::Invalid => Denied { reason: Reason::PolicyViolation, ..denied },
            Self::Terminating | Self::Quota | Self::Policy | Self::Permission => denied,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_read_a_neutral_sentence_and_operators_the_answer_of_the_api() {
        for (denial, cause, reason, message) in [
            (
                Denial::Terminating,
                "workloadplans.score.dev \"web\" is forbidden: because it is being terminated",
                Reason::RuntimeProvisioning,
                "The namespace is being deleted: nothing can be created in it.",
            ),
            (
                Denial::Quota,
                "resourceclaims.score.dev \"web-db\" is forbidden: exceeded quota: small, requested: count/resourceclaims.score.dev=1, used: count/resourceclaims.score.dev=2, limited: count/resourceclaims.score.dev=2",
                Reason::QuotaExceeded,
                "Quota exceeded in this namespace: quota `small`, requested: 1 objects; used: 2 objects; limit: 2 objects. Delete what is no longer used, request less, or ask the platform's administrators for more.",
            ),
            (
                Denial::Permission,
                "workloadplans.score.dev \"web\" is forbidden: User \"system:serviceaccount:a:b\" cannot patch resource \"workloadplans\" in API group \"score.dev\" in the namespace \"shop\"",
                Reason::PermissionDenied,
                "Permission denied: the orchestrator may not create its objects in this namespace; the platform's administrators must grant its role.",
            ),
            (
                Denial::Invalid,
                "WorkloadPlan.score.dev \"web\" is invalid: spec: Invalid value: no plans today",
                Reason::PolicyViolation,
                "Rejected as invalid by the cluster: plan `web` is invalid: spec: Invalid value: no plans today",
            ),
            (
                Denial::Policy,
                "admission webhook \"w.example.org\" denied the request: no databases on Fridays",
                Reason::PolicyViolation,
                "Denied by a policy: no databases on Fridays",
            ),
        ] {
            let denied = denial.of_own_write(cause);
            let expected = Denied { reason, message: message.to_owned(), cause: cause.to_owned() };
            assert_eq!(denied, expected, "{denial:?}");
        }
    }
}
