//! Policies: enforcement, audit and defaults.

use orchestra_api::{ConditionStatus, ConditionType, Reason};
use serde_json::json;

use crate::flow::{
    platform::Platform,
    support::{condition, db_workload, web_workload},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_violation_is_named_and_the_last_valid_version_keeps_running() {
    let platform = Platform::start().await;
    platform.apply("shop", web_workload()).await;
    platform.until_ready("shop").await;
    let before = platform.plans().get("shop").await.unwrap();
    platform.policy("few", json!({"limits": {"claims": 0}})).await;
    platform.apply("shop", db_workload(&json!({"type": "postgres"}))).await;
    let message = platform.until_false("shop", ConditionType::InputsValid, Reason::PolicyViolation).await;
    assert!(message.contains("`few`") && message.contains("/resources"), "{message}");
    let workload =
        platform.until("shop", ConditionType::Ready, ConditionStatus::False, Reason::PolicyViolation).await;
    let runtime = condition(&workload, ConditionType::RuntimeReady);
    assert_eq!(runtime.status, ConditionStatus::True, "{}", runtime.message);
    assert!(runtime.message.contains("last valid version"), "{}", runtime.message);
    assert_eq!(platform.plans().get("shop").await.unwrap().spec, before.spec);
    assert_eq!(platform.claims_of("shop").await, []);
    // The deletion of the policy admits the workload without a change to it.
    platform.policies().delete("few", &kube::api::DeleteParams::default()).await.unwrap();
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_policy_counts_violations_and_blocks_nothing() {
    let platform = Platform::start().await;
    platform
        .policy("watch", json!({"mode": "Audit", "allow": {"registries": ["registry.example.org"]}}))
        .await;
    platform.apply("shop", web_workload()).await;
    platform.until_ready("shop").await;
    until_counted(&platform, "watch", (1, 1)).await;
}

/// Waits until the status of a policy has these numbers of matched and violating workloads.
async fn until_counted(platform: &Platform, policy: &str, expected: (u32, u32)) {
    let policies = platform.policies();
    platform
        .env
        .eventually(format!("the policy {policy} has counted {expected:?}"), async || {
            let status = policies.get(policy).await.unwrap().status.unwrap_or_default();
            if (status.matched, status.violating) == expected { Ok(true) } else { Err(format!("{status:?}")) }
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_counts_by_the_resolved_profile_and_the_class_of_the_claim() {
    let platform = Platform::start().await;
    platform.policy("classes", json!({"defaults": {"classes": {"postgres": "small"}}})).await;
    platform.idle().await;
    platform.apply("shop", db_workload(&json!({"type": "postgres"}))).await;
    platform.until_ready("shop").await;
    // An existing claim keeps its class when the default changes.
    platform.policy("classes", json!({"defaults": {"classes": {"postgres": "large"}}})).await;
    let large = json!([{"type": "postgres", "class": "large"}]);
    platform.policy("large", json!({"mode": "Audit", "allow": {"resources": large}})).await;
    until_counted(&platform, "large", (1, 1)).await;
    until_counted(&platform, "classes", (1, 0)).await;
    platform.policy("elsewhere", json!({"allow": {"profiles": ["elsewhere"]}})).await;
    platform.until_false("shop", ConditionType::InputsValid, Reason::PolicyViolation).await;
    until_counted(&platform, "elsewhere", (1, 1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policy_defaults_are_planned_and_a_defaulted_class_stays() {
    let platform = Platform::start().await;
    let with_class =
        |class: &str| json!({"defaults": {"classes": {"postgres": class}, "requests": {"memory": "32Mi"}}});
    platform.policy("defaults", with_class("small")).await;
    platform.idle().await;
    platform.apply("shop", db_workload(&json!({"type": "postgres"}))).await;
    platform.until_ready("shop").await;
    let plan = platform.plans().get("shop").await.unwrap();
    assert_eq!(plan.spec.containers["app"].requests.memory.as_deref(), Some("32Mi"));
    assert_eq!(platform.claim_of("shop", "db").await.spec.class, "small");

    platform.policy("defaults", with_class("large")).await;
    platform.apply("later", db_workload(&json!({"type": "postgres"}))).await;
    platform.until_ready("later").await;
    platform.until_ready("shop").await;
    assert_eq!(platform.claim_of("later", "db").await.spec.class, "large");
    let claims = platform.claims_of("shop").await;
    assert_eq!(claims.iter().map(|(_, claim)| claim.spec.class.as_str()).collect::<Vec<_>>(), ["small"]);
    assert_eq!(platform.runtime.running("default", "shop").unwrap().rollouts, 1);
}
