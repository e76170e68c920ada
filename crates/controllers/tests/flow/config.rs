//! Orchestrator config: changes take effect, an invalid config does not.

use axum::http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use orchestra_api::config::{CONFIG_KEY, IN_FORCE_MAP};
use orchestra_controllers::metrics::Metrics;
use orchestra_testkit::{Matching, Verb};

use crate::flow::{
    platform::{CONFIG, Platform},
    support::{db_workload, web_workload},
};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_config_is_reported_and_the_last_valid_one_stays_in_force() {
    let mut platform = Platform::start().await;
    let metrics = Metrics::default();
    platform.start_controllers_with(platform.env.client(), metrics.clone()).await;
    let is_valid = |metrics: &Metrics, value: u8| {
        let text = metrics.encode();
        let matches = text.lines().any(|line| line == format!("orchestra_config_valid {value}"));
        if matches { Ok(true) } else { Err(text) }
    };
    platform.env.eventually("the config is valid", async || is_valid(&metrics, 1)).await;
    platform.configure(&CONFIG.replace("engine: builtin", "engine: bulitin")).await;
    platform.env.eventually("the config is invalid", async || is_valid(&metrics, 0)).await;
    platform
        .env
        .eventually("the config map has an event", async || {
            let events = platform.events_of("score-system", "ConfigMap", "orchestrator-config").await;
            events.iter().any(|event| event.note.as_deref().is_some_and(|note| note.contains("bulitin")))
        })
        .await;
    platform.apply("shop", db_workload(&json!({"type": "postgres"}))).await;
    platform.until_ready("shop").await;

    // The last valid config survives a restart.
    let metrics = Metrics::default();
    platform.start_controllers_with(platform.env.client(), metrics.clone()).await;
    platform.env.eventually("the config is still invalid", async || is_valid(&metrics, 0)).await;
    platform.apply("later", db_workload(&json!({"type": "postgres"}))).await;
    platform.until_ready("later").await;
    platform.until_ready("shop").await;

    // A valid config takes effect at once.
    platform.configure(&CONFIG.replace("backendId: here", "backendId: home")).await;
    platform.env.eventually("the config is valid again", async || is_valid(&metrics, 1)).await;
    platform
        .env
        .eventually("the config map has an event about the valid config", async || {
            let events = platform.events_of("score-system", "ConfigMap", "orchestrator-config").await;
            events.iter().any(|event| {
                let note = event.note.as_deref().unwrap_or_default();
                event.type_.as_deref() == Some("Normal") && note.contains("in force")
            })
        })
        .await;
    platform.apply("latest", web_workload()).await;
    platform.until_ready("latest").await;
    assert_eq!(platform.runtime.running("default", "latest").unwrap().backend, "home");
    assert_eq!(platform.runtime.running("default", "shop").unwrap().backend, "here");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_that_cannot_be_stored_is_stored_later() {
    let mut platform = Platform::start().await;
    platform.start_controllers_with(platform.env.faulty_client(), Metrics::default()).await;
    let path = format!("/api/v1/namespaces/score-system/configmaps/{IN_FORCE_MAP}");
    let writes = Matching::any().verb(Verb::Patch).path(&path);
    let failed = platform.env.faults().fail(writes, 1, StatusCode::SERVICE_UNAVAILABLE);
    let config = CONFIG.replace("backendId: here", "backendId: home");
    platform.configure(&config).await;
    let maps: Api<ConfigMap> = Api::namespaced(platform.env.client(), "score-system");
    platform
        .env
        .eventually("the config is stored", async || {
            let stored = maps.get_opt(IN_FORCE_MAP).await.unwrap();
            stored.and_then(|map| map.data?.get(CONFIG_KEY).cloned()).as_ref() == Some(&config)
        })
        .await;
    assert!(failed.is_triggered());
}
