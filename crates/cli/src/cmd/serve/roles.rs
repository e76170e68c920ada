//! Roles of users on the embedded platform, the same as on a cluster, and the right to run programs. Nobody is bound to them,
//! except to `score-published`.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use serde_json::Value as Json;

use super::ServeError;
use crate::cmd::{ManifestError, install::manifests};

/// Files with roles of users and of external controllers. The controllers in this process need none.
const FILES: [&str; 5] = [
    "rbac/user.yaml",
    "rbac/platform.yaml",
    "rbac/published.yaml",
    "rbac/external-provisioner.yaml",
    "rbac/external-runtime.yaml",
];
/// Role that only a platform on a machine needs.
const PROGRAM_RUNNER: &str = include_str!("program-runner.yaml");

/// Roles of the files.
fn roles() -> Result<Vec<Json>, ManifestError> {
    let mut roles = Vec::new();
    for (path, text) in manifests::FILES.iter().filter(|(path, _)| FILES.contains(path)) {
        roles.extend(manifests::documents(path, text)?);
    }
    roles.extend(manifests::documents("program-runner.yaml", PROGRAM_RUNNER)?);
    Ok(roles)
}

/// Applies the roles.
pub(in crate::cmd) async fn apply(client: &Client, params: &PatchParams) -> Result<(), ServeError> {
    for role in roles()? {
        let kind = role["kind"].as_str().unwrap_or_default();
        let resource = ApiResource {
            group: "rbac.authorization.k8s.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "rbac.authorization.k8s.io/v1".to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        let roles: Api<DynamicObject> = match role["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let name = role["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let applied = roles.patch(&name, params, &Patch::Apply(role)).await;
        applied.map_err(ServeError::api("apply the roles of users"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_bound_to_nobody_except_the_one_for_all() {
        let names: Vec<(String, String)> = roles()
            .unwrap()
            .iter()
            .map(|role| {
                let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
                (text(&role["kind"]), text(&role["metadata"]["name"]))
            })
            .collect();
        let expected = [
            ("ClusterRole", "score-user"),
            ("ClusterRole", "score-viewer"),
            ("ClusterRole", "score-platform"),
            ("Role", "score-platform"),
            ("Role", "score-published"),
            ("RoleBinding", "score-published"),
            ("ClusterRole", "score-external-provisioner"),
            ("ClusterRole", "score-external-runtime"),
            ("ClusterRole", "score-program-runner"),
        ];
        assert_eq!(names, expected.map(|(kind, name)| (kind.to_owned(), name.to_owned())));
    }
}
