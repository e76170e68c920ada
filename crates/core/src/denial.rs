//! Denial of a write by a cluster, and the sentence for users.
//!
//! The raw answer names objects of the cluster and belongs into the log of the platform; users get what it means for them.

use kube::core::{Status, response::StatusCause};
use orchestra_api::Reason;

use self::messages::{ended, neutral, quota, required_by_quota, security};
pub use self::retry::{WriteOf, is_gone_or_replaced, is_retried};
use crate::decision::Denied;

/// Cause of a denial in a namespace that is being deleted.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";
/// Words before the cause in the message of a forbidden write.
const FORBIDDEN: &str = " is forbidden: ";
/// Prefix of causes of field validation.
const FIELD_CAUSE: &str = "FieldValue";
/// Prefix of the message of a denial by a webhook.
const WEBHOOK: &str = "admission webhook \"";
/// Endings of causes for a field that an update cannot change. The second one is about the completions of an indexed job.
const IMMUTABLE: [&str; 2] = ["field is immutable", "can only be modified in tandem with spec.parallelism"];

/// Denial of a write by a rule of the cluster. Most are retried, see [`is_retried`]; any other failure is a conflict, or
/// an API that is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The namespace is being deleted.
    Terminating,
    /// A quota is exhausted.
    Quota,
    /// A policy of the organisation forbids it, or a rule of the namespace such as a limit range.
    Policy,
    /// The orchestrator lacks a permission.
    Permission,
    /// The object is invalid.
    Invalid,
}

impl Denial {
    /// Denial that a status means; `None` for any other failure.
    ///
    /// Machine-readable causes decide first, then the reason. The text tells apart what shares the reason `Forbidden`, and finds
    /// the denials of webhooks, which choose their reason and their causes.
    pub fn of(status: &Status) -> Option<Self> {
        let is_terminating = |cause: &StatusCause| cause.reason == NAMESPACE_TERMINATING;
        let message = status.message.as_str();
        if causes(status).iter().any(is_terminating) {
            return Some(Self::Terminating);
        }
        let is_webhook = matches!(status.code, 400..500) && message.starts_with(WEBHOOK);
        if !is_webhook && causes(status).iter().any(is_field) {
            return Some(Self::Invalid);
        }
        match (status.reason.as_str(), status.code) {
            ("Forbidden", _) | ("", 403) => Some(Self::forbidden(message)),
            // A webhook chooses its code and reason, so only the text identifies its denial.
            (_, 400..500) if is_policy(message) => Some(Self::Policy),
            ("Invalid", _) | ("", 422) => Some(Self::Invalid),
            // Answer to an apply that does not match the schema, without a reason; a retry does not help.
            (_, 500) if message.starts_with("failed to create typed patch object") => Some(Self::Invalid),
            _ => None,
        }
    }

    /// Denial that the message of an event about a failed creation means; `None` for any other failure.
    pub fn of_event(message: &str) -> Option<Self> {
        (message.contains(FORBIDDEN) || is_policy(message)).then(|| Self::forbidden(message))
    }

    /// Denial that the message of a forbidden write means. Text of a policy may contain anything, so it is recognised first.
    fn forbidden(message: &str) -> Self {
        if is_policy(message) {
            Self::Policy
        } else if is_permission(message) {
            Self::Permission
        } else if message.contains("is being terminated") {
            Self::Terminating
        } else if message.contains("exceeded quota") {
            Self::Quota
        } else {
            // Limit ranges, quotas that require limits, missing service accounts, unknown priority classes.
            Self::Policy
        }
    }

    /// Reason of the condition.
    pub fn reason(self) -> Reason {
        match self {
            Self::Terminating => Reason::RuntimeProvisioning,
            Self::Quota => Reason::QuotaExceeded,
            Self::Policy => Reason::PolicyViolation,
            Self::Permission => Reason::PermissionDenied,
            Self::Invalid => Reason::ProjectionError,
        }
    }

