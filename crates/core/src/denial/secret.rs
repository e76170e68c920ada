//! Failed request about a Secret. The sentence names the Secret and the key, and never has any content.

use kube::core::Status;

use super::{Denial, NotFound};
use crate::driver::DriverError;

/// Request about a Secret.
#[derive(Clone, Copy, Debug)]
pub struct SecretRequest<'a> {
    /// Verb, such as "read".
    pub verb: &'a str,
    /// Name of the Secret.
    pub name: &'a str,
    /// Key, if the request is about one.
    pub key: Option<&'a str>,
}

impl SecretRequest<'_> {
    /// Error of the request, given the answer of the API; without an answer, the API is unreachable.
    pub fn error(&self, status: Option<&Status>) -> DriverError {
        let Self { verb, name, key } = self;
        let key = key.map(|key| format!(" (key `{key}`)")).unwrap_or_default();
        let secret = format!("the secret `{name}`{key}");
        if status.and_then(NotFound::of) == Some(NotFound::Namespace) {
            let message = format!("Failed to {verb} {secret}: the namespace does not exist.");
            return DriverError::transient(Denial::Terminating.reason(), message);
        }
        let Some((status, denial)) = status.and_then(|status| Some((status, Denial::of(status)?))) else {
            return DriverError::unreachable(format!("Failed to {verb} {secret}; retrying."));
        };
        let message = match denial {
            Denial::Permission => format!(
                "Permission denied: the orchestrator may not {verb} {secret}; the platform's administrators must grant its role in this namespace."
            ),
            // The answer may quote the content.
            Denial::Invalid => format!("Failed to {verb} {secret}: rejected as invalid by the cluster."),
            Denial::Terminating | Denial::Quota | Denial::Policy => {
                format!("Failed to {verb} {secret}: {}", denial.describe(&status.message).message)
            }
        };
        DriverError::transient(denial.reason(), message)
    }
}

#[cfg(test)]
mod tests {
    use orchestra_api::Reason;

    use super::*;
    use crate::driver::DriverErrorKind;

    #[test]
    fn a_failed_request_names_the_secret_and_the_cause_without_content() {
        let request = SecretRequest { verb: "read", name: "db", key: Some("password") };
        let status = |code, message: &str| Status { code, message: message.to_owned(), ..Status::default() };
        for (status, reason, start) in [
            (None, Reason::NetworkUnavailable, "Failed to read the secret `db` (key `password`); retrying."),
            (
                Some(status(403, "User \"u\" cannot get resource \"secrets\"")),
                Reason::PermissionDenied,
                "Permission denied: the orchestrator may not read the secret `db` (key `password`)",
            ),
            (
                Some(status(403, "secrets \"db\" is forbidden: exceeded quota: q")),
                Reason::QuotaExceeded,
                "Failed to read the secret `db` (key `password`): ",
            ),
            (
                Some(status(422, "data: Invalid value: \"hunter2\"")),
                Reason::ProjectionError,
                "Failed to read the secret `db` (key `password`): rejected as invalid by the cluster.",
            ),
            (
                Some(status(404, "namespaces \"a\" not found")),
                Reason::RuntimeProvisioning,
                "Failed to read the secret `db` (key `password`): the namespace does not exist.",
            ),
            (Some(status(500, "etcdserver: leader changed")), Reason::NetworkUnavailable, "Failed to read"),
        ] {
            let DriverError { kind, reason: found, message, .. } = request.error(status.as_ref());
            assert_eq!(kind, DriverErrorKind::Transient, "{message}");
            assert_eq!(found, reason, "{message}");
            assert!(message.starts_with(start), "{message}");
            assert!(!message.contains("hunter2") && !message.contains("etcd"), "{message}");
        }
    }
}
