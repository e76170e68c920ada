//! Why a cluster refuses a write, and what users are told of it.
//!
//! What a cluster answers speaks of its own objects; users are told what it means for them. The raw answer belongs into
//! the log of the platform.

use orchestra_api::Reason;

use crate::{
    decision::Denied,
    observe::kubernetes::words::{neutral, quota, security},
};

/// Why a cluster refuses a write for good. Everything else may work later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The namespace is being deleted.
    Terminating,
    /// There is not enough left.
    Quota,
    /// A policy of the organisation forbids it.
    Policy,
    /// The platform lacks a right.
    Permission,
    /// What was sent is not taken.
    Invalid,
}

impl Denial {
    /// What an answer means; `None` if it may work later.
    pub fn of(code: u16, message: &str) -> Option<Self> {
        match code {
            403 => Some(Self::forbidden(message)),
            422 if is_policy(message) => Some(Self::Policy),
            422 => Some(Self::Invalid),
            // A schema that does not fit is answered so, and trying again does not help.
            500 if message.starts_with("failed to create typed patch object") => Some(Self::Invalid),
            _ => None,
        }
    }

    /// What a message about something forbidden means, whoever passes it on.
    pub fn forbidden(message: &str) -> Self {
        if message.contains("is being terminated") {
            Self::Terminating
        } else if message.contains("exceeded quota") || message.contains("failed quota") {
            Self::Quota
        } else if is_policy(message) {
            Self::Policy
        } else {
            Self::Permission
        }
    }

    /// In a word.
    pub fn reason(self) -> Reason {
        match self {
            Self::Terminating => Reason::RuntimeProvisioning,
            Self::Quota => Reason::QuotaExceeded,
            Self::Policy => Reason::PolicyViolation,
            Self::Permission => Reason::PermissionDenied,
            Self::Invalid => Reason::ProjectionError,
        }
    }

    /// In a neutral sentence, of something that is to run.
    pub fn told(self, message: &str) -> Denied {
        let message = match self {
            Self::Terminating => "The namespace is being deleted: nothing new is made in it.".to_owned(),
            Self::Quota => quota(message),
            Self::Policy => format!("A policy of the organisation forbids it: {}", own_words(message)),
            Self::Permission => "The platform may not do what is needed to run it; the platform team has to give the orchestrator its role in this namespace.".to_owned(),
            Self::Invalid => format!("The cluster does not take it as it is: {}", neutral(message)),
        };
        Denied { reason: self.reason(), message }
    }
}

/// Whether a policy of the organisation speaks: an admission policy, a webhook, or the security level of a namespace.
fn is_policy(message: &str) -> bool {
    ["denied request", "denied the request", "violates PodSecurity"].iter().any(|sign| message.contains(sign))
}

/// What the policy itself says.
fn own_words(message: &str) -> String {
    for sign in ["denied request: ", "denied the request: "] {
        if let Some((_, own)) = message.split_once(sign) {
            return own.trim().to_owned();
        }
    }
    match message.split_once("violates PodSecurity ") {
        Some((_, own)) => security(own),
        None => neutral(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_the_user_is_told_and_the_rest_is_tried_again() {
        for (code, message, expected) in [
            (
                403,
                "deployments.apps is forbidden: exceeded quota: q, requested: count=1",
                Some(Denial::Quota),
            ),
            (
                403,
                "x is forbidden: unable to create new content in namespace a because it is being terminated",
                Some(Denial::Terminating),
            ),
            (403, "admission webhook \"w\" denied the request: no", Some(Denial::Policy)),
            (
                403,
                "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true",
                Some(Denial::Policy),
            ),
            (403, "User \"u\" cannot patch resource", Some(Denial::Permission)),
            (422, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", Some(Denial::Policy)),
            (
                422,
                "Deployment.apps \"x\" is invalid: spec.replicas: Invalid value: -1",
                Some(Denial::Invalid),
            ),
            (
                500,
                "failed to create typed patch object (a/b; …): .spec.x: field not declared in schema",
                Some(Denial::Invalid),
            ),
            (500, "etcdserver: leader changed", None),
            (409, "the object has been modified", None),
            (429, "slow down", None),
        ] {
            assert_eq!(Denial::of(code, message), expected, "{code} {message}");
        }
    }

    #[test]
    fn a_policy_speaks_in_its_own_words() {
        let message = "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: every workload needs the label `team`";
        assert_eq!(
            Denial::Policy.told(message).message,
            "A policy of the organisation forbids it: every workload needs the label `team`"
        );
        let message = "pods \"x-7\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true (pod or container \"web\" must set securityContext.runAsNonRoot=true)";
        assert_eq!(
            Denial::Policy.told(message).message,
            "A policy of the organisation forbids it: this namespace allows only programs that do not run as root; use an image that runs as another user than root, and ask the platform team to run it with these limits, or to allow more here."
        );
    }
}
