//! Secret values: only in Secrets and in running containers.
//!
//! Unique values pass through everything that can carry a secret: variables, files, sources of volumes, parameters of
//! other resources, failures, a rotation and a deletion. Then the test searches everything readable: every object of
//! every kind with its managedFields, events, metrics, and the log at trace level.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod log;
mod search;

use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use orchestra_api::{ConditionStatus, ConditionType, Reason};
use orchestra_controllers::metrics::Metrics;
use orchestra_testkit::scripted::RunScript;
use serde_json::{Value as Json, json};

use crate::{
    common::{CANARY, Platform},
    search::{AFTER_DELETION, Search},
};

/// Password after the rotation, and the secret of an existing service.
const ROTATED: &str = "canary-r0t4t3d-s3cr3t";
const STATIC: &str = "canary-st4t1c-s3cr3t";

fn spec() -> Json {
    json!({
        "containers": {
            "app": {
                "image": "nginx",
                "variables": {"URL": "postgres://u:${resources.db.password}@${resources.db.host}/", "KEY": "${resources.api.key}"},
                "files": {"/etc/app.conf": {"content": "password=${resources.db.password}\nkey=${resources.api.key}\n"}},
                "volumes": {"/secret": {"source": "${resources.db.password}"}},
            },
            // It uses the same resource without a secret, and starts later.
            "helper": {"image": "busybox", "volumes": {"/data": {"source": "${resources.db}"}}},
        },
        "service": {"ports": {"www": {"port": 80}}},
        "resources": {
            "db": {"type": "postgres"},
            "api": {"type": "service"},
            "cache": {"type": "redis", "params": {
                "seed": "${resources.db.password}", "nested": [{"key": "x${resources.api.key}y"}],
            }},
        },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_values_are_in_secrets_and_nowhere_else() {
    let log = log::capture();
    let env = Platform::environment().await;
    let mut platform = Platform::new(env, "default");
    platform.configure(common::CONFIG).await;
    let metrics = Metrics::default();
    let mut options = platform.options();
    options.metrics = metrics.clone();
    let controllers =
        orchestra_controllers::Controllers::start(platform.env.client(), options).await.unwrap();
    platform.controllers = Some(controllers);
    let search = Search::new(&platform, &metrics, &log, &[CANARY, ROTATED, STATIC]);

    let secrets: Api<Secret> = platform.api();
    let key =
        serde_json::from_value(json!({"metadata": {"name": "static-key"}, "stringData": {"key": STATIC}}));
    secrets.create(&PostParams::default(), &key.unwrap()).await.unwrap();
    platform.apply("web", spec()).await;
    platform.until_ready("web").await;
    let running = platform.runtime.running("default", "web").unwrap();
    assert_eq!(running.variables["app/URL"], format!("postgres://u:{CANARY}@postgres.example.test/"));
    assert_eq!(running.files["app:/etc/app.conf"], format!("password={CANARY}\nkey={STATIC}\n"));
    assert_eq!(running.volumes["app:/secret"], CANARY);
    search.finds_nothing("when ready").await;

    // A rotation replaces the value everywhere.
    let before = revisions(&platform).await;
    platform.provisioner.rotate(ROTATED);
    platform
        .env
        .eventually("the new password runs", async || {
            let running = platform.runtime.running("default", "web")?;
            (running.variables["app/URL"].contains(ROTATED)
                && running.files["app:/etc/app.conf"].contains(ROTATED)
                && running.rollouts == 2)
                .then_some(())
        })
        .await;
    let after = revisions(&platform).await;
    assert_ne!(before, after, "the revisions of the claim and of the plan");
    platform.until_ready("web").await;
    search.finds_nothing("after the rotation").await;

    // Messages of failures.
    let broken = RunScript::Fail(Reason::NetworkUnavailable, "It cannot be reached.".to_owned());
    platform.runtime.script("default", "web", broken);
    platform
        .env
        .eventually("the failure is reported", async || {
            let status = platform.workloads().get("web").await.ok()?.status?;
            status.conditions.iter().any(|found| found.message == "It cannot be reached.").then_some(())
        })
        .await;
    platform.runtime.script("default", "web", RunScript::Run);
    platform.until_ready("web").await;
    secrets.delete("static-key", &DeleteParams::default()).await.unwrap();
    let mut without = spec();
    without["containers"]["app"]["variables"]["MORE"] = json!("more");
    platform.apply("web", without).await;
    let (status, reason) = (ConditionStatus::False, Reason::ProjectionError);
    platform.until("web", ConditionType::RuntimeReady, status, reason).await;
    search.finds_nothing("while it fails").await;

    platform.delete("web").await;
    platform.until_gone("web").await;
    assert_eq!(platform.leftovers().await, Vec::<String>::new());
    search.finds_nothing(AFTER_DELETION).await;
    assert!(log.text().contains("reconcile"), "the log was captured");
}

/// Revisions of the outputs of `db` and of the plan.
async fn revisions(platform: &Platform) -> (Option<String>, String) {
    let claims = platform.claims().list(&kube::api::ListParams::default()).await.unwrap();
    let db = claims.into_iter().find(|claim| claim.spec.key == "db").unwrap();
    let plan = platform.plans().get("web").await.unwrap();
    (db.status.unwrap().outputs_revision, plan.spec.revision)
}
