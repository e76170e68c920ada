//! Consistency of list and watch: after many concurrent writes every watcher's view equals the final list, and no watcher
//! has gone back in time.

use std::{
    collections::BTreeMap,
    pin::pin,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    runtime::watcher::{self, Event, watcher},
};
use orchestra_apiserver::{Options, ledger};
use orchestra_testkit::{Matching, TestEnv, Verb};
use serde_json::json;
use tokio::{sync::watch, task::JoinSet, time::timeout};

const WRITERS: u64 = 4;
const WRITES: u64 = 300;
const NAMES: u64 = 40;
const NAMESPACE: &str = "default";
/// Last object written. Every selector matches it, so its arrival means that all earlier events have arrived.
const LAST: &str = "zz-last";

/// Version of each object by name.
type View = BTreeMap<String, String>;

/// Seeded random numbers (xorshift), so that a failure can be reproduced.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn seed() -> u64 {
    let given = std::env::var("STORM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::from(since.subsec_nanos()) | 1
    });
    println!("STORM_SEED={seed} reproduces this run, as far as the scheduler allows");
    seed
}

fn map(name: &str, colour: &str) -> ConfigMap {
    let metadata = json!({"name": name, "labels": {"colour": colour}});
    serde_json::from_value(json!({"metadata": metadata, "data": {"seed": name}})).unwrap()
}

/// Random creates, updates, label changes and deletes; all writers share the names.
async fn write(client: Client, mut dice: Dice) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    for turn in 0..WRITES {
        let name = format!("map-{:02}", dice.roll(NAMES));
        let colour = if dice.roll(2) == 0 { "red" } else { "blue" };
        let answer = match dice.roll(5) {
            0 | 1 => maps.create(&PostParams::default(), &map(&name, colour)).await.map(drop),
            2 => {
                let patch = Patch::Merge(json!({"data": {"turn": turn.to_string()}}));
                maps.patch(&name, &PatchParams::default(), &patch).await.map(drop)
            }
            3 => {
                let patch = Patch::Merge(json!({"metadata": {"labels": {"colour": colour}}}));
                maps.patch(&name, &PatchParams::default(), &patch).await.map(drop)
            }
            _ => maps.delete(&name, &DeleteParams::default()).await.map(drop),
        };
        match answer {
            Ok(()) => {}
            // Another writer was faster.
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Watches until the last object arrives, and returns the view.
async fn follow(client: Client, config: watcher::Config, ready: watch::Sender<usize>) -> View {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let (mut view, mut fresh) = (View::new(), View::new());
    let mut newest = 0;
    let mut events = pin!(watcher(maps, config));
    loop {
        // A watcher recovers from errors by itself.
        let Ok(event) = events.next().await.expect("watchers do not end") else { continue };
        match event {
            Event::Init => fresh.clear(),
            Event::InitApply(map) => drop(fresh.insert(map.name_any(), map.resource_version().unwrap())),
            Event::InitDone => {
                view = std::mem::take(&mut fresh);
                newest = 0;
                ready.send_modify(|count| *count += 1);
            }
            Event::Apply(map) => {
                newest = later(newest, &map);
                view.insert(map.name_any(), map.resource_version().unwrap());
            }
            Event::Delete(map) => {
                newest = later(newest, &map);
                assert!(view.remove(&map.name_any()).is_some(), "{} was not in the view", map.name_any());
            }
        }
        if view.contains_key(LAST) {
            return view;
        }
    }
}

fn later(newest: u64, map: &ConfigMap) -> u64 {
    let version = map.resource_version().unwrap().parse().unwrap();
    assert!(version > newest, "{version} came after {newest}");
    version
}

/// Watcher configurations.
fn ways() -> Vec<(&'static str, watcher::Config)> {
    let all = watcher::Config::default;
    vec![
        ("list and watch", all()),
        ("list by pages and watch", all().page_size(7)),
        ("list from the cache and watch", all().any_semantic()),
        ("streaming list", all().streaming_lists()),
        ("red, list and watch", all().labels("colour=red")),
        ("red, streaming list", all().labels("colour=red").streaming_lists()),
        ("not blue, list and watch", all().labels("colour!=blue")),
        ("short watches", all().timeout(1)),
        ("short streaming watches", all().timeout(1).streaming_lists()),
        ("all but one, by field", all().fields("metadata.name!=map-00")),
    ]
}

async fn storm(env: &TestEnv, follower: impl Fn(usize) -> Client, late: bool) {
    let seed = seed();
    let maps: Api<ConfigMap> = Api::namespaced(env.client(), NAMESPACE);
    let (ready, mut readies) = watch::channel(0);
    let mut followers = JoinSet::new();
    let start = |followers: &mut JoinSet<_>| {
        for (n, (way, config)) in ways().into_iter().enumerate() {
            let (client, ready, selectors) = (follower(n), ready.clone(), config.clone());
            followers.spawn(async move { (way, selectors, follow(client, config, ready).await) });
        }
    };
    start(&mut followers);
    readies.wait_for(|&ready| ready >= ways().len()).await.unwrap();
    let mut writers = JoinSet::new();
    for n in 0..WRITERS {
        writers.spawn(write(env.client(), Dice(seed.wrapping_mul(2 * n + 1) | 1)));
    }
    if late {
        // These start while the writers run.
        start(&mut followers);
    }
    writers.join_all().await;
    maps.create(&PostParams::default(), &map(LAST, "red")).await.unwrap();

    let views = timeout(Duration::from_mins(1), followers.join_all()).await.expect("all see the last object");
    for (way, config, view) in views {
        let watcher::Config { label_selector, field_selector, .. } = config;
        let params = ListParams { label_selector, field_selector, ..ListParams::default() };
        let listed = maps.list(&params).await.unwrap();
        let expected: View =
            listed.iter().map(|map| (map.name_any(), map.resource_version().unwrap())).collect();
        assert_eq!(view, expected, "{way}, with seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_watcher_converges_to_the_final_list() {
    let env = TestEnv::start().await;
    storm(&env, |_| env.client(), true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watchers_that_lose_their_watch_or_their_history_catch_up() {
    let little = ledger::Options { events: 50, ..ledger::Options::default() };
    let env = TestEnv::start_with(Options { ledger: little, ..Options::default() }).await;
    for nth in 1..=6 {
        env.faults().drop_answer(Matching::any().verb(Verb::Watch), 5 * nth);
        env.faults().fail(
            Matching::any().verb(Verb::List),
            4 * nth,
            axum::http::StatusCode::TOO_MANY_REQUESTS,
        );
    }
    storm(&env, |_| env.faulty_client(), false).await;
}
