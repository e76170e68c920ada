//! Objects of a user: a service account in `score-users`, a role that lets it renew its own token, and role bindings. All have a
//! label with the name of the user; an object without it is never changed.

use k8s_openapi::api::{
    core::v1::{Namespace, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use kube::Resource;
use orchestra_api::{USERS_NAMESPACE, label};
use serde_json::{Value as Json, json};

use super::account_user;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Annotation of a service account: validity of its tokens.
const TOKEN_SECONDS: &str = "score.dev/token-seconds";

/// Service account of a user.
pub(super) fn account(user: &str, token_seconds: i64) -> Json {
    let mut metadata = metadata(user, USERS_NAMESPACE, user);
    metadata["annotations"] = json!({TOKEN_SECONDS: token_seconds.to_string()});
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
}

/// Validity of the tokens of a user.
pub(super) fn token_seconds(account: &ServiceAccount) -> Option<i64> {
    account.metadata.annotations.as_ref()?.get(TOKEN_SECONDS)?.parse().ok()
}

/// Namespace; with the label if it was created for a user alone.
pub(super) fn namespace(name: &str, user: Option<&str>) -> Json {
    let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    if let Some(user) = user {
        namespace["metadata"]["labels"] = json!({label::USER: user});
    }
    namespace
}

/// Name of the role and binding that let a user renew the own token.
pub(super) fn renewal_name(user: &str) -> String {
    format!("score-token:{user}")
}

/// Role that lets a user renew the own token, and nobody else's.
pub(super) fn renewal_role(user: &str) -> Json {
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "Role",
        "metadata": metadata(user, USERS_NAMESPACE, &renewal_name(user)),
        "rules": [{
            "apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": [user], "verbs": ["create"],
        }],
    })
}

/// Binding of that role.
pub(super) fn renewal_binding(user: &str) -> Json {
    binding(user, USERS_NAMESPACE, &renewal_name(user), "Role", &renewal_name(user))
}

/// Name of the binding of a user to a cluster role.
pub(super) fn access_name(user: &str, role: &str) -> String {
    format!("score-user:{user}:{role}")
}

/// Binding of a user to a cluster role in a namespace.
pub(super) fn access_binding(user: &str, namespace: &str, role: &str) -> Json {
    binding(user, namespace, &access_name(user, role), "ClusterRole", role)
}

fn binding(user: &str, namespace: &str, name: &str, kind: &str, role: &str) -> Json {
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
        "metadata": metadata(user, namespace, name),
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "namespace": USERS_NAMESPACE, "name": user}],
    })
}

fn metadata(user: &str, namespace: &str, name: &str) -> Json {
    json!({"namespace": namespace, "name": name, "labels": {label::USER: user}})
}

/// User that an object belongs to.
pub(super) fn user_of<K: Resource>(object: &K) -> Option<&str> {
    object.meta().labels.as_ref()?.get(label::USER).map(String::as_str)
}

/// True if a binding gives rights to a user, also under the name that the API gives it.
pub(super) fn binds(
    subjects: Option<&Vec<k8s_openapi::api::rbac::v1::Subject>>,
    namespace: &str,
    user: &str,
) -> bool {
    subjects.into_iter().flatten().any(|subject| match subject.kind.as_str() {
        "ServiceAccount" => {
            subject.name == user && subject.namespace.as_deref().unwrap_or(namespace) == USERS_NAMESPACE
        }
        "User" => subject.name == account_user(user),
        _ => false,
    })
}

/// Kinds that `orchestra user` writes, with a name for messages.
pub(super) trait Written: Resource<DynamicType = ()> {
    /// Name in messages.
    const SHOWN: &'static str;
}

impl Written for Namespace {
    const SHOWN: &'static str = "namespace";
}

impl Written for ServiceAccount {
    const SHOWN: &'static str = "service account";
}

impl Written for Role {
    const SHOWN: &'static str = "role";
}

impl Written for RoleBinding {
    const SHOWN: &'static str = "role binding";
}
