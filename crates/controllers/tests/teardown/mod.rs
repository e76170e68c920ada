//! No deletion gets stuck without a word.
//!
//! Random Workloads go in random orders, while the document breaks, policies vanish, drivers are missing or something
//! clings. Each case ends with nothing left; and as long as something is missing or clings, every Workload that is
//! still there says what it waits for.
//!
//! The seed is printed; `ORCHESTRA_TEST_SEED` repeats a run, `ORCHESTRA_TEST_CASES` says how many cases it has.

mod case;

use std::{sync::Arc, time::Duration};

use tokio::task::JoinSet;

use self::case::Case;
use crate::common::Platform;

/// How many cases there are.
const CASES: u64 = 50;
/// How many run side by side, each on an API of its own.
const LANES: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_deletion_ends_or_says_what_it_waits_for() {
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
                let platform = Platform::around(Arc::clone(&env), "shop");
                let case = Case::random(seed, case);
                let (said, ended) = case.play(platform).await;
                longest = (longest.0.max(said), longest.1.max(ended));
            }
            longest
        });
    }
    let longest = lanes.join_all().await;
    let said = longest.iter().map(|(said, _)| *said).max().unwrap_or_default();
    let ended = longest.iter().map(|(_, ended)| *ended).max().unwrap_or_default();
    println!(
        "teardown: the longest until a Workload said what it waits for: {said:?}; until all was gone: {ended:?}"
    );
}