    /// Reason and sentence for users, about a Workload.
    pub fn describe(self, cause: &str) -> Denied {
        let message = match self {
            Self::Terminating => "The namespace is being deleted: nothing can be created in it.".to_owned(),
            Self::Quota => quota(cause),
            Self::Policy => policy(cause),
            Self::Permission => "Permission denied: the orchestrator may not create its objects in this namespace; the platform's administrators must grant its role.".to_owned(),
            Self::Invalid => format!("Rejected as invalid by the cluster: {}", neutral(cause)),
        };
        Denied { reason: self.reason(), message, cause: cause.to_owned() }
    }
}

/// Subject of a "not found" answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// The object.
    Object,
    /// The namespace of the object.
    Namespace,
    /// The kind of the object: its definition is not installed.
    Kind,
}

impl NotFound {
    /// Subject of a "not found" status; `None` for any other status.
    pub fn of(status: &Status) -> Option<Self> {
        if status.reason != "NotFound" && status.code != 404 {
            return None;
        }
        let kind = status.details.as_ref().map(|details| details.kind.as_str()).unwrap_or_default();
        Some(match kind {
            "namespaces" => Self::Namespace,
            // The answer to an unknown path has no details, or is plain text.
            "" if status.message.contains("namespaces \"") => Self::Namespace,
            "" if is_unknown_path(&status.message) => Self::Kind,
            _ => Self::Object,
        })
    }
}

/// True if the API denied an update only because it changes immutable fields: the object has to be replaced. An update that is
/// also invalid in another way, or denied by a policy, would fail after the deletion, too.
pub fn requires_replacement(status: &Status) -> bool {
    let is_immutable =
        |cause: &StatusCause| is_field(cause) && IMMUTABLE.iter().any(|end| cause.message.ends_with(end));
    let causes = causes(status);
    Denial::of(status) == Some(Denial::Invalid) && !causes.is_empty() && causes.iter().all(is_immutable)
}

/// True if another client changed, created or deleted the object meanwhile: the write succeeds with what is read again.
pub fn is_race(status: &Status) -> bool {
    status.code == 409 || NotFound::of(status) == Some(NotFound::Object)
}

/// Machine-readable causes of a status.
fn causes(status: &Status) -> &[StatusCause] {
    status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default()
}

/// True if a cause is a field that did not pass validation.
fn is_field(cause: &StatusCause) -> bool {
    cause.reason.starts_with(FIELD_CAUSE)
}

fn is_unknown_path(message: &str) -> bool {
    ["could not find the requested resource", "page not found"].iter().any(|sign| message.contains(sign))
}

/// True if a message comes from an admission policy, a webhook, or the security level of a namespace.
fn is_policy(message: &str) -> bool {
    ["denied request", "denied the request", "violates PodSecurity"].iter().any(|sign| message.contains(sign))
}

/// True if a message is about a permission that the orchestrator lacks.
fn is_permission(message: &str) -> bool {
    let is_unauthorized = message.split_once("User \"").is_some_and(|(_, rest)| rest.contains("\" cannot "));
    is_unauthorized || message.contains("attempting to grant RBAC permissions")
}

/// Sentence about a denial by a policy, or by a rule of the namespace or the cluster.
fn policy(message: &str) -> String {
    for sign in ["denied request: ", "denied the request: "] {
        if let Some((_, own)) = message.split_once(sign) {
            return format!("Denied by a policy: {}", own.trim());
        }
    }
    if let Some((_, own)) = message.split_once("violates PodSecurity ") {
        return format!("Denied by a policy: {}", security(own));
    }
    if let Some(sentence) = required_by_quota(message) {
        return sentence;
    }
    if is_policy(message) {
        return format!("Denied by a policy: {}", neutral(message));
    }
    let own = message.split_once(FORBIDDEN).map_or(message, |(_, own)| own);
    format!("Forbidden by the cluster: {}", ended(&neutral(own)))
}

pub(crate) mod messages;
mod own_write;
mod retry;
pub mod secret;
#[cfg(test)]
mod tests;
