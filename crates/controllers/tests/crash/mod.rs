//! Crashes of the controllers at every request and driver call.
//!
//! Each scenario runs once undisturbed, and then once per crash point: there the controllers die, or a response is lost,
//! and new controllers take over. The final state must be the same: nothing is lost or duplicated, and nothing was
//! started or provisioned more often than without the crash.
//!
//! `ORCHESTRA_TEST_CRASHES=N` crashes at one of N points, in every way; 1 takes all points. Each run takes other points: the seed that
//! selects them is printed, `ORCHESTRA_TEST_SEED` repeats a run, and `ORCHESTRA_TEST_SCENARIO` selects a scenario.

mod scenarios;
mod snapshot;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{Api, Client, api::DeleteParams};
use orchestra_controllers::Options;
use orchestra_drivers::static_engine::Static;
use orchestra_testkit::{Crash, Cut, TestEnv};
use serde_json::Value as Json;
use tokio::task::JoinSet;

use self::{scenarios::Scenario, snapshot::snapshot};
use crate::common::{CONFIG, Platform, Process};

/// By default one of so many points is taken.
const DEFAULT_STRIDE: usize = 25;
/// Fewest crash points of a scenario: a test double that misses calls would leave no points.
const MIN_POINTS: usize = 10;
/// Equal snapshots in a row that make a state the final one.
const STABLE_SNAPSHOTS: usize = 5;
/// Interval of these snapshots.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_at_any_point_leads_to_the_same_final_state() {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse::<usize>().ok());
    let stride = number("ORCHESTRA_TEST_CRASHES").unwrap_or(DEFAULT_STRIDE).max(1);
    let seed = number("ORCHESTRA_TEST_SEED").unwrap_or_else(|| fastrand::usize(..stride)) % stride;
    println!("crash: ORCHESTRA_TEST_CRASHES={stride} ORCHESTRA_TEST_SEED={seed}");
    let only = std::env::var("ORCHESTRA_TEST_SCENARIO").ok();
    let mut runs = JoinSet::new();
    for scenario in
        Scenario::ALL.into_iter().filter(|it| only.as_ref().is_none_or(|only| *only == format!("{it:?}")))
    {
        runs.spawn(run_at_all_points(scenario, stride, seed));
    }
    let (mut total_points, mut total_crashes) = (0, 0);
    for (scenario, points, crashes) in runs.join_all().await {
        println!("{scenario:?}: {points} crash points, {crashes} crashes");
        assert!(points >= MIN_POINTS, "{scenario:?} has only {points} crash points");
        total_points += points;
        total_crashes += crashes;
    }
    println!("{total_points} crash points, {total_crashes} crashes");
    // A run may end before its crash point, since other requests are made; most reach it.
    let planned = total_points * Cut::ALL.len() / stride;
    assert!(
        only.is_some() || total_crashes * 2 >= planned.max(1),
        "{total_crashes} crashes, of about {planned} that were planned"
    );
}

/// Runs a scenario once per crash point. Returns the numbers of points and of crashes.
async fn run_at_all_points(scenario: Scenario, stride: usize, seed: usize) -> (Scenario, usize, usize) {
    let env = Platform::environment().await;
    let crash = Crash::never();
    let (expected, points) = run(&env, scenario, &crash, None, &format!("{scenario:?}, undisturbed")).await;
    let mut crashes = 0;
    for (turn, how) in Cut::ALL.into_iter().enumerate() {
        // Each way takes other points, so that together they cover most points.
        let first = 1 + (turn * stride / Cut::ALL.len() + scenario as usize + seed) % stride;
        for point in (first..=points).step_by(stride) {
            let crash = Crash::at(point, how);
            let title = format!("{scenario:?}, cut {how:?} at {point} of {points}");
            let (_, reached) = run(&env, scenario, &crash, Some(&expected), &title).await;
            crashes += usize::from(reached >= point);
        }
    }
    (scenario, points, crashes)
}

