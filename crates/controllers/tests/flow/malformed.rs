//! Objects that cannot be read, as another version or a loose definition may leave them: they hold up nobody.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use orchestra_api::{ConditionType, crd};
use serde_json::{Value as Json, json};

use crate::flow::{
    observing::{web, with_database},
    platform::Platform,
};

/// Installs the definitions anew, with nothing said about what is in a spec.
async fn loosen(platform: &Platform) {
    for definition in crd::all() {
        let mut definition: Json = serde_json::to_value(definition).unwrap();
        let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schema = json!({"type": "object", "properties": {"spec": free, "status": free}});
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
        let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
        platform.env.install(definition).await;
    }
}

async fn put(platform: &Platform, plural: &str, kind: &str, name: &str, spec: Json) {
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
    api.patch(name, &PatchParams::apply("somebody").force(), &Patch::Apply(object)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_cannot_be_read_hold_up_nobody() {
    let mut platform = Platform::start().await;
    loosen(&platform).await;
    put(&platform, "resourceclaims", "ResourceClaim", "strange", json!({"workloadRef": 7})).await;
    put(&platform, "workloadplans", "WorkloadPlan", "strange", json!({"containers": []})).await;
    put(&platform, "workloadexposures", "WorkloadExposure", "strange", json!({"runtimeClass": {}})).await;
    put(&platform, "platformpolicies", "PlatformPolicy", "strange", json!({"priority": "high"})).await;
    put(&platform, "workloads", "Workload", "strange", json!({"containers": "none"})).await;
    // Also for controllers that start with them.
    for n in 0..2 {
        let name = format!("shop-{n}");
        platform.apply(&name, with_database(&json!({"type": "postgres"}))).await;
        platform.until_ready(&name).await;
        platform.delete(&name).await;
        platform.until_gone(&name).await;
        platform.begin().await;
    }
    let message = platform
        .until_not("strange", orchestra_api::ConditionType::InputsValid, orchestra_api::Reason::SpecInvalid)
        .await;
    assert!(message.contains("/containers"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_among_its_own_does_not_keep_a_workload_from_going() {
    let platform = Platform::start().await;
    loosen(&platform).await;
    platform.apply("shop", web()).await;
    platform.until_ready("shop").await;
    put(&platform, "resourceclaims", "ResourceClaim", "shop-strange", json!({"workloadRef": 7})).await;
    platform.delete("shop").await;
    platform.until_gone("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_and_is_held_is_named_while_a_workload_goes() {
    let platform = Platform::start().await;
    loosen(&platform).await;
    platform.apply("shop", web()).await;
    platform.until_ready("shop").await;
    put(&platform, "resourceclaims", "ResourceClaim", "shop-strange", json!({"workloadRef": 7})).await;
    let uid = platform.workloads().get("shop").await.unwrap().metadata.uid;
    let held = json!({"metadata": {
        "finalizers": ["example.org/keeper"],
        "ownerReferences": [{"apiVersion": "score.dev/v1b1", "kind": "Workload", "name": "shop", "uid": uid}],
    }});
    let strange: Api<DynamicObject> = Api::default_namespaced_with(
        platform.env.client(),
        &ApiResource::erase::<orchestra_api::ResourceClaim>(&()),
    );
    strange.patch("shop-strange", &PatchParams::default(), &Patch::Merge(held)).await.unwrap();
    platform.delete("shop").await;
    let said = async || {
        let workload = platform.workloads().get("shop").await.unwrap();
        let conditions = workload.status.unwrap().conditions;
        conditions.iter().filter(|condition| condition.type_ == ConditionType::Ready).any(|condition| {
            condition.message.contains("`shop-strange` cannot be read, and `example.org/keeper` holds it")
        })
    };
    platform.env.eventually("the author is told", said).await;
    let free = json!({"metadata": {"finalizers": null}});
    strange.patch("shop-strange", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
    platform.until_gone("shop").await;
}
