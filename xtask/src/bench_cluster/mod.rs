//! Benchmark on a real API server for `benches/RESULTS.md`: time until many Workloads are ready, writes, memory and CPU.
//!
//! The program runs in its own process, as in production. No containers run: simulated nodes in this process report every
//! Deployment as ready at once ([`simulated_nodes`]), so that only the control plane is measured. Writes are read from the audit log of
//! the server ([`audit`]).
//!
//! The baseline stores the same Workloads without a control plane and creates a bare Deployment and Service for each: no
//! control plane can be faster on this machine.
//!
//! With `--peer` another control plane is measured instead, with the same load, nodes and metrics. It has its own CRDs and
//! so needs its own cluster; two successive runs compare the two.
//!
//! Use a disposable cluster: objects are not deleted.

#![allow(clippy::cast_precision_loss, reason = "figures are printed with one digit")]

mod audit;
mod load;
mod process;
mod simulated_nodes;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use self::{
    audit::Audit,
    load::Cluster,
    process::{Program, Usage},
};

use crate::budgets::{self, Budget, OverBudget, Verdict};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Time without writes after which the program is idle.
const QUIET_CHECK_INTERVAL: Duration = Duration::from_secs(3);

/// Places of the figures with a budget.
const BUDGETS: [(&str, &Budget); 5] = [
    ("/writesPerWorkload", &budgets::WRITES),
    ("/eventsPerWorkload", &budgets::EVENTS),
    ("/kibEach", &budgets::WORKLOAD_MEMORY),
    ("/secondPass/writes", &budgets::SECOND_PASS),
    ("/failoverSeconds/ready", &budgets::FAILOVER),
];

/// Options of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    /// Program, built with the profile `dist`.
    pub(crate) program: PathBuf,
    /// Program of another control plane to measure instead, and its Workload template.
    pub(crate) peer: Option<(PathBuf, PathBuf)>,
    /// Kubeconfig of the cluster.
    pub(crate) kubeconfig: PathBuf,
    /// Audit log [default: `audit.log` beside the kubeconfig].
    pub(crate) audit: Option<PathBuf>,
    /// Number of Workloads.
    pub(crate) workloads: usize,
    /// True to skip the baseline.
    pub(crate) alone: bool,
    /// True to print JSON.
    pub(crate) json: bool,
}

/// Measures, prints the results, and compares ours with the budgets.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let figures = runtime.block_on(measure(options)).map_err(|error| error.to_string())?;
    if options.json {
        println!("{figures:#}");
    } else {
        for (name, figure) in figures.as_object().into_iter().flatten() {
            println!("{name}: {figure}");
        }
    }
    if options.peer.is_some() {
        return Ok(());
    }
    compare(&figures).map_err(|error| error.to_string())
}

/// Compares the figures with their budgets. A missing figure is over budget.
fn compare(figures: &Json) -> Result<(), OverBudget> {
    let mut verdict = Verdict::default();
    for (pointer, budget) in BUDGETS {
        verdict.check(budget, figures.pointer(pointer).and_then(Json::as_f64).unwrap_or(f64::NAN));
    }
    verdict.finish()
}

async fn measure(options: &Options) -> Result<Json, Failure> {
    let beside = options.kubeconfig.with_file_name("audit.log");
    let audit = Audit::open(options.audit.as_deref().unwrap_or(&beside))?;
    let template = options.peer.as_ref().map(|(_, workload)| workload.as_path());
    let cluster = Cluster::reach(&options.kubeconfig, template).await?;
    cluster.prepare().await?;
    let nodes = tokio::spawn(simulated_nodes::simulate(cluster.client()));
    let server = process::server_beside(&options.kubeconfig);
    let bench = Bench { options, audit, server, cluster };
    let figures = match &options.peer {
        Some((peer, _)) => bench.peer(peer).await?,
        None => bench.ours().await?,
    };
    nodes.abort();
    Ok(figures)
}

struct Bench<'a> {
    options: &'a Options,
    audit: Audit,
    /// Process of the API server, if it runs on this machine.
    server: Option<u32>,
    cluster: Cluster,
}

