//! Placement of Workloads, and moves.

use orchestra_api::{ConditionType, Reason};
use serde_json::json;

use crate::flow::{
    platform::{CONFIG, Platform},
    support::{db_workload, web_workload},
};

async fn runs_on(platform: &Platform, name: &str) -> String {
    platform.until_ready(name).await;
    platform.runtime.running("default", name).unwrap().backend
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_change_never_moves_a_running_workload() {
    let platform = Platform::start().await;
    platform.apply("old", web_workload()).await;
    assert_eq!(runs_on(&platform, "old").await, "here");
    platform.configure(&CONFIG.replace("priority: 5", "priority: 50")).await;
    // The config is in force once a new workload gets the backend of higher priority.
    let mut name = String::new();
    for n in 0.. {
        assert!(n < 50, "the config is not in force");
        name = format!("new-{n}");
        platform.apply(&name, web_workload()).await;
        if runs_on(&platform, &name).await == "there" {
            break;
        }
    }
    platform.idle().await;
    assert_eq!(runs_on(&platform, &name).await, "there");
    assert_eq!(runs_on(&platform, "old").await, "here");
    assert_eq!(platform.runtime.running("default", "old").unwrap().rollouts, 1);
    // A change of the workload itself does not move it, either.
    let mut spec = web_workload();
    spec["containers"]["app"]["image"] = json!("nginx:2");
    platform.apply("old", spec).await;
    assert_eq!(runs_on(&platform, "old").await, "here");
    // The annotation does.
    platform.apply_annotated("old", json!({"score.dev/move": "best"}), web_workload()).await;
    let moved =
        async || platform.runtime.running("default", "old").is_some_and(|running| running.backend == "there");
    platform.env.eventually("it has moved", moved).await;
    platform.until_ready("old").await;
    let plan = platform.plans().get("old").await.unwrap();
    let placement = plan.status.unwrap().placement.unwrap();
    assert_eq!(placement.backend_id, "there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_abandons_data_only_with_the_annotation() {
    let platform = Platform::start().await;
    let spec = || db_workload(&json!({"type": "postgres"}));
    platform.apply("shop", spec()).await;
    assert_eq!(runs_on(&platform, "shop").await, "here");
    platform.apply_annotated("shop", json!({"score.dev/move": "there"}), spec()).await;
    let message = platform.until_false("shop", ConditionType::RuntimeReady, Reason::RuntimeSelecting).await;
    assert!(message.contains("`db`") && message.contains("score.dev/abandon-data"), "{message}");
    assert_eq!(platform.runtime.running("default", "shop").unwrap().backend, "here");
    let annotations = json!({"score.dev/move": "there", "score.dev/abandon-data": "true"});
    platform.apply_annotated("shop", annotations, spec()).await;
    let moved = async || {
        platform.runtime.running("default", "shop").is_some_and(|running| running.backend == "there")
    };
    platform.env.eventually("it has moved", moved).await;
    platform.until_ready("shop").await;
    assert_eq!(platform.claim_of("shop", "db").await.spec.placement.backend_id, "there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unplaceable_workload_names_every_backend_and_gets_no_claims() {
    let platform = Platform::start().await;
    let annotations = json!({"score.dev/requirements": "quantum"});
    platform.apply_annotated("shop", annotations, db_workload(&json!({"type": "postgres"}))).await;
    let message = platform.until_false("shop", ConditionType::RuntimeReady, Reason::RuntimeSelecting).await;
    for part in ["\"here\"", "\"there\"", "quantum"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(platform.claims_of("shop").await, []);
    // A backend with the feature resolves it.
    platform.configure(&CONFIG.replace("features: [fast, big]", "features: [fast, big, quantum]")).await;
    assert_eq!(runs_on(&platform, "shop").await, "there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_profile_makes_the_spec_invalid() {
    let platform = Platform::start().await;
    platform.apply_annotated("shop", json!({"score.dev/profile": "web-servcie"}), web_workload()).await;
    let message = platform.until_false("shop", ConditionType::InputsValid, Reason::SpecInvalid).await;
    assert!(message.contains("web-servcie") && message.contains("`web-service`"), "{message}");
    platform.apply_annotated("shop", json!({"score.dev/profile": "batch-job"}), web_workload()).await;
    platform.until_ready("shop").await;
}
