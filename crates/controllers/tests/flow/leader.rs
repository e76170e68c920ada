//! Leader election between several processes.

use std::{sync::Arc, time::Duration};

use orchestra_controllers::{
    Options,
    engine::lease,
    engine::shutdown,
    leader::{Lease, lead},
};
use serde_json::json;
use tokio::sync::watch;

use crate::flow::platform::Platform;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_takes_over_when_the_leader_dies_or_stops() {
    let mut platform = Platform::start().await;
    platform.stop_controllers().await;
    let process = |identity: &str| {
        let (stopper, stop) = shutdown::channel();
        let lease = Lease {
            namespace: "score-system".to_owned(),
            name: "orchestra".to_owned(),
            identity: identity.to_owned(),
            options: lease::Options { lease: Duration::from_secs(2), renew: Duration::from_millis(200) },
        };
        let (runtime, identity) = (platform.runtime.clone(), identity.to_owned());
        let options = move || Options {
            runtimes: vec![Arc::new(runtime.clone())],
            identity: identity.clone(),
            ..Options::default()
        };
        (stopper, tokio::spawn(lead(platform.env.client(), lease, options, watch::Sender::default(), stop)))
    };
    let spec = json!({"containers": {"main": {"image": "nginx"}}});
    let (first, first_task) = process("first");
    platform.apply("one", spec.clone()).await;
    platform.until_ready("one").await;

    let (second, second_task) = process("second");
    // The first process dies without releasing its lease.
    first_task.abort();
    platform.apply("two", spec.clone()).await;
    platform.until_ready("two").await;

    let (third, third_task) = process("third");
    second.trigger();
    second_task.await.unwrap();
    platform.apply("three", spec).await;
    platform.until_ready("three").await;
    assert_eq!(platform.runtime.all().len(), 3);
    third.trigger();
    third_task.await.unwrap();
    drop(first);
}
