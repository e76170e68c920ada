//! Policies that cannot be deserialized, for instance those of another version of the orchestrator.
//!
//! Such a policy must not count as absent. Its last accepted version, which its status records, stays in force. Without one, no
//! Workload that it may select is admitted: what runs stays, and nothing starts or changes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use orchestra_api::{PlatformPolicy, policy::PlatformPolicySpec};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::{Subject, check, last_good_of, namespace_labels, reading};
use crate::selector::Selector;

/// Policy that cannot be deserialized.
#[derive(Clone, Debug, PartialEq)]
pub struct UnreadablePolicy {
    /// Its name.
    pub name: String,
    /// True if its last accepted version is in force.
    pub in_force: bool,
    /// Namespaces that it may select.
    namespaces: Selector,
    /// Workloads that it may select.
    workloads: Selector,
}

impl UnreadablePolicy {
    fn of(object: &Json, name: &str, in_force: bool) -> Self {
        // A selector that cannot be read may select everything.
        let selector = |field: &str| {
            let given: Option<LabelSelector> = read(object.pointer(&format!("/spec/{field}")));
            Selector::read(given.as_ref()).unwrap_or_default()
        };
        let (namespaces, workloads) = (selector("namespaceSelector"), selector("workloadSelector"));
        Self { name: name.to_owned(), in_force, namespaces, workloads }
    }

    /// True if it may select a Workload.
    pub(crate) fn may_select(&self, subject: &Subject<'_>) -> bool {
        self.namespaces.matches(&namespace_labels(subject)) && self.workloads.matches(subject.labels)
    }

    /// Note for the explanation of a Workload.
    pub(crate) fn note(&self) -> String {
        let Self { name, .. } = self;
        if self.in_force {
            format!("The policy `{name}` cannot be deserialized; its last accepted version is in force.")
        } else {
            format!("The policy `{name}` cannot be deserialized, and no accepted version of it is recorded.")
        }
    }

    /// Message to the author of a Workload that it may select.
    pub(crate) fn message(&self) -> String {
        format!(
            "The policy `{}` cannot be deserialized, so the workload cannot be checked: have the policy corrected or deleted.",
            self.name
        )
    }
}

/// Policies in force, and those that cannot be deserialized, given their objects and in their order. Policies with the name of such an object are its
/// earlier versions.
pub fn resolve(
    mut policies: Vec<PlatformPolicy>,
    unreadable: &[Json],
) -> (Vec<PlatformPolicy>, Vec<UnreadablePolicy>) {
    let mut found = Vec::new();
    for object in unreadable {
        let name = object.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default();
        let earlier = policies.iter().position(|policy| reading::name(policy) == name);
        let earlier = earlier.map(|index| policies.remove(index));
        let recorded: Option<PlatformPolicySpec> = read(object.pointer("/status/inForce"));
        let recorded = recorded.map(|spec| PlatformPolicy::new(name, spec));
        // The recorded version first: it is the same after a restart.
        let mut candidates = recorded.into_iter().chain(earlier.as_ref().map(last_good_of));
        let in_force = candidates.find(|policy| check(policy).is_empty());
        found.push(UnreadablePolicy::of(object, name, in_force.is_some()));
        policies.extend(in_force);
    }
    (policies, found)
}

pub(super) fn read<T: DeserializeOwned>(value: Option<&Json>) -> Option<T> {
    value.and_then(|value| T::deserialize(value).ok())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use orchestra_api::Workload;
    use serde_json::json;

    use super::*;

    fn resolved(policies: &[PlatformPolicy], object: Json) -> (Vec<i32>, bool) {
        let (policies, found) = resolve(policies.to_vec(), &[object]);
        (policies.iter().map(|policy| policy.spec.priority).collect(), found[0].in_force)
    }

    fn policy(spec: Json) -> PlatformPolicy {
        PlatformPolicy::new("a", serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn the_recorded_version_is_in_force_then_the_earlier_one_then_none() {
        let object = |in_force: Json| json!({"metadata": {"name": "a"}, "spec": {"priority": "high"}, "status": {"inForce": in_force}});
        let earlier = [policy(json!({"priority": 1}))];
        let invalid = [policy(json!({"priority": 1, "limits": {"cpu": "x"}}))];
        for (policies, in_force, expected) in [
            (&earlier[..], json!({"priority": 2}), (vec![2], true)),
            (&[], json!({"priority": 2}), (vec![2], true)),
            (&earlier, json!({"priority": "high"}), (vec![1], true)),
            (&earlier, json!({"priority": 2, "limits": {"cpu": "x"}}), (vec![1], true)),
            (&invalid, Json::Null, (vec![], false)),
            (&[], Json::Null, (vec![], false)),
        ] {
            assert_eq!(resolved(policies, object(in_force.clone())), expected, "{policies:?} {in_force}");
        }
    }

    #[test]
    fn an_unreadable_policy_may_select_what_its_readable_selectors_match() {
        let labels = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
        let nothing = BTreeMap::new();
        let workload = Workload::new(
            "web",
            serde_json::from_value(json!({"containers": {"app": {"image": "nginx"}}})).unwrap(),
        );
        let document = crate::validate::validate(&workload).unwrap();
        let subject = Subject {
            namespace: "shop",
            namespace_labels: &nothing,
            labels: &labels,
            document: &document,
            classes: &nothing,
        };
        for (spec, expected) in [
            (json!({"priority": "high"}), true),
            (json!({"workloadSelector": {"matchLabels": {"tier": "gold"}}}), true),
            (json!({"workloadSelector": {"matchLabels": {"tier": "iron"}}}), false),
            (json!({"workloadSelector": 7}), true),
            (json!({"workloadSelector": {"matchExpressions": [{"key": "tier", "operator": "Like"}]}}), true),
            (json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}), true),
            (json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "bank"}}}), false),
            (json!("nothing"), true),
        ] {
            let policy = UnreadablePolicy::of(&json!({"spec": spec}), "a", false);
            assert_eq!(policy.may_select(&subject), expected, "{spec}");
        }
    }
}
