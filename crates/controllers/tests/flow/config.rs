//! The platform's document: it is followed, and a bad one changes nothing.

use orchestra_controllers::metrics::Metrics;

use crate::flow::{
    observing::{web, with_database},
    platform::{DOCUMENT, Platform},
};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_document_is_reported_and_the_last_good_one_stays_in_force() {
    let mut platform = Platform::start().await;
    let metrics = Metrics::default();
    platform.begin_with(platform.env.client(), metrics.clone()).await;
    let is_valid = |metrics: &Metrics, value: u8| {
        let text = metrics.encode();
        let is_so = text.lines().any(|line| line == format!("orchestra_config_valid {value}"));
        if is_so { Ok(true) } else { Err(text) }
    };
    platform.env.eventually("the document is good", async || is_valid(&metrics, 1)).await;
    platform.configure(&DOCUMENT.replace("engine: builtin", "engine: bulitin")).await;
    platform.env.eventually("the document is bad", async || is_valid(&metrics, 0)).await;
    platform
        .env
        .eventually("the config map has an event", async || {
            let events = platform.events_of("score-system", "ConfigMap", "orchestrator-config").await;
            events.iter().any(|event| event.note.as_deref().is_some_and(|note| note.contains("bulitin")))
        })
        .await;
    platform.apply("shop", with_database(&json!({"type": "postgres"}))).await;
    platform.until_ready("shop").await;

    // Also after a start the last good one counts.
    let metrics = Metrics::default();
    platform.begin_with(platform.env.client(), metrics.clone()).await;
    platform.env.eventually("the document is still bad", async || is_valid(&metrics, 0)).await;
    platform.apply("later", with_database(&json!({"type": "postgres"}))).await;
    platform.until_ready("later").await;
    platform.until_ready("shop").await;

    // A good one counts again, at once.
    platform.configure(&DOCUMENT.replace("backendId: here", "backendId: home")).await;
    platform.env.eventually("the document is good again", async || is_valid(&metrics, 1)).await;
    platform
        .env
        .eventually("the config map has an event that says so", async || {
            let events = platform.events_of("score-system", "ConfigMap", "orchestrator-config").await;
            events.iter().any(|event| {
                let note = event.note.as_deref().unwrap_or_default();
                event.type_.as_deref() == Some("Normal") && note.contains("is in force")
            })
        })
        .await;
    platform.apply("latest", web()).await;
    platform.until_ready("latest").await;
    assert_eq!(platform.runtime.running("default", "latest").unwrap().backend, "home");
    assert_eq!(platform.runtime.running("default", "shop").unwrap().backend, "here");
}
