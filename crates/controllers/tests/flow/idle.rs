//! Requests of an idle platform: none but watches.

use std::{sync::Arc, time::Duration};

use orchestra_controllers::{Controllers, Options};
use orchestra_drivers::static_engine::Static;
use orchestra_testkit::Crash;
use serde_json::json;

use crate::common::{CONFIG, Platform};

/// More than any debounce or recheck of a controller.
const SETTLE_TIME: Duration = Duration::from_secs(10);
/// Rounds of that until delayed reconciles and their consequences are done.
const MAX_SETTLE_ROUNDS: usize = 10;
/// Observed time. Watches last longer, so that none of them restarts with a list.
const IDLE_TIME: Duration = Duration::from_mins(4);
/// Step of the clock.
const CLOCK_STEP: Duration = Duration::from_millis(250);
/// Polls of every task after a step: more than a request takes from a timer to the API.
const YIELDS: usize = 50;

/// Advances the paused clock. On a current-thread runtime every yield polls all tasks that are ready.
async fn advance(time: Duration) {
    let mut passed = Duration::ZERO;
    while passed < time {
        tokio::time::advance(CLOCK_STEP).await;
        passed += CLOCK_STEP;
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn an_idle_platform_makes_no_requests_but_watches() {
    let platform = Platform::new(Platform::environment().await, "default");
    platform.configure(CONFIG).await;
    let counter = Crash::never();
    let options = Options {
        runtimes: vec![Arc::new(counter.wrap_driver(platform.runtime.clone()))],
        provisioners: vec![Arc::new(counter.wrap_driver(platform.provisioner.clone())), Arc::new(Static)],
        ..Options::default()
    };
    let controllers = Controllers::start(platform.env.crashing_client(&counter), options).await.unwrap();
    for name in ["one", "two"] {
        let spec = json!({
            "containers": {"app": {"image": "nginx", "variables": {"PASSWORD": "${resources.db.password}"}}},
            "service": {"ports": {"www": {"port": 80}}},
            "resources": {"db": {"type": "postgres", "id": "orders"}, "link": {"type": "link"}},
        });
        platform.apply(name, spec).await;
    }
    for name in ["one", "two"] {
        platform.until_ready(name).await;
    }
    controllers.idle().await;
    for _ in 0..MAX_SETTLE_ROUNDS {
        let before = counter.requests().len();
        tokio::time::pause();
        advance(SETTLE_TIME).await;
        // The store answers from a thread of its own, in real time.
        tokio::time::resume();
        controllers.idle().await;
        if counter.requests().len() == before {
            break;
        }
    }
    let before = (counter.requests().len(), counter.points().len());
    tokio::time::pause();
    advance(IDLE_TIME).await;
    let requests = counter.requests().split_off(before.0);
    let points = counter.points().split_off(before.1);
    assert_eq!((requests, points), (Vec::new(), Vec::new()));
}
