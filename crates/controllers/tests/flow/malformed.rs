//! Malformed objects, as another version or a CRD with a loose schema leaves them.

use axum::http::StatusCode;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams},
};
use orchestra_api::{ConditionType, PlatformPolicy, Reason, crd};
use orchestra_controllers::metrics::Metrics;
use orchestra_testkit::{Matching, Verb};
use serde_json::{Value as Json, json};

use crate::flow::{
    platform::Platform,
    support::{db_workload, web_workload},
};

/// Replaces the schemas of our CRDs by ones that accept any spec and status.
async fn relax_schemas(platform: &Platform) {
    for definition in crd::all() {
        let mut definition: Json = serde_json::to_value(definition).unwrap();
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let mut spec = any.clone();
        // The CRD of claims declares this field as selectable.
        spec["properties"] = json!({"workloadRef": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"name": {"type": "string"}},
        }});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": any}});
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
        let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
        platform.env.install(definition).await;
    }
}

async fn apply_raw(platform: &Platform, plural: &str, kind: &str, name: &str, spec: Json) {
    let resource = ApiResource {
        group: "score.dev".to_owned(),
        version: "v1b1".to_owned(),
        api_version: "score.dev/v1b1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let client = platform.env.client();
    let api: Api<DynamicObject> = match kind {
        "PlatformPolicy" => Api::all_with(client, &resource),
        _ => Api::default_namespaced_with(client, &resource),
    };
    let object = json!({
        "apiVersion": "score.dev/v1b1", "kind": kind,
        "metadata": {"name": name, "labels": {"score.dev/workload": "shop"}}, "spec": spec,
    });
    api.patch(name, &PatchParams::apply("other-manager").force(), &Patch::Apply(object)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_objects_do_not_block_other_workloads() {
    let mut platform = Platform::start().await;
    relax_schemas(&platform).await;
    apply_raw(
        &platform,
        "resourceclaims",
        "ResourceClaim",
        "strange",
        json!({"workloadRef": {"name": "shop"}}),
    )
    .await;
    apply_raw(&platform, "workloadplans", "WorkloadPlan", "strange", json!({"containers": []})).await;
    apply_raw(&platform, "workloadexposures", "WorkloadExposure", "strange", json!({"runtimeClass": {}}))
        .await;
    let elsewhere = json!({"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}});
    let policy = json!({"priority": "high", "namespaceSelector": elsewhere});
    apply_raw(&platform, "platformpolicies", "PlatformPolicy", "strange", policy).await;
    apply_raw(&platform, "workloads", "Workload", "strange", json!({"containers": "none"})).await;
    // The second round is for controllers that start with them.
    for n in 0..2 {
        let name = format!("shop-{n}");
        platform.apply(&name, db_workload(&json!({"type": "postgres"}))).await;
        platform.until_ready(&name).await;
        platform.delete(&name).await;
        platform.until_gone(&name).await;
        platform.start_controllers().await;
    }
    let message = platform
        .until_false("strange", orchestra_api::ConditionType::InputsValid, orchestra_api::Reason::SpecInvalid)
        .await;
    assert!(message.contains("/containers"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_policy_without_an_accepted_version_blocks_workloads_until_it_is_deleted() {
    let mut platform = Platform::start().await;
    relax_schemas(&platform).await;
    apply_raw(&platform, "platformpolicies", "PlatformPolicy", "images", json!({"priority": "high"})).await;
    platform.start_controllers().await;
    platform.apply("shop", web_workload()).await;
    let message = platform.until_false("shop", ConditionType::InputsValid, Reason::PolicyViolation).await;
    assert!(message.starts_with("The policy `images` cannot be deserialized"), "{message}");
    let policies = until_malformed(&platform, "images").await;
    policies.delete("images", &DeleteParams::default()).await.unwrap();
    platform.until_ready("shop").await;
}

/// Waits until a policy reports that it is malformed.
async fn until_malformed(platform: &Platform, policy: &str) -> Api<DynamicObject> {
    let policies =
        Api::<DynamicObject>::all_with(platform.env.client(), &ApiResource::erase::<PlatformPolicy>(&()));
    platform
        .env
        .eventually("the policy reports that it is malformed", async || {
            let policy = policies.get(policy).await.unwrap();
            policy.data["status"]["conditions"][0]["reason"] == json!("Malformed")
        })
        .await;
    policies
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_a_malformed_policy_is_written_again_after_the_api_has_failed() {
    let mut platform = Platform::start().await;
    relax_schemas(&platform).await;
    platform.stop_controllers().await;
    apply_raw(&platform, "platformpolicies", "PlatformPolicy", "images", json!({"priority": "high"})).await;
    let writes = Matching::any().verb(Verb::Patch).path("/apis/score.dev/*/platformpolicies/images/status");
    let failed = platform.env.faults().fail(writes, 1, StatusCode::INTERNAL_SERVER_ERROR);
    platform.start_controllers_with(platform.env.faulty_client(), Metrics::default()).await;
    until_malformed(&platform, "images").await;
    assert!(failed.is_triggered());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_accepted_version_of_a_malformed_policy_stays_in_force_after_a_restart() {
    let mut platform = Platform::start().await;
    relax_schemas(&platform).await;
    let allow = json!({"registries": ["registry.example.org"]});
    platform.policy("images", json!({"allow": allow})).await;
    let policies: Api<PlatformPolicy> = Api::all(platform.env.client());
    platform
        .env
        .eventually("the policy is recorded as accepted", async || {
            let policy = policies.get("images").await.unwrap();
            policy.status.is_some_and(|status| status.in_force.is_some())
        })
        .await;
    let malformed = json!({"allow": allow, "priority": "high"});
    apply_raw(&platform, "platformpolicies", "PlatformPolicy", "images", malformed).await;
    platform.start_controllers().await;
    platform.apply("shop", web_workload()).await;
    let message = platform.until_false("shop", ConditionType::InputsValid, Reason::PolicyViolation).await;
    assert!(message.contains("`registry.example.org`"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_claim_does_not_block_the_deletion_of_its_workload() {
    let platform = Platform::start().await;
    relax_schemas(&platform).await;
    platform.apply("shop", web_workload()).await;
    platform.until_ready("shop").await;
    apply_raw(
        &platform,
        "resourceclaims",
        "ResourceClaim",
        "shop-strange",
        json!({"workloadRef": {"name": "shop"}}),
    )
    .await;
    platform.delete("shop").await;
    platform.until_gone("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_claim_with_a_finalizer_is_named_in_the_status_of_its_deleting_workload() {
    let platform = Platform::start().await;
    relax_schemas(&platform).await;
    platform.apply("shop", web_workload()).await;
    platform.until_ready("shop").await;
    apply_raw(
        &platform,
        "resourceclaims",
        "ResourceClaim",
        "shop-strange",
        json!({"workloadRef": {"name": "shop"}}),
    )
    .await;
    let uid = platform.workloads().get("shop").await.unwrap().metadata.uid;
    let with_finalizer = json!({"metadata": {
        "finalizers": ["example.org/keeper"],
        "ownerReferences": [{"apiVersion": "score.dev/v1b1", "kind": "Workload", "name": "shop", "uid": uid}],
    }});
    let claims: Api<DynamicObject> = Api::default_namespaced_with(
        platform.env.client(),
        &ApiResource::erase::<orchestra_api::ResourceClaim>(&()),
    );
    claims.patch("shop-strange", &PatchParams::default(), &Patch::Merge(with_finalizer)).await.unwrap();
    platform.delete("shop").await;
    let is_named = async || {
        let workload = platform.workloads().get("shop").await.unwrap();
        let conditions = workload.status.unwrap().conditions;
        conditions.iter().filter(|condition| condition.type_ == ConditionType::Ready).any(|condition| {
            condition
                .message
                .contains("`shop-strange` cannot be deserialized and has the finalizer `example.org/keeper`")
        })
    };
    platform.env.eventually("the status names the claim", is_named).await;
    let without_finalizer = json!({"metadata": {"finalizers": null}});
    claims.patch("shop-strange", &PatchParams::default(), &Patch::Merge(without_finalizer)).await.unwrap();
    platform.until_gone("shop").await;
}
