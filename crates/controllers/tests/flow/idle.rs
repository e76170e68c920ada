//! A platform that has nothing to do, does nothing.

use std::{sync::Arc, time::Duration};

use orchestra_drivers::static_engine::Static;
use orchestra_testkit::Crash;
use serde_json::json;

use crate::common::{DOCUMENT, Platform, Process};

/// Longer than anything that is gathered or looked at again.
const A_WHILE: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_platform_makes_no_requests_but_watches() {
    let platform = Platform::around(Platform::environment().await, "default");
    platform.configure(DOCUMENT).await;
    let counter = Crash::never();
    let options = orchestra_controllers::Options {
        runtimes: vec![Arc::new(counter.mortal(platform.runtime.clone()))],
        provisioners: vec![Arc::new(counter.mortal(platform.provisioner.clone())), Arc::new(Static)],
        ..orchestra_controllers::Options::default()
    };
    let (env, crash) = (Arc::clone(&platform.env), counter.clone());
    let process = Process::start(move || env.mortal_client(&crash), options);
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
    process.idle().await;
    // What was gathered on the way is done with.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = (counter.requests().len(), counter.points().len());
    tokio::time::sleep(A_WHILE).await;
    let requests = counter.requests().split_off(before.0);
    let points = counter.points().split_off(before.1);
    assert_eq!((requests, points), (Vec::new(), Vec::new()));
}
