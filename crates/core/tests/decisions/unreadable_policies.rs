//! Policies that cannot be deserialized, or are invalid.

use orchestra_api::{ConditionType, PlatformPolicy, Reason, workload::WorkloadStatus};
use serde_json::{Value as Json, json};

use crate::decisions::fixture::Fixture;

fn document(image: &str) -> Json {
    json!({"containers": {"app": {"image": image}}})
}

fn unreadable(selector: &Json, in_force: &Json) -> Vec<Json> {
    let spec = json!({"priority": "high", "workloadSelector": selector});
    vec![json!({"metadata": {"name": "images"}, "spec": spec, "status": {"inForce": in_force}})]
}

fn inputs(status: &WorkloadStatus) -> (Reason, &str) {
    let inputs = status.conditions.iter().find(|found| found.type_ == ConditionType::InputsValid).unwrap();
    (inputs.reason, &inputs.message)
}

#[test]
fn a_workload_that_an_unreadable_policy_may_select_is_not_admitted() {
    let mut fixture = Fixture::with(document("nginx"));
    fixture.unreadable_policies = unreadable(&json!({}), &Json::Null);
    let status = fixture.settle();
    let message = "The policy `images` cannot be deserialized, so the workload cannot be checked: have the policy corrected or deleted.";
    assert_eq!(inputs(&status), (Reason::PolicyViolation, message));
    assert_eq!(fixture.plan, None);
    fixture.unreadable_policies = Vec::new();
    assert_eq!(inputs(&fixture.settle()).0, Reason::Succeeded);
}

#[test]
fn the_running_version_stays_while_a_policy_is_unreadable() {
    let mut fixture = Fixture::with(document("nginx"));
    fixture.settle();
    let plan = fixture.plan.clone();
    fixture.unreadable_policies = unreadable(&json!({}), &Json::Null);
    fixture.settle();
    assert_eq!(fixture.plan, plan);
    fixture.write(json!({}), json!({}), document("httpd"));
    fixture.settle();
    assert_eq!(fixture.plan, plan);
}

#[test]
fn a_workload_that_an_unreadable_policy_cannot_select_is_admitted() {
    let mut fixture = Fixture::with(document("nginx"));
    fixture.unreadable_policies = unreadable(&json!({"matchLabels": {"tier": "gold"}}), &Json::Null);
    assert_eq!(inputs(&fixture.settle()).0, Reason::Succeeded);
}

#[test]
fn the_last_accepted_version_of_an_unreadable_policy_is_enforced() {
    let accepted = json!({"allow": {"registries": ["registry.example.org"]}});
    for (image, expected) in
        [("registry.example.org/shop", Reason::Succeeded), ("nginx", Reason::PolicyViolation)]
    {
        let mut fixture = Fixture::with(document(image));
        fixture.unreadable_policies = unreadable(&json!({}), &accepted);
        let status = fixture.settle();
        assert_eq!(inputs(&status).0, expected);
        assert!(!inputs(&status).1.contains("deserialized"), "{status:?}");
    }
}

#[test]
fn a_workload_that_an_invalid_policy_may_select_is_not_admitted_unless_a_version_of_it_was_accepted() {
    let policy = |status: Json| {
        let mut policy = PlatformPolicy::new(
            "images",
            serde_json::from_value(json!({
                "workloadSelector": {"matchLabels": {"tier": "gold"}}, "limits": {"cpu": "many"},
            }))
            .unwrap(),
        );
        policy.status = serde_json::from_value(status).unwrap();
        policy
    };
    let message = "The policy `images` is invalid, so the workload cannot be checked: have the policy corrected or deleted.";
    let accepted = json!({"inForce": {"limits": {"cpu": "2"}}});
    for (tier, status, expected) in
        [("gold", Json::Null, Some(message)), ("iron", Json::Null, None), ("gold", accepted, None)]
    {
        let mut fixture = Fixture::with(document("nginx"));
        let limited =
            json!({"containers": {"app": {"image": "nginx", "resources": {"limits": {"cpu": "1"}}}}});
        fixture.write(json!({"tier": tier}), json!({}), limited);
        fixture.policies = vec![policy(status)];
        let status = fixture.settle();
        let (reason, found) = inputs(&status);
        assert_eq!(reason == Reason::PolicyViolation, expected.is_some(), "{tier} {found}");
        assert!(expected.is_none_or(|expected| found == expected), "{found}");
    }
}

#[test]
fn an_invalid_policy_that_only_audits_does_not_block() {
    let mut fixture = Fixture::with(document("nginx"));
    let spec = json!({"mode": "Audit", "limits": {"cpu": "many"}});
    fixture.policies = vec![PlatformPolicy::new("sizes", serde_json::from_value(spec).unwrap())];
    assert_eq!(inputs(&fixture.settle()).0, Reason::Succeeded);
}
