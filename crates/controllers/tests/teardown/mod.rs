//! Random deletions: each completes, or the Workload reports what blocks it.
//!
//! Workloads are deleted in random orders, while the config becomes invalid, policies disappear, drivers are missing or
//! refuse to remove something. Each case ends without leftovers; and while a driver is missing or blocks, the status of
//! every remaining Workload names what it waits for.
//!
//! The seed is printed; `ORCHESTRA_TEST_SEED` repeats a run, `ORCHESTRA_TEST_CASES` sets the number of cases.

mod case;

use std::{sync::Arc, time::Duration};

use tokio::task::JoinSet;

use self::case::Case;
use crate::common::Platform;

/// Default number of cases.
const CASES: u64 = 50;
/// Cases that run concurrently, each on its own API.
const LANES: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_deletion_completes_or_reports_what_blocks_it() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("ORCHESTRA_TEST_SEED").unwrap_or_else(|| fastrand::u64(..));
    let cases = number("ORCHESTRA_TEST_CASES").unwrap_or(CASES);
    println!("teardown: ORCHESTRA_TEST_SEED={seed}, {cases} cases");
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        lanes.spawn(async move {
            let env = Platform::environment().await;
            let mut longest = (Duration::ZERO, Duration::ZERO);
            for case in (lane..cases).step_by(usize::try_from(LANES).unwrap()) {
                let platform = Platform::new(Arc::clone(&env), "shop");
                let case = Case::random(seed, case);
                let (reported, deleted) = case.run(platform).await;
                longest = (longest.0.max(reported), longest.1.max(deleted));
            }
            longest
        });
    }
    let longest = lanes.join_all().await;
    let reported = longest.iter().map(|(reported, _)| *reported).max().unwrap_or_default();
    let deleted = longest.iter().map(|(_, deleted)| *deleted).max().unwrap_or_default();
    println!(
        "teardown: at most {reported:?} until all blockers were reported, {deleted:?} until all was deleted"
    );
}
