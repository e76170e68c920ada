//! Changed dependencies: the new claim is bound first, the old one is deleted when the running version does not use it.

use orchestra_api::{ConditionType, Reason, claim::Phase};
use orchestra_testkit::scripted::{ProvisionScript, RunScript};
use serde_json::json;

use crate::flow::{platform::Platform, support::db_workload};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_claim_of_a_renamed_dependency_is_deleted_once_the_new_version_is_ready() {
    let platform = Platform::start().await;
    platform.apply("shop", db_workload(&json!({"type": "postgres"}))).await;
    platform.until_ready("shop").await;
    platform.provisioner.script("redis", ProvisionScript::Make);
    let renamed = json!({
        "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.store.host}"}}},
        "resources": {"store": {"type": "redis"}},
    });
    platform.apply("shop", renamed).await;
    // The new claim exists, the old one is kept, and the old version keeps running.
    platform.until_false("shop", ConditionType::RuntimeReady, Reason::ProjectionError).await;
    let keys = async || platform.claims_of("shop").await.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys().await, ["db", "store"]);
    assert_eq!(platform.runtime.running("default", "shop").unwrap().rollouts, 1);
    // While the new version is not ready, the old version may still use the old claim.
    platform.runtime.script("default", "shop", RunScript::Start);
    platform.provisioner.script("redis", ProvisionScript::Bind);
    platform.until_false("shop", ConditionType::RuntimeReady, Reason::RuntimeProvisioning).await;
    platform.idle().await;
    assert_eq!(keys().await, ["db", "store"]);
    platform.runtime.script("default", "shop", RunScript::Run);
    platform.env.eventually("the old claim is deleted", async || keys().await == ["store"]).await;
    let rows = async || {
        let workload = platform.workloads().get("shop").await.unwrap();
        workload.status.unwrap().claims.into_iter().map(|claim| claim.key).collect::<Vec<_>>()
    };
    platform.env.eventually("its row of the status is removed", async || rows().await == ["store"]).await;
    assert_eq!(platform.provisioner.released().len(), 1);
    assert_eq!(platform.provisioner.instances().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependent_claims_are_deleted_in_reverse_order() {
    let platform = Platform::start().await;
    let chained = json!({
        "containers": {"app": {"image": "nginx"}},
        "resources": {
            "db": {"type": "postgres"},
            "cache": {"type": "redis", "params": {"at": "${resources.db.host}"}},
        },
    });
    platform.apply("shop", chained).await;
    platform.until_ready("shop").await;
    let database =
        platform.claim_of("shop", "db").await.metadata.labels.unwrap()["score.dev/instance"].clone();
    platform.apply("shop", json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.env.eventually("both are released", async || platform.provisioner.released().len() == 2).await;
    let released: Vec<_> = platform.provisioner.released().into_iter().map(|((_, id), _)| id).collect();
    assert_eq!(released[1], database, "the dependency is released last");
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_parameters_update_the_same_claim() {
    let platform = Platform::start().await;
    let sized = |size: u32| db_workload(&json!({"type": "postgres", "params": {"size": size}}));
    platform.apply("shop", sized(1)).await;
    platform.until_ready("shop").await;
    let before = platform.claim_of("shop", "db").await;
    platform.apply("shop", sized(2)).await;
    platform.until_ready("shop").await;
    let after = platform.claim_of("shop", "db").await;
    assert_eq!(after.metadata.uid, before.metadata.uid);
    assert_eq!(after.status.unwrap().observed_generation, after.metadata.generation);
    assert_eq!(after.spec.params.unwrap()["size"], json!(2));
    // The outputs are unchanged: no rollout.
    assert_eq!(platform.runtime.running("default", "shop").unwrap().rollouts, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_class_makes_a_new_claim_and_deletes_the_old_one() {
    let platform = Platform::start().await;
    let of_class = |class: &str| {
        json!({
            "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.cache.host}"}}},
            "resources": {
                "db": {"type": "postgres", "class": class},
                "cache": {"type": "redis", "params": {"at": "${resources.db.host}"}},
            },
        })
    };
    platform.apply("shop", of_class("small")).await;
    platform.until_ready("shop").await;
    platform.apply("shop", of_class("large")).await;
    platform.until_ready("shop").await;
    let classes = async || {
        let claims = platform.claims_of("shop").await;
        let classes: Vec<_> =
            claims.into_iter().map(|(key, claim)| format!("{key} {}", claim.spec.class)).collect();
        if classes == ["cache default", "db large"] { Ok(true) } else { Err(format!("{classes:?}")) }
    };
    platform.env.eventually("the old claim is gone", classes).await;
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_provision_is_retried() {
    let platform = Platform::start().await;
    for (cause, reported) in [
        (Reason::NetworkUnavailable, Reason::NetworkUnavailable),
        (Reason::PermissionDenied, Reason::PermissionDenied),
        (Reason::RuntimeProvisioning, Reason::BindingPending),
    ] {
        let script = ProvisionScript::Fail(cause, "It cannot be made now.".to_owned());
        platform.provisioner.script("postgres", script);
        platform.apply("shop", db_workload(&json!({"type": "postgres"}))).await;
        platform.until_false("shop", ConditionType::ClaimsReady, reported).await;
        let row = platform.workloads().get("shop").await.unwrap().status.unwrap().claims[0].clone();
        assert_eq!((row.phase, row.message.as_str()), (Phase::Binding, "It cannot be made now."));
    }
    let refused = ProvisionScript::Refuse(Reason::QuotaExceeded, "There is none left.".to_owned());
    platform.provisioner.script("postgres", refused);
    platform.until_false("shop", ConditionType::ClaimsReady, Reason::QuotaExceeded).await;
    platform.provisioner.script("postgres", ProvisionScript::Bind);
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_deleted_by_a_user_is_kept_while_in_use() {
    let platform = Platform::start().await;
    platform.apply("shop", db_workload(&json!({"type": "postgres"}))).await;
    platform.until_ready("shop").await;
    let claim = platform.claim_of("shop", "db").await.metadata.name.unwrap();
    platform.claims().delete(&claim, &kube::api::DeleteParams::default()).await.unwrap();
    let row = async || platform.workloads().get("shop").await.unwrap().status.unwrap().claims[0].clone();
    platform
        .env
        .eventually("the status shows it", async || {
            row().await.message.contains("kept while the running version uses it")
        })
        .await;
    // The workload keeps running and can be changed.
    let mut changed = db_workload(&json!({"type": "postgres"}));
    changed["containers"]["app"]["variables"]["GREETING"] = json!("hi");
    let rollouts = platform.runtime.running("default", "shop").unwrap().rollouts;
    platform.apply("shop", changed).await;
    platform
        .env
        .eventually("the change is rolled out", async || {
            platform.runtime.running("default", "shop").unwrap().rollouts > rollouts
        })
        .await;
    platform.until_ready("shop").await;
    assert_eq!(platform.provisioner.released().len(), 0);
    // The claim is released once the workload no longer refers to it.
    platform.apply("shop", json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.env.eventually("it is released", async || platform.provisioner.released().len() == 1).await;
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_an_older_version_are_pruned_until_they_are_gone() {
    let platform = Platform::start().await;
    let helped = json!({"containers": {"app": {"image": "nginx"}, "helper": {"image": "nginx"}}});
    platform.apply("shop", helped).await;
    platform.until_ready("shop").await;
    platform.runtime.script("default", "shop", RunScript::Linger(2));
    platform.apply("shop", json!({"containers": {"app": {"image": "nginx"}}})).await;
    let recorded = async || {
        let plan = platform.plans().get("shop").await.unwrap();
        plan.status.unwrap().inventory.into_iter().map(|item| item.name).collect::<Vec<_>>()
    };
    platform.env.eventually("the helper is pruned", async || recorded().await == ["app", "shop"]).await;
}
