//! Where Workloads run, and when they move.

use orchestra_api::{ConditionType, Reason};
use serde_json::json;

use crate::flow::{
    observing::{web, with_database},
    platform::{DOCUMENT, Platform},
};

async fn runs_on(platform: &Platform, name: &str) -> String {
    platform.until_ready(name).await;
    platform.runtime.running("default", name).unwrap().backend
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_of_the_document_never_moves_what_runs() {
    let platform = Platform::start().await;
    platform.apply("old", web()).await;
    assert_eq!(runs_on(&platform, "old").await, "here");
    platform.configure(&DOCUMENT.replace("priority: 5", "priority: 50")).await;
    // Whoever comes now goes to the better place, so the document is in force.
    let mut name = String::new();
    for n in 0.. {
        assert!(n < 50, "the document is not taken");
        name = format!("new-{n}");
        platform.apply(&name, web()).await;
        if runs_on(&platform, &name).await == "there" {
            break;
        }
    }
    platform.idle().await;
    assert_eq!(runs_on(&platform, &name).await, "there");
    assert_eq!(runs_on(&platform, "old").await, "here");
    assert_eq!(platform.runtime.running("default", "old").unwrap().rollouts, 1);
    // Also a change of the workload itself is no reason to move.
    let mut spec = web();
    spec["containers"]["app"]["image"] = json!("nginx:2");
    platform.apply("old", spec).await;
    assert_eq!(runs_on(&platform, "old").await, "here");
    // The annotation is.
    platform.apply_annotated("old", json!({"score.dev/move": "best"}), web()).await;
    let moved =
        async || platform.runtime.running("default", "old").is_some_and(|running| running.backend == "there");
    platform.env.eventually("it has moved", moved).await;
    platform.until_ready("old").await;
    let plan = platform.plans().get("old").await.unwrap();
    let placement = plan.status.unwrap().placement.unwrap();
    assert_eq!(placement.backend_id, "there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_is_left_behind_only_if_the_author_says_so() {
    let platform = Platform::start().await;
    let spec = || with_database(&json!({"type": "postgres"}));
    platform.apply("shop", spec()).await;
    assert_eq!(runs_on(&platform, "shop").await, "here");
    platform.apply_annotated("shop", json!({"score.dev/move": "there"}), spec()).await;
    let message = platform.until_not("shop", ConditionType::RuntimeReady, Reason::RuntimeSelecting).await;
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
async fn nowhere_to_run_is_said_with_every_place_and_asks_for_nothing() {
    let platform = Platform::start().await;
    let annotations = json!({"score.dev/requirements": "quantum"});
    platform.apply_annotated("shop", annotations, with_database(&json!({"type": "postgres"}))).await;
    let message = platform.until_not("shop", ConditionType::RuntimeReady, Reason::RuntimeSelecting).await;
    for part in ["\"here\"", "\"there\"", "quantum"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(platform.claims_of("shop").await, []);
    // A place that offers it heals it.
    platform.configure(&DOCUMENT.replace("features: [fast, big]", "features: [fast, big, quantum]")).await;
    assert_eq!(runs_on(&platform, "shop").await, "there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_profile_that_does_not_exist_is_a_mistake_of_the_author() {
    let platform = Platform::start().await;
    platform.apply_annotated("shop", json!({"score.dev/profile": "web-servcie"}), web()).await;
    let message = platform.until_not("shop", ConditionType::InputsValid, Reason::SpecInvalid).await;
    assert!(message.contains("web-servcie") && message.contains("`web-service`"), "{message}");
    platform.apply_annotated("shop", json!({"score.dev/profile": "batch-job"}), web()).await;
    platform.until_ready("shop").await;
}