/// Runs a scenario with at most one crash. Returns the final state, which must be the expected one if given, and the
/// number of points reached.
async fn run(
    env: &Arc<TestEnv>,
    scenario: Scenario,
    crash: &Crash,
    expected: Option<&Json>,
    title: &str,
) -> (Json, usize) {
    let platform = Platform::new(Arc::clone(env), "shop");
    env.namespace("shop").await;
    let maps: Api<ConfigMap> = Api::namespaced(env.client(), "score-system");
    // The first start of a platform: without a last valid config.
    let _ = maps.delete("orchestrator-config-in-force", &DeleteParams::default()).await;
    platform.configure(CONFIG).await;

    let mut process = start(&platform, Some(crash));
    let steps = async {
        scenario.run(&platform).await;
        match expected {
            None => until_stable(&platform).await,
            Some(expected) => {
                until_equal(&platform, expected, title).await;
            }
        }
    };
    let mut steps = std::pin::pin!(steps);
    let died = tokio::select! {
        () = &mut steps => false,
        () = crash.until_dead() => true,
    };
    if died {
        process.kill().await;
        process = start(&platform, None);
        steps.await;
    }
    let points = crash.points().len();
    crash.cancel();
    if crash.is_dead() && !died {
        process.kill().await;
        process = start(&platform, None);
    }
    // The final state stays.
    process.idle().await;
    let end = match expected {
        None => snapshot(&platform).await,
        Some(expected) => until_equal(&platform, expected, title).await,
    };
    clear(&platform, title).await;
    process.kill().await;
    (end, points)
}

fn start(platform: &Platform, crash: Option<&Crash>) -> Process {
    let env = Arc::clone(&platform.env);
    match crash.cloned() {
        None => Process::start(move || env.client(), platform.options()),
        Some(crash) => {
            let options = Options {
                runtimes: vec![Arc::new(crash.wrap_driver(platform.runtime.clone()))],
                provisioners: vec![
                    Arc::new(crash.wrap_driver(platform.provisioner.clone())),
                    Arc::new(Static),
                ],
                ..Options::default()
            };
            Process::start(move || env.crashing_client(&crash), options)
        }
    }
}

async fn until_stable(platform: &Platform) {
    let (mut last, mut equal) = (Json::Null, 0);
    while equal < STABLE_SNAPSHOTS {
        tokio::time::sleep(SNAPSHOT_INTERVAL).await;
        let current = snapshot(platform).await;
        equal = if current == last { equal + 1 } else { 0 };
        last = current;
    }
}

async fn until_equal(platform: &Platform, expected: &Json, title: &str) -> Json {
    let compare = async || {
        let current = snapshot(platform).await;
        if current == *expected { Ok(Some(current)) } else { Err(difference(expected, &current)) }
    };
    platform.env.eventually(format!("{title}: the final state is that of the undisturbed run"), compare).await
}

/// Lines in which two states differ.
fn difference(expected: &Json, found: &Json) -> String {
    let (expected, found) = (format!("{expected:#}"), format!("{found:#}"));
    let missing = expected.lines().filter(|line| !found.lines().any(|other| other == *line));
    let extra = found.lines().filter(|line| !expected.lines().any(|other| other == *line));
    let lines = missing.map(|line| format!("- {line}")).chain(extra.map(|line| format!("+ {line}")));
    lines.collect::<Vec<_>>().join("\n")
}

/// Deletes everything, for the next run.
async fn clear(platform: &Platform, title: &str) {
    let client: Client = platform.env.client();
    let namespaces: Api<Namespace> = Api::all(client);
    let _ = namespaces.delete(&platform.namespace, &DeleteParams::default()).await;
    platform
        .env
        .eventually(format!("{title}: the namespace is deleted"), async || {
            let is_gone = namespaces.get_opt(&platform.namespace).await.unwrap().is_none();
            if is_gone { Ok(Some(())) } else { Err(format!("{:#}", snapshot(platform).await)) }
        })
        .await;
    assert_eq!(platform.leftovers().await, Vec::<String>::new(), "{title}: leftovers");
}
