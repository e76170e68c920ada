//! Death at every point.
//!
//! Each story is told once undisturbed, and then again for each of its points: there the controllers die, or an
//! answer is lost, and others take over. The end must be the same: nothing is lost, nothing is there twice, and
//! nothing was started or made once more than it was without the death.
//!
//! `ORCHESTRA_TEST_CRASHES=N` dies at one of N points, in every way; 1 takes them all. Each run takes other points: the seed that
//! selects them is printed, and `ORCHESTRA_TEST_SEED` repeats a run.

mod snapshot;
mod stories;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{Api, Client, api::DeleteParams};
use orchestra_controllers::Options;
use orchestra_drivers::static_engine::Static;
use orchestra_testkit::{Crash, Cut, TestEnv};
use serde_json::Value as Json;
use tokio::task::JoinSet;

use self::{snapshot::snapshot, stories::Story};
use crate::common::{DOCUMENT, Platform, Process};

/// One of so many points is taken by default.
const STRIDE: usize = 25;
/// How often an undisturbed end must look the same to be the end.
const LOOKS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whenever_the_controllers_die_the_end_is_the_same() {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse::<usize>().ok());
    let stride = number("ORCHESTRA_TEST_CRASHES").unwrap_or(STRIDE).max(1);
    let seed = number("ORCHESTRA_TEST_SEED").unwrap_or_else(|| fastrand::usize(..stride)) % stride;
    println!("crash: ORCHESTRA_TEST_CRASHES={stride} ORCHESTRA_TEST_SEED={seed}");
    let only = std::env::var("ORCHESTRA_TEST_STORY").ok();
    let mut told = JoinSet::new();
    for story in
        Story::ALL.into_iter().filter(|story| only.as_ref().is_none_or(|o| *o == format!("{story:?}")))
    {
        told.spawn(tell(story, stride, seed));
    }
    let (mut points, mut deaths) = (0, 0);
    for (story, its_points, its_deaths) in told.join_all().await {
        println!("{story:?}: {its_points} points, {its_deaths} of them struck in some way");
        points += its_points;
        deaths += its_deaths;
    }
    println!("crash points: {points}, struck {deaths} times");
}

/// Tells one story over and over. The number of points, and how often one was struck.
async fn tell(story: Story, stride: usize, seed: usize) -> (Story, usize, usize) {
    let env = Platform::environment().await;
    let crash = Crash::never();
    let (expected, points) = live(&env, story, &crash, None, &format!("{story:?}, undisturbed")).await;
    let mut struck = 0;
    for (turn, how) in Cut::ALL.into_iter().enumerate() {
        // Each way takes other points, so that together they cover most of them.
        let first = 1 + (turn * stride / Cut::ALL.len() + story as usize + seed) % stride;
        for point in (first..=points).step_by(stride) {
            let crash = Crash::at(point, how);
            let title = format!("{story:?}, cut {how:?} at {point} of {points}");
            let (_, reached) = live(&env, story, &crash, Some(&expected), &title).await;
            struck += usize::from(reached >= point);
        }
    }
    (story, points, struck)
}

/// Tells a story once, with a death if there is one, and gives its end. An end that was expected must be reached.
async fn live(
    env: &Arc<TestEnv>,
    story: Story,
    crash: &Crash,
    expected: Option<&Json>,
    title: &str,
) -> (Json, usize) {
    let platform = Platform::around(Arc::clone(env), "shop");
    env.namespace("shop").await;
    let maps: Api<ConfigMap> = Api::namespaced(env.client(), "score-system");
    // A platform that starts for the first time.
    let _ = maps.delete("orchestrator-config-in-force", &DeleteParams::default()).await;
    platform.configure(DOCUMENT).await;

    let mut process = start(&platform, Some(crash));
    let story = async {
        story.tell(&platform).await;
        match expected {
            None => until_settled(&platform).await,
            Some(expected) => {
                until_as(&platform, expected, title).await;
            }
        }
    };
    let mut story = std::pin::pin!(story);
    let died = tokio::select! {
        () = &mut story => false,
        () = crash.dies() => true,
    };
    if died {
        process.kill().await;
        process = start(&platform, None);
        story.await;
    }
    let points = crash.points().len();
    crash.spare();
    if crash.is_dead() && !died {
        process.kill().await;
        process = start(&platform, None);
    }
    // What looks like the end stays so.
    process.idle().await;
    let end = match expected {
        None => snapshot(&platform).await,
        Some(expected) => until_as(&platform, expected, title).await,
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
                runtimes: vec![Arc::new(crash.mortal(platform.runtime.clone()))],
                provisioners: vec![Arc::new(crash.mortal(platform.provisioner.clone())), Arc::new(Static)],
                ..Options::default()
            };
            Process::start(move || env.mortal_client(&crash), options)
        }
    }
}

async fn until_settled(platform: &Platform) {
    let (mut last, mut looks) = (Json::Null, 0);
    while looks < LOOKS {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = snapshot(platform).await;
        looks = if now == last { looks + 1 } else { 0 };
        last = now;
    }
}

async fn until_as(platform: &Platform, expected: &Json, title: &str) -> Json {
    let look = async || {
        let now = snapshot(platform).await;
        if now == *expected { Ok(Some(now)) } else { Err(difference(expected, &now)) }
    };
    platform.env.eventually(format!("{title}: the end is as without a death"), look).await
}

/// The lines in which two ends differ.
fn difference(expected: &Json, found: &Json) -> String {
    let (expected, found) = (format!("{expected:#}"), format!("{found:#}"));
    let missing = expected.lines().filter(|line| !found.lines().any(|other| other == *line));
    let extra = found.lines().filter(|line| !expected.lines().any(|other| other == *line));
    let lines = missing.map(|line| format!("- {line}")).chain(extra.map(|line| format!("+ {line}")));
    lines.collect::<Vec<_>>().join("\n")
}

/// Leaves nothing for the next telling.
async fn clear(platform: &Platform, title: &str) {
    let client: Client = platform.env.client();
    let namespaces: Api<Namespace> = Api::all(client);
    let _ = namespaces.delete(&platform.namespace, &DeleteParams::default()).await;
    platform
        .env
        .eventually(format!("{title}: the namespace goes"), async || {
            let is_gone = namespaces.get_opt(&platform.namespace).await.unwrap().is_none();
            if is_gone { Ok(Some(())) } else { Err(format!("{:#}", snapshot(platform).await)) }
        })
        .await;
    assert_eq!(platform.left().await, Vec::<String>::new(), "{title}: left behind after the end");
}
