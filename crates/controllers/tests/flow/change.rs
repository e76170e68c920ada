//! Changes of what a Workload depends on: the new comes first, the old goes when nothing that runs uses it.

use orchestra_api::{ConditionType, Reason, claim::Phase};
use orchestra_testkit::scripted::{ProvisionScript, RunScript};
use serde_json::json;

use crate::flow::{observing::with_database, platform::Platform};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dependency_that_is_renamed_is_let_go_once_the_new_version_is_ready() {
    let platform = Platform::start().await;
    platform.apply("shop", with_database(&json!({"type": "postgres"}))).await;
    platform.until_ready("shop").await;
    platform.provisioner.script("redis", ProvisionScript::Make);
    let renamed = json!({
        "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.store.host}"}}},
        "resources": {"store": {"type": "redis"}},
    });
    platform.apply("shop", renamed).await;
    // The new one is asked for; the old one is kept, and what ran runs on.
    platform.until_not("shop", ConditionType::RuntimeReady, Reason::ProjectionError).await;
    let keys = async || platform.claims_of("shop").await.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys().await, ["db", "store"]);
    assert_eq!(platform.runtime.running("default", "shop").unwrap().rollouts, 1);
    // The new version starts; as long as it is not ready, the old one may still be used.
    platform.runtime.script("default", "shop", RunScript::Start);
    platform.provisioner.script("redis", ProvisionScript::Bind);
    platform.until_not("shop", ConditionType::RuntimeReady, Reason::RuntimeProvisioning).await;
    platform.idle().await;
    assert_eq!(keys().await, ["db", "store"]);
    platform.runtime.script("default", "shop", RunScript::Run);
    platform.env.eventually("the old one goes", async || keys().await == ["store"]).await;
    let rows = async || {
        let workload = platform.workloads().get("shop").await.unwrap();
        workload.status.unwrap().claims.into_iter().map(|claim| claim.key).collect::<Vec<_>>()
    };
    platform.env.eventually("its line goes too", async || rows().await == ["store"]).await;
    assert_eq!(platform.provisioner.released().len(), 1);
    assert_eq!(platform.provisioner.instances().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependencies_that_need_each_other_go_in_reverse_order() {
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
    platform.env.eventually("both are gone", async || platform.provisioner.released().len() == 2).await;
    let released: Vec<_> = platform.provisioner.released().into_iter().map(|((_, id), _)| id).collect();
    assert_eq!(released[1], database, "what others need goes last");
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_parameters_is_carried_out_on_the_same_claim() {
    let platform = Platform::start().await;
    let sized = |size: u32| with_database(&json!({"type": "postgres", "params": {"size": size}}));
    platform.apply("shop", sized(1)).await;
    platform.until_ready("shop").await;
    let before = platform.claim_of("shop", "db").await;
    platform.apply("shop", sized(2)).await;
    platform.until_ready("shop").await;
    let after = platform.claim_of("shop", "db").await;
    assert_eq!(after.metadata.uid, before.metadata.uid);
    assert_eq!(after.status.unwrap().observed_generation, after.metadata.generation);
    assert_eq!(after.spec.params.unwrap()["size"], json!(2));
    // Its outputs are the same, so nothing is rolled.
    assert_eq!(platform.runtime.running("default", "shop").unwrap().rollouts, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_class_is_another_dependency_and_the_old_one_goes() {
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
    platform.env.eventually("the old one is gone", classes).await;
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dependency_that_failed_is_tried_again() {
    let platform = Platform::start().await;
    for (at, told) in [
        (Reason::NetworkUnavailable, Reason::NetworkUnavailable),
        (Reason::PermissionDenied, Reason::PermissionDenied),
        (Reason::RuntimeProvisioning, Reason::BindingPending),
    ] {
        let script = ProvisionScript::Fail(at, "It cannot be made now.".to_owned());
        platform.provisioner.script("postgres", script);
        platform.apply("shop", with_database(&json!({"type": "postgres"}))).await;
        platform.until_not("shop", ConditionType::ClaimsReady, told).await;
        let line = platform.workloads().get("shop").await.unwrap().status.unwrap().claims[0].clone();
        assert_eq!((line.phase, line.message.as_str()), (Phase::Binding, "It cannot be made now."));
    }
    let refused = ProvisionScript::Refuse(Reason::QuotaExceeded, "There is none left.".to_owned());
    platform.provisioner.script("postgres", refused);
    platform.until_not("shop", ConditionType::ClaimsReady, Reason::QuotaExceeded).await;
    platform.provisioner.script("postgres", ProvisionScript::Bind);
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_somebody_deletes_is_kept_while_it_is_used() {
    let platform = Platform::start().await;
    platform.apply("shop", with_database(&json!({"type": "postgres"}))).await;
    platform.until_ready("shop").await;
    let claim = platform.claim_of("shop", "db").await.metadata.name.unwrap();
    platform.claims().delete(&claim, &kube::api::DeleteParams::default()).await.unwrap();
    let line = async || platform.workloads().get("shop").await.unwrap().status.unwrap().claims[0].clone();
    platform
        .env
        .eventually("the author is told", async || line().await.message.contains("is kept while"))
        .await;
    // It runs on, and can be changed.
    let mut changed = with_database(&json!({"type": "postgres"}));
    changed["containers"]["app"]["variables"]["GREETING"] = json!("hi");
    let rollouts = platform.runtime.running("default", "shop").unwrap().rollouts;
    platform.apply("shop", changed).await;
    platform
        .env
        .eventually("the change is carried out", async || {
            platform.runtime.running("default", "shop").unwrap().rollouts > rollouts
        })
        .await;
    platform.until_ready("shop").await;
    assert_eq!(platform.provisioner.released().len(), 0);
    // Once the document does without it, it goes.
    platform.apply("shop", json!({"containers": {"app": {"image": "nginx"}}})).await;
    platform.env.eventually("it is released", async || platform.provisioner.released().len() == 1).await;
    platform.until_ready("shop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_an_older_version_needed_is_taken_down_until_it_is_gone() {
    let platform = Platform::start().await;
    let helped = json!({"containers": {"app": {"image": "nginx"}, "helper": {"image": "nginx"}}});
    platform.apply("shop", helped).await;
    platform.until_ready("shop").await;
    platform.runtime.script("default", "shop", RunScript::Linger(2));
    platform.apply("shop", json!({"containers": {"app": {"image": "nginx"}}})).await;
    let noted = async || {
        let plan = platform.plans().get("shop").await.unwrap();
        plan.status.unwrap().inventory.into_iter().map(|item| item.name).collect::<Vec<_>>()
    };
    platform.env.eventually("it is noted no longer", async || noted().await == ["app", "shop"]).await;
}
