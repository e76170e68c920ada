//! Runner of cases.

use std::{
    fmt::{self, Display},
    sync::Arc,
    time::Instant,
};

use futures_util::{FutureExt as _, StreamExt as _, future::LocalBoxFuture, stream};
use orchestra_e2e::platform::Error;

use crate::{cluster::Cluster, space::Space};

/// Test case.
pub(crate) struct Case {
    /// Expected behaviour, as a sentence.
    pub(crate) name: &'static str,
    pub(crate) when: When,
    pub(crate) run: Run,
}

/// Body of a case, with its own namespace.
pub(crate) type Run = for<'a> fn(&'a Space) -> LocalBoxFuture<'a, Result<(), Error>>;

/// Schedule of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before all others, in order, even if not selected. A failure stops the suite.
    Needed,
    /// In order with those, if selected.
    First,
    /// Concurrently with others.
    Together,
    /// Alone, after all others, in order.
    Alone,
}

/// Feature that the cluster or its provider lacks: the case is skipped.
#[derive(Debug)]
pub(crate) struct Skip(pub(crate) &'static str);

impl Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Skip {}

/// Number of passed, failed and skipped cases.
#[derive(Default)]
pub(crate) struct Summary {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    failures: Vec<&'static str>,
}

impl Summary {
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.failures {
            writeln!(f, "failed: {name}")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

/// True for the name of a case to run.
type CaseFilter<'a> = &'a dyn Fn(&str) -> bool;

/// Runs the cases that others depend on, and the tutorial, which needs an empty platform.
pub(crate) async fn first(cluster: &Arc<Cluster>, cases: &[Case], wanted: CaseFilter<'_>) -> Summary {
    let mut summary = Summary::default();
    for case in cases {
        if case.when == When::Needed || (case.when == When::First && wanted(case.name)) {
            summary.add(run(cluster, case).await);
        }
        if summary.failed > 0 {
            break;
        }
    }
    summary
}

/// Runs the independent cases.
pub(crate) async fn together(
    cluster: &Arc<Cluster>,
    cases: &[Case],
    wanted: CaseFilter<'_>,
    at_once: usize,
) -> Summary {
    let chosen = cases.iter().filter(|case| case.when == When::Together && wanted(case.name));
    let runs = chosen.map(|case| run(cluster, case).boxed_local());
    let mut ended = stream::iter(runs).buffer_unordered(at_once);
    let mut summary = Summary::default();
    while let Some(one) = ended.next().await {
        summary.add(one);
    }
    summary
}

/// Runs the disruptive cases.
pub(crate) async fn alone(cluster: &Arc<Cluster>, cases: &[Case], wanted: CaseFilter<'_>) -> Summary {
    let mut summary = Summary::default();
    for case in cases.iter().filter(|case| case.when == When::Alone && wanted(case.name)) {
        summary.add(run(cluster, case).await);
    }
    summary
}

async fn run(cluster: &Arc<Cluster>, case: &Case) -> Summary {
    let started = Instant::now();
    let space = match Space::open(cluster, case.name).await {
        Ok(space) => space,
        Err(error) => return report(case, started, "", Err(error)),
    };
    let ended = (case.run)(&space).await;
    if ended.as_ref().is_err_and(|error| !error.is::<Skip>()) {
        println!("{}", space.dump().await);
    }
    let summary = report(case, started, &space.notes(), ended);
    space.close().await;
    summary
}

fn report(case: &Case, started: Instant, notes: &str, ended: Result<(), Error>) -> Summary {
    let name = case.name;
    let seconds = started.elapsed().as_secs_f32();
    match ended {
        Ok(()) => {
            println!("ok      {name} ({seconds:.1} s){notes}");
            Summary { passed: 1, ..Summary::default() }
        }
        Err(error) if error.is::<Skip>() => {
            println!("skipped {name}: {error}");
            Summary { skipped: 1, ..Summary::default() }
        }
        Err(error) => {
            println!("FAILED  {name} ({seconds:.1} s): {error}");
            Summary { failed: 1, failures: vec![name], ..Summary::default() }
        }
    }
}
