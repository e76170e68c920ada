//! Fault injection, as kube sees it.

use std::{sync::Arc, time::Duration};

use axum::http::{Method, StatusCode};
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{ListParams, PostParams},
    runtime::{
        Controller,
        controller::Action,
        watcher::{self, watcher},
    },
};
use orchestra_apiserver::{Options, ledger};
use orchestra_testkit::{BrokenConnection, Matching, TestEnv, Verb};

use crate::kube_rs::garden::{NAMESPACE, code, config_map};

fn creations() -> Matching {
    Matching::any().verb(Verb::Create).path("/api/v1/namespaces/*/configmaps")
}

fn apis(env: &TestEnv) -> (Api<ConfigMap>, Api<ConfigMap>) {
    (Api::namespaced(env.client(), NAMESPACE), Api::namespaced(env.faulty_client(), NAMESPACE))
}

#[tokio::test]
async fn a_failed_request_is_not_executed() {
    let env = TestEnv::start().await;
    let (steady, faulty) = apis(&env);
    let fault = env.faults().fail(creations(), 2, StatusCode::CONFLICT);
    faulty.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    steady.create(&PostParams::default(), &config_map("two", &[])).await.unwrap();
    assert!(!fault.is_triggered(), "the other client is not counted");
    assert_eq!(code(faulty.create(&PostParams::default(), &config_map("three", &[])).await), 409);
    assert!(fault.is_triggered());
    assert!(steady.get_opt("three").await.unwrap().is_none());
    faulty.create(&PostParams::default(), &config_map("three", &[])).await.unwrap();
}

#[tokio::test]
async fn a_request_with_a_dropped_response_is_executed() {
    let env = TestEnv::start().await;
    let (steady, faulty) = apis(&env);
    env.faults().drop_answer(creations(), 1);
    let broken = faulty.create(&PostParams::default(), &config_map("one", &[])).await;
    let Err(kube::Error::Service(error)) = broken else { panic!("{broken:?}") };
    assert!(error.is::<BrokenConnection>(), "{error}");
    assert!(steady.get_opt("one").await.unwrap().is_some());
}

#[tokio::test]
async fn a_held_request_waits_for_its_release_while_others_pass() {
    let env = TestEnv::start().await;
    let (steady, faulty) = apis(&env);
    let fault = env.faults().hold(creations(), 1);
    let held = tokio::spawn({
        let faulty = faulty.clone();
        async move { faulty.create(&PostParams::default(), &config_map("held", &[])).await }
    });
    fault.until_triggered().await;
    faulty.create(&PostParams::default(), &config_map("free", &[])).await.unwrap();
    assert!(steady.get_opt("held").await.unwrap().is_none());
    fault.release();
    held.await.unwrap().unwrap();
    assert!(steady.get_opt("held").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_request_is_executed_later() {
    let env = TestEnv::start().await;
    let (_, faulty) = apis(&env);
    let start = tokio::time::Instant::now();
    env.faults().delay(Matching::any().method(Method::POST), 1, Duration::from_secs(5));
    faulty.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(5));
}

#[tokio::test]
async fn the_server_uses_the_clock_of_the_test() {
    let env = TestEnv::start().await;
    let (steady, _) = apis(&env);
    let one = steady.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    env.clock().advance(Duration::from_hours(1));
    let two = steady.create(&PostParams::default(), &config_map("two", &[])).await.unwrap();
    let at = |map: ConfigMap| map.metadata.creation_timestamp.unwrap().0.as_second();
    assert_eq!(at(two) - at(one), 3600);
}

#[tokio::test]
async fn a_watcher_relists_when_its_history_is_compacted() {
    let little = ledger::Options { events: 8, ..ledger::Options::default() };
    let env = TestEnv::start_with(Options { ledger: little, ..Options::default() }).await;
    let (steady, faulty) = apis(&env);
    // The watch is held until the history after its list is compacted.
    let fault = env.faults().hold(Matching::any().verb(Verb::Watch), 1);
    let mut events = std::pin::pin!(watcher(faulty, watcher::Config::default().labels("!none")));
    let following = async {
        let (mut starts, mut errors) = (0, 0);
        loop {
            match events.next().await.unwrap() {
                Ok(watcher::Event::InitDone) => starts += 1,
                Ok(_) => {}
                Err(_) => errors += 1,
            }
            if starts == 2 {
                return errors;
            }
        }
    };
    let writing = async {
        fault.until_triggered().await;
        for n in 0..40 {
            steady.create(&PostParams::default(), &config_map(&format!("map-{n}"), &[])).await.unwrap();
        }
        fault.release();
    };
    let (errors, ()) = tokio::join!(following, writing);
    assert!(errors >= 1, "the watcher received 410 Gone");
}

#[tokio::test]
async fn a_controller_recovers_from_every_failure_at_startup() {
    let env = TestEnv::start().await;
    let (steady, faulty) = apis(&env);
    steady.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    let faults = [
        env.faults().fail(Matching::any().verb(Verb::List), 1, StatusCode::INTERNAL_SERVER_ERROR),
        env.faults().drop_answer(Matching::any().verb(Verb::Watch), 1),
    ];
    let (seen, mut sees) = tokio::sync::mpsc::unbounded_channel();
    let reconcile = |map: Arc<ConfigMap>, seen: Arc<tokio::sync::mpsc::UnboundedSender<String>>| async move {
        let _ = seen.send(map.metadata.name.clone().unwrap());
        Ok::<_, std::convert::Infallible>(Action::await_change())
    };
    let controller = Controller::new(faulty, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::await_change(), Arc::new(seen))
        .for_each(|_| std::future::ready(()));
    let running = tokio::spawn(controller);
    while sees.recv().await.unwrap() != "one" {}
    for fault in &faults {
        fault.until_triggered().await;
    }
    steady.create(&PostParams::default(), &config_map("two", &[])).await.unwrap();
    while sees.recv().await.unwrap() != "two" {}
    assert!(steady.list(&ListParams::default()).await.unwrap().items.len() >= 2);
    running.abort();
}