impl Bench<'_> {
    /// Measures another control plane.
    async fn peer(&self, peer: &Path) -> Result<Json, Failure> {
        let program = Program::peer(peer, &self.options.kubeconfig)?;
        let figures = self.bring_up(&program).await?;
        program.end()?;
        Ok(figures)
    }

    /// Measures our program.
    async fn ours(&self) -> Result<Json, Failure> {
        let Self { options, audit, cluster, .. } = self;
        cluster.install().await?;
        let first = Program::start(&options.program, &options.kubeconfig)?;
        let mut figures = self.bring_up(&first).await?;

        eprintln!("restart with all Workloads…");
        first.end()?;
        let mark = audit.mark()?;
        let second = Program::start(&options.program, &options.kubeconfig)?;
        cluster.until_led(None).await?;
        let restarted = settled(&second, audit).await?;
        let again = audit.since(&mark)?;
        figures["rssMiB"]["restarted"] = json!(rounded(restarted.rss));
        figures["secondPass"] =
            json!({"writes": own(&again), "byKind": again, "cpuSeconds": rounded(restarted.cpu)});

        eprintln!("leader failover…");
        let leader = cluster.until_led(None).await?;
        let third = Program::start(&options.program, &options.kubeconfig)?;
        settled(&third, audit).await?;
        let started = Instant::now();
        second.kill()?;
        cluster.apply_one("after").await?;
        cluster.until_led(Some(&leader)).await?;
        let led = rounded(started.elapsed().as_secs_f64());
        cluster.until_one_ready("after").await?;
        figures["failoverSeconds"] = json!({"led": led, "ready": rounded(started.elapsed().as_secs_f64())});
        third.end()?;

        if !options.alone {
            eprintln!("baseline: {} Workloads without a control plane…", options.workloads);
            let before = self.server_cpu()?;
            let started = Instant::now();
            cluster.baseline(options.workloads).await?;
            figures["baseline"] = json!({
                "seconds": rounded(started.elapsed().as_secs_f64()),
                "apiServerCpuSeconds": spent(before, self.server_cpu()?),
            });
        }
        Ok(figures)
    }

    /// Runs all Workloads with a newly started control plane.
    async fn bring_up(&self, program: &Program) -> Result<Json, Failure> {
        let Self { options, audit, cluster, .. } = self;
        tokio::select! {
            warm = cluster.warm_up() => warm?,
            why = program.until_ended() => return Err(why),
        }
        let idle = settled(program, audit).await?;
        let server = self.server_cpu()?;

        eprintln!("{} Workloads…", options.workloads);
        let mark = audit.mark()?;
        let started = Instant::now();
        cluster.apply(options.workloads).await?;
        let applied = started.elapsed();
        cluster.until_ready(options.workloads).await?;
        let ready = started.elapsed();
        let busy = program.usage()?;
        let server = spent(server, self.server_cpu()?);
        let held = settled(program, audit).await?;
        let written = audit.since(&mark)?;

        let count = options.workloads as f64;
        let events = written.iter().filter(|(what, _)| what.contains(" events"));
        let events: usize = events.map(|(_, count)| count).sum();
        Ok(json!({
            "workloads": options.workloads,
            "secondsToApply": rounded(applied.as_secs_f64()),
            "secondsToAllReady": rounded(ready.as_secs_f64()),
            "writesPerWorkload": rounded(own(&written) as f64 / count),
            "eventsPerWorkload": rounded(events as f64 / count),
            "writes": written,
            "cpuSeconds": rounded(busy.cpu - idle.cpu),
            "apiServerCpuSeconds": server,
            "rssMiB": {"idle": rounded(idle.rss), "all": rounded(held.rss)},
            "kibEach": rounded((held.rss - idle.rss) * 1024.0 / count),
        }))
    }

    /// CPU time of the API server.
    fn server_cpu(&self) -> Result<Option<f64>, Failure> {
        Ok(self.server.map(process::usage).transpose()?.map(|usage| usage.cpu))
    }
}

fn spent(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    before.zip(after).map(|(before, after)| rounded(after - before))
}

/// Number of writes for Workloads.
fn own(writes: &BTreeMap<String, usize>) -> usize {
    writes.iter().filter(|(what, _)| !is_apart(what)).map(|(_, count)| count).sum()
}

/// True for writes that do not count for a Workload.
fn is_apart(what: &str) -> bool {
    what.contains(" leases") || what.contains(" events")
}

/// Waits until a program is idle, and returns its usage.
async fn settled(program: &Program, audit: &Audit) -> Result<Usage, Failure> {
    let mut before = (program.usage()?, audit.mark()?);
    loop {
        tokio::time::sleep(QUIET_CHECK_INTERVAL).await;
        let now = (program.usage()?, audit.mark()?);
        let written = audit.since(&before.1)?;
        let is_quiet = written.keys().all(|what| what.contains(" leases"));
        if is_quiet && now.0.cpu - before.0.cpu < 0.05 * QUIET_CHECK_INTERVAL.as_secs_f64() {
            return Ok(now.0);
        }
        before = now;
    }
}

fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_failover_a_write_too_many_and_a_missing_figure_are_over_budget() {
        let figures = json!({
            "writesPerWorkload": 8.7, "eventsPerWorkload": 0.9, "kibEach": 6.8,
            "secondPass": {"writes": 0}, "failoverSeconds": {"led": 3.2, "ready": 4.5},
        });
        assert!(compare(&figures).is_ok());
        for (place, figure, expected) in [
            (
                "/failoverSeconds/ready",
                json!(12.8),
                "failover until a new leader serves a new Workload: 12.80 s",
            ),
            ("/secondPass/writes", json!(1), "writes of a second pass: 1.00"),
            ("/kibEach", json!(40), "RSS per Workload: 40.00 KiB"),
            ("/writesPerWorkload", Json::Null, "writes per Workload: NaN"),
        ] {
            let mut figures = figures.clone();
            if let Some(value) = figures.pointer_mut(place) {
                *value = figure;
            }
            let error = compare(&figures).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
