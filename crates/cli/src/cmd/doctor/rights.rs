//! Who may do what: the caller, and the orchestrator.

use std::collections::BTreeSet;

use futures_util::{StreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use kube::{Api, Client, api::PostParams};
use orchestra_api::{GROUP, SYSTEM_NAMESPACE};
use serde_json::Value as Json;

use super::{super::install::manifests, Check};

/// The account of the orchestrator.
const ACCOUNT: &str = "system:serviceaccount:score-system:score-orchestrator";
/// How many questions are asked at a time.
const AT_A_TIME: usize = 16;
/// How many missing rights are named.
const TOLD: usize = 5;

/// What the caller may do in a namespace.
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
        return Check::ok(name, format!("you may run workloads in the namespace {namespace}"));
    }
    Check::warn(
        name,
        format!("in the namespace {namespace} you may not {}", missing.join(", ")),
        format!(
            "have somebody run `kubectl create rolebinding USER --clusterrole=score-user --user=USER -n {namespace}`"
        ),
    )
}

/// What the orchestrator may do: everything that its roles say.
pub(super) async fn of_orchestrator(client: &Client) -> Check {
    let name = "its rights";
    let asked = stream::iter(granted()).map(|right| async move {
        let allowed = may(client, &right).await;
        (right, allowed)
    });
    let answers: Vec<_> = asked.buffered(AT_A_TIME).collect().await;
    let mut missing = BTreeSet::new();
    for (right, allowed) in &answers {
        match allowed {
            Ok(true) => {}
            Ok(false) => {
                missing.insert(right.told());
            }
            Err(error) => return Check::unknown(name, error),
        }
    }
    if missing.is_empty() {
        return Check::ok(name, format!("the orchestrator has the {} rights that it needs", answers.len()));
    }
    let more = missing.len().saturating_sub(TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let told: Vec<String> = missing.into_iter().take(TOLD).collect();
    Check::fail(
        name,
        format!("the orchestrator may not {}{more}", told.join(", ")),
        "run `orchestra install`, which applies its roles",
    )
}

/// A right, as a role gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    group: String,
    resource: String,
    verb: String,
    /// Only there; everywhere if nothing.
    namespace: Option<String>,
    /// Only this one.
    name: Option<String>,
}

impl Right {
    fn told(&self) -> String {
        let place = self.namespace.as_ref().map(|namespace| format!(" in {namespace}")).unwrap_or_default();
        format!("{} {}{place}", self.verb, self.resource)
    }
}

/// All that the roles of the orchestrator give.
fn granted() -> Vec<Right> {
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
                    all.extend(texts(&rule["verbs"]).into_iter().map(|verb| Right {
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

async fn may(client: &Client, right: &Right) -> kube::Result<bool> {
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (right.resource.as_str(), None),
    };
    let attributes = ResourceAttributes {
        group: Some(right.group.clone()),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(right.verb.clone()),
        namespace: right.namespace.clone(),
        name: right.name.clone(),
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
    fn the_rights_that_are_looked_for_are_those_of_the_roles() {
        let all = granted();
        let has = |verb: &str, group: &str, resource: &str, namespace: Option<&str>| {
            all.iter().any(|right| {
                (
                    right.verb.as_str(),
                    right.group.as_str(),
                    right.resource.as_str(),
                    right.namespace.as_deref(),
                ) == (verb, group, resource, namespace)
            })
        };
        assert!(has("patch", GROUP, "workloads/status", None));
        assert!(has("create", "apps", "deployments", None));
        assert!(has("update", "coordination.k8s.io", "leases", Some(SYSTEM_NAMESPACE)));
        assert!(!has("create", GROUP, "workloads", None), "that is a right of users");
    }
}
