//! Name conflicts with objects of other owners, which are never changed.

use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use orchestra_api::{ConditionType, Reason, name};
use serde_json::json;

use crate::flow::{
    platform::Platform,
    support::{db_workload, web_workload},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_plan_or_claim_is_neither_adopted_nor_deleted() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    let claim_name = name::claim("shop", "db", "postgres", "default", None);
    let claim = json!({
        "apiVersion": "score.dev/v1b1", "kind": "ResourceClaim", "metadata": {"name": claim_name},
        "spec": {
            "workloadRef": {"name": "shop", "uid": "of-another"}, "key": "db", "type": "queue", "class": "default",
            "placement": {"runtimeClass": "other", "backendId": "other"}, "deprovisionPolicy": "Delete",
        },
    });
    let params = PatchParams::apply("other-manager");
    let claim = platform.claims().patch(&claim_name, &params, &Patch::Apply(claim)).await.unwrap();
    let plan = json!({
        "apiVersion": "score.dev/v1b1", "kind": "WorkloadPlan", "metadata": {"name": "web"},
        "spec": {
            "workloadRef": {"name": "web", "uid": "of-another"}, "observedWorkloadGeneration": 1, "revision": "r",
            "runtimeClass": "other", "backendId": "other", "profile": "other", "kind": "Service",
            "containers": {"app": {"image": "nginx"}},
        },
    });
    let plan = platform.plans().patch("web", &params, &Patch::Apply(plan)).await.unwrap();
    platform.start_controllers().await;
    platform.apply("shop", db_workload(&json!({"type": "postgres"}))).await;
    platform.apply("web", web_workload()).await;
    platform.until_false("shop", ConditionType::ClaimsReady, Reason::BindingPending).await;
    let message = platform.until_false("web", ConditionType::RuntimeReady, Reason::RuntimeProvisioning).await;
    assert!(message.contains("earlier workload of this name"), "{message}");
    platform.idle().await;
    // The deletion of the Workloads leaves them alone, too.
    for name in ["shop", "web"] {
        platform.delete(name).await;
        platform.until_gone(name).await;
    }
    platform.idle().await;
    let kept = platform.claims().get(&claim_name).await.unwrap();
    assert_eq!((kept.uid(), kept.resource_version()), (claim.uid(), claim.resource_version()));
    let kept = platform.plans().get("web").await.unwrap();
    assert_eq!((kept.uid(), kept.resource_version()), (plan.uid(), plan.resource_version()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workloads_with_colliding_claim_names_do_not_share_claims() {
    let platform = Platform::start().await;
    let using = |key: &str| {
        let mut spec = json!({"containers": {"app": {"image": "nginx"}}, "resources": {}});
        spec["containers"]["app"]["variables"] = json!({"HOST": format!("${{resources.{key}.host}}")});
        spec["resources"][key] = json!({"type": "postgres"});
        spec
    };
    platform.apply("aa-bb", using("cc")).await;
    platform.apply("aa", using("bb-cc")).await;
    platform.until_ready("aa-bb").await;
    platform.until_ready("aa").await;
    assert_eq!(platform.provisioner.instances().len(), 2);
    platform.workloads().delete("aa", &DeleteParams::default()).await.unwrap();
    platform.until_gone("aa").await;
    platform.until_ready("aa-bb").await;
    assert_eq!(platform.provisioner.instances().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn annotations_of_other_tools_are_not_part_of_the_score_metadata() {
    let mut platform = Platform::start().await;
    let spec = json!({"containers": {"app": {"image": "nginx", "variables": {"NOTE": "${metadata.annotations.note}"}}}});
    platform.apply("shop", spec).await;
    platform.until_false("shop", ConditionType::RuntimeReady, Reason::ProjectionError).await;
    let note = json!({"metadata": {"annotations": {"note": "of a tool"}}});
    let tool = PatchParams { field_manager: Some("tool".to_owned()), ..PatchParams::default() };
    platform.workloads().patch("shop", &tool, &Patch::Merge(note)).await.unwrap();
    platform.idle().await;
    platform.until_false("shop", ConditionType::RuntimeReady, Reason::ProjectionError).await;
    platform.stop_controllers().await;
}
