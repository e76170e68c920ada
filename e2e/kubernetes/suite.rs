//! Runs cases and counts them.

use std::{
    fmt::{self, Display},
    sync::Arc,
    time::Instant,
};

use futures_util::{FutureExt as _, StreamExt as _, future::LocalBoxFuture, stream};
use orchestra_e2e::platform::Error;

use crate::{cluster::Cluster, space::Space};

/// One claim about the product.
pub(crate) struct Case {
    /// What holds, in a sentence.
    pub(crate) name: &'static str,
    pub(crate) when: When,
    pub(crate) run: Run,
}

/// What a case does in a namespace of its own.
pub(crate) type Run = for<'a> fn(&'a Space) -> LocalBoxFuture<'a, Result<(), Error>>;

/// Beside whom a case may run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before all others, in order; what fails here fails everything. Also where it was not asked for.
    Needed,
    /// Between those, if it was asked for.
    First,
    /// At the same time as others.
    Together,
    /// While no other does, after them, in order.
    Alone,
}

/// What a cluster or its provider does not offer: the case is counted as skipped.
#[derive(Debug)]
pub(crate) struct Skip(pub(crate) &'static str);

impl Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Skip {}

/// How many cases ended how.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    failures: Vec<&'static str>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.failures {
            writeln!(f, "failed: {name}")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

type Wanted<'a> = &'a dyn Fn(&str) -> bool;

/// The cases that set up what others stand on, and the tutorial, which begins with an empty platform.
pub(crate) async fn first(cluster: &Arc<Cluster>, cases: &[Case], wanted: Wanted<'_>) -> Tally {
    let mut tally = Tally::default();
    for case in cases {
        if case.when == When::Needed || (case.when == When::First && wanted(case.name)) {
            tally.add(run(cluster, case).await);
        }
        if tally.failed > 0 {
            break;
        }
    }
    tally
}

/// Those that leave each other in peace.
pub(crate) async fn together(
    cluster: &Arc<Cluster>,
    cases: &[Case],
    wanted: Wanted<'_>,
    at_once: usize,
) -> Tally {
    let chosen = cases.iter().filter(|case| case.when == When::Together && wanted(case.name));
    let runs = chosen.map(|case| run(cluster, case).boxed_local());
    let mut ended = stream::iter(runs).buffer_unordered(at_once);
    let mut tally = Tally::default();
    while let Some(one) = ended.next().await {
        tally.add(one);
    }
    tally
}

/// Those that disturb others.
pub(crate) async fn alone(cluster: &Arc<Cluster>, cases: &[Case], wanted: Wanted<'_>) -> Tally {
    let mut tally = Tally::default();
    for case in cases.iter().filter(|case| case.when == When::Alone && wanted(case.name)) {
        tally.add(run(cluster, case).await);
    }
    tally
}

async fn run(cluster: &Arc<Cluster>, case: &Case) -> Tally {
    let started = Instant::now();
    let space = match Space::open(cluster, case.name).await {
        Ok(space) => space,
        Err(error) => return told(case, started, "", Err(error)),
    };
    let ended = (case.run)(&space).await;
    if ended.as_ref().is_err_and(|error| !error.is::<Skip>()) {
        println!("{}", space.look().await);
    }
    let tally = told(case, started, &space.notes(), ended);
    space.close().await;
    tally
}

fn told(case: &Case, started: Instant, notes: &str, ended: Result<(), Error>) -> Tally {
    let name = case.name;
    let seconds = started.elapsed().as_secs_f32();
    match ended {
        Ok(()) => {
            println!("ok      {name} ({seconds:.1} s){notes}");
            Tally { passed: 1, ..Tally::default() }
        }
        Err(error) if error.is::<Skip>() => {
            println!("skipped {name}: {error}");
            Tally { skipped: 1, ..Tally::default() }
        }
        Err(error) => {
            println!("FAILED  {name} ({seconds:.1} s): {error}");
            Tally { failed: 1, failures: vec![name], ..Tally::default() }
        }
    }
}
