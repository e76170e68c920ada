//! Messages of the kinds that clients send, from the `generated.proto` and the JSON tags of Kubernetes 1.36.
//!
//! None of them has a quantity, or a value that is an integer or a string.

mod access;
mod core;
mod definition;
mod meta;

use super::message::Message;

/// Kind of the options of a deletion, in the version of the deleted object.
pub(super) const DELETE_OPTIONS: &str = "DeleteOptions";

/// Message of a kind.
pub(super) fn find(api_version: &str, kind: &str) -> Option<Message> {
    Some(match (api_version, kind) {
        (_, DELETE_OPTIONS) => meta::DELETE_OPTIONS,
        ("v1", "ConfigMap") => core::CONFIG_MAP,
        ("v1", "Event") => core::EVENT,
        ("v1", "Namespace") => core::NAMESPACE,
        ("v1", "Secret") => core::SECRET,
        ("v1", "ServiceAccount") => core::SERVICE_ACCOUNT,
        ("coordination.k8s.io/v1", "Lease") => core::LEASE,
        ("events.k8s.io/v1", "Event") => core::EVENT_VIEW,
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => definition::DEFINITION,
        ("authentication.k8s.io/v1", "SelfSubjectReview") => access::SELF_SUBJECT_REVIEW,
        ("authentication.k8s.io/v1", "TokenRequest") => access::TOKEN_REQUEST,
        ("authentication.k8s.io/v1", "TokenReview") => access::TOKEN_REVIEW,
        ("authorization.k8s.io/v1", "LocalSubjectAccessReview" | "SubjectAccessReview") => {
            access::SUBJECT_ACCESS_REVIEW
        }
        ("authorization.k8s.io/v1", "SelfSubjectAccessReview") => access::SELF_SUBJECT_ACCESS_REVIEW,
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview") => access::SELF_SUBJECT_RULES_REVIEW,
        ("rbac.authorization.k8s.io/v1", "Role" | "ClusterRole") => access::ROLE,
        ("rbac.authorization.k8s.io/v1", "RoleBinding" | "ClusterRoleBinding") => access::ROLE_BINDING,
        _ => return None,
    })
}
