//! Permissions of the caller and of the orchestrator.

use std::{collections::BTreeSet, fmt};

use futures_util::{StreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use kube::{Api, Client, api::PostParams};
use orchestra_api::{GROUP, SYSTEM_NAMESPACE};
use serde_json::Value as Json;

use super::{super::install::manifests, Check};

/// Service account of the orchestrator.
const ACCOUNT: &str = "system:serviceaccount:score-system:score-orchestrator";
/// Concurrent access reviews: fast on a distant cluster, and far below the rate limits of an API server.
const MAX_CONCURRENT_REVIEWS: usize = 16;
/// Missing permissions that are listed; more are counted.
const MAX_LISTED: usize = 5;

/// Permissions of the caller in a namespace.
pub(super) async fn of_caller(client: &Client, namespace: &str) -> Check {
    let name = "your rights";
    let wanted =
        [("create", ""), ("patch", ""), ("delete", ""), ("get", "plan"), ("create", "plan"), ("get", "log")];
    let mut missing = Vec::new();
    for (verb, subresource) in wanted {
        let attributes = ResourceAttributes {
            group: Some(GROUP.to_owned()),
            resource: Some("workloads".to_owned()),
            subresource: (!subresource.is_empty()).then(|| subresource.to_owned()),
            verb: Some(verb.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        };
        let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
        let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
        match reviews.create(&PostParams::default(), &review).await {
            Ok(answer) if answer.status.as_ref().is_some_and(|status| status.allowed) => {}
            Ok(_) if subresource.is_empty() => missing.push(format!("{verb} workloads")),
            Ok(_) => missing.push(format!("{verb} workloads/{subresource}")),
            Err(error) => return Check::unknown(name, &error),
        }
    }
    if missing.is_empty() {
        return Check::ok(name, format!("you can run workloads in the namespace {namespace}"));
    }
    Check::warn(
        name,
        format!("in the namespace {namespace} you cannot {}", missing.join(", ")),
        format!(
            "ask an administrator to run `kubectl create rolebinding USER --clusterrole=score-user --user=USER -n {namespace}`"
        ),
    )
}

/// Permissions of the orchestrator: all rules of its roles.
pub(super) async fn of_orchestrator(client: &Client) -> Check {
    let name = "its rights";
    let reviews = stream::iter(required()).map(|permission| async move {
        let allowed = is_allowed(client, &permission).await;
        (permission, allowed)
    });
    let reviews: Vec<_> = reviews.buffered(MAX_CONCURRENT_REVIEWS).collect().await;
    let mut missing = BTreeSet::new();
    for (permission, allowed) in &reviews {
        match allowed {
            Ok(true) => {}
            Ok(false) => {
                missing.insert(permission.to_string());
            }
            Err(error) => return Check::unknown(name, error),
        }
    }
    if missing.is_empty() {
        return Check::ok(name, format!("the orchestrator has all {} permissions", reviews.len()));
    }
    let more = missing.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let listed: Vec<String> = missing.into_iter().take(MAX_LISTED).collect();
    Check::fail(
        name,
        format!("the orchestrator cannot {}{more}", listed.join(", ")),
        "run `orchestra install`, which applies its roles",
    )
}

/// Permission of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    group: String,
    resource: String,
    verb: String,
    /// Namespace; all if `None`.
    namespace: Option<String>,
    /// Object; all if `None`.
    name: Option<String>,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        self.namespace.iter().try_for_each(|namespace| write!(f, " in {namespace}"))
    }
}

/// Permissions of the orchestrator's roles.
fn required() -> Vec<Permission> {
    let objects = manifests::objects(&manifests::Settings::default()).unwrap_or_default();
    let is_bound = |role: &Json| {
        objects.iter().any(|binding| {
            binding["roleRef"]["kind"] == role["kind"]
                && binding["roleRef"]["name"] == role["metadata"]["name"]
                && binding["subjects"][0]["name"] == "score-orchestrator"
        })
    };
    let texts = |value: &Json| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|text| text.as_str().map(ToOwned::to_owned))
            .collect()
    };
    let mut all = Vec::new();
    for role in objects.iter().filter(|object| object["rules"].is_array() && is_bound(object)) {
        let namespace = (role["kind"] == "Role").then(|| SYSTEM_NAMESPACE.to_owned());
        for rule in role["rules"].as_array().into_iter().flatten() {
            let name = texts(&rule["resourceNames"]).pop();
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    all.extend(texts(&rule["verbs"]).into_iter().map(|verb| Permission {
                        group: group.clone(),
                        resource: resource.clone(),
                        verb,
                        namespace: namespace.clone(),
                        name: name.clone(),
                    }));
                }
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

async fn is_allowed(client: &Client, permission: &Permission) -> kube::Result<bool> {
    let (resource, subresource) = match permission.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (permission.resource.as_str(), None),
    };
    let attributes = ResourceAttributes {
        group: Some(permission.group.clone()),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(permission.verb.clone()),
        namespace: permission.namespace.clone(),
        name: permission.name.clone(),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some(ACCOUNT.to_owned()),
        groups: Some(vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{SYSTEM_NAMESPACE}"),
            "system:authenticated".to_owned(),
        ]),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_permissions_are_those_of_the_roles() {
        let all = required();
        let has = |verb: &str, group: &str, resource: &str, namespace: Option<&str>| {
            all.iter().any(|permission| {
                (
                    permission.verb.as_str(),
                    permission.group.as_str(),
                    permission.resource.as_str(),
                    permission.namespace.as_deref(),
                ) == (verb, group, resource, namespace)
            })
        };
        assert!(has("patch", GROUP, "workloads/status", None));
        assert!(has("create", "apps", "deployments", None));
        assert!(has("update", "coordination.k8s.io", "leases", Some(SYSTEM_NAMESPACE)));
        assert!(!has("create", GROUP, "workloads", None), "only users create workloads");
    }
}
