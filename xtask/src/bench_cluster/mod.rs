//! Our half of the side-by-side on a real API server, for `benches/RESULTS.md`: how soon many Workloads are ready, what that
//! writes, and what it costs.
//!
//! The program runs as users run it, in a process of its own. Nobody runs containers: a player in this process says of every
//! Deployment that it is ready as soon as it is there ([`player`]), so that only the control plane is measured. What was
//! written is read from the server's own audit log ([`audit`]), not from what we believe to have sent.
//!
//! The same Workloads are also stored with nobody to look at them, and a bare Deployment and Service made for each: what that
//! takes is the floor, below which no control plane can come on this machine.
//!
//! And they are stored once more with the writes that the predecessor made for each ([`predecessor`]), which cannot be had here
//! itself: the ratio to it is one of the same run on the same machine.
//!
//! It is for a cluster that is thrown away: what it made is left behind.

#![allow(clippy::cast_precision_loss, reason = "figures are printed with one digit")]

mod audit;
mod load;
mod player;
mod predecessor;
mod process;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use self::{
    audit::Audit,
    load::Cluster,
    process::{Program, Usage},
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long nothing may be written before it counts as over.
const QUIET: Duration = Duration::from_secs(3);

/// What is measured beside the program, and in which words.
const COMPARED: [(&str, &str); 2] =
    [("predecessorsWrites", "the writes of the predecessor"), ("floor", "nobody to look at them")];

/// What to measure.
#[derive(Debug)]
pub(crate) struct Wish {
    /// The program, built for release.
    pub(crate) program: PathBuf,
    /// How to reach the cluster.
    pub(crate) kubeconfig: PathBuf,
    /// The log of what was written [default: `audit.log` beside the kubeconfig].
    pub(crate) audit: Option<PathBuf>,
    /// How many Workloads.
    pub(crate) workloads: usize,
    /// Whether only the program is measured, and nothing to compare it with.
    pub(crate) alone: bool,
    /// Whether the figures are printed as JSON.
    pub(crate) json: bool,
}

/// Measures, and prints what was measured.
pub(crate) fn run(wish: &Wish) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let figures = runtime.block_on(measure(wish)).map_err(|error| error.to_string())?;
    if wish.json {
        println!("{figures:#}");
    } else {
        for (name, figure) in figures.as_object().into_iter().flatten() {
            println!("{name}: {figure}");
        }
    }
    Ok(())
}

async fn measure(wish: &Wish) -> Result<Json, Failure> {
    let beside = wish.kubeconfig.with_file_name("audit.log");
    let audit = Audit::open(wish.audit.as_deref().unwrap_or(&beside))?;
    let server = process::server_beside(&wish.kubeconfig);
    let cluster = Cluster::reach(&wish.kubeconfig).await?;
    cluster.prepare().await?;
    let playing = tokio::spawn(player::play(cluster.client()));

    let first = Program::start(&wish.program, &wish.kubeconfig)?;
    cluster.warm_up().await?;
    let idle = settled(&first, &audit).await?;
    let server_before = server.map(process::usage).transpose()?;

    eprintln!("{} Workloads…", wish.workloads);
    let mark = audit.mark()?;
    let began = Instant::now();
    cluster.apply(wish.workloads).await?;
    let applied = began.elapsed();
    cluster.until_ready(wish.workloads).await?;
    let ready = began.elapsed();
    let busy = first.usage()?;
    let server_after = server.map(process::usage).transpose()?;
    let held = settled(&first, &audit).await?;
    let written = audit.since(&mark)?;

    eprintln!("the same again, by a process that begins on what is there…");
    first.end()?;
    let mark = audit.mark()?;
    let second = Program::start(&wish.program, &wish.kubeconfig)?;
    cluster.until_led(None).await?;
    let restarted = settled(&second, &audit).await?;
    let again = audit.since(&mark)?;

    eprintln!("a leader that is killed…");
    let leader = cluster.until_led(None).await?;
    let third = Program::start(&wish.program, &wish.kubeconfig)?;
    settled(&third, &audit).await?;
    let began = Instant::now();
    second.kill()?;
    cluster.apply_one("after").await?;
    cluster.until_led(Some(&leader)).await?;
    let led = began.elapsed();
    cluster.until_ready(wish.workloads + 1).await?;
    let failover = began.elapsed();
    third.end()?;

    let mut compared = Vec::new();
    for (name, what) in COMPARED.into_iter().filter(|_| !wish.alone) {
        eprintln!("{} Workloads with {what}…", wish.workloads);
        let before = server.map(process::usage).transpose()?;
        let began = Instant::now();
        match name {
            "floor" => cluster.floor(wish.workloads).await?,
            _ => predecessor::play(cluster.client(), wish.workloads).await?,
        }
        compared.push((name, began.elapsed(), before, server.map(process::usage).transpose()?));
    }
    playing.abort();

    let count = wish.workloads as f64;
    let own = |writes: &BTreeMap<String, usize>| -> usize {
        writes.iter().filter(|(what, _)| !is_apart(what)).map(|(_, count)| count).sum()
    };
    let events: usize =
        written.iter().filter(|(what, _)| what.contains(" events")).map(|(_, count)| count).sum();
    let spent = |before: Option<Usage>, after: Option<Usage>| {
        before.zip(after).map(|(before, after)| rounded(after.cpu - before.cpu))
    };
    let mut figures = json!({
        "workloads": wish.workloads,
        "secondsToApply": rounded(applied.as_secs_f64()),
        "secondsToAllReady": rounded(ready.as_secs_f64()),
        "writesPerWorkload": rounded(own(&written) as f64 / count),
        "eventsPerWorkload": rounded(events as f64 / count),
        "writes": written,
        "cpuSeconds": rounded(busy.cpu - idle.cpu),
        "apiServerCpuSeconds": spent(server_before, server_after),
        "rssMiB": {
            "idle": rounded(idle.rss), "all": rounded(held.rss), "restarted": rounded(restarted.rss),
        },
        "kibEach": {
            "all": rounded((held.rss - idle.rss) * 1024.0 / count),
            "restarted": rounded((restarted.rss - idle.rss) * 1024.0 / count),
        },
        "secondPass": {"writes": own(&again), "byKind": again, "cpuSeconds": rounded(restarted.cpu)},
        "failoverSeconds": {"led": rounded(led.as_secs_f64()), "ready": rounded(failover.as_secs_f64())},
    });
    for (name, took, before, after) in compared {
        figures[name] = json!({
            "seconds": rounded(took.as_secs_f64()), "apiServerCpuSeconds": spent(before, after),
            "oursIsTimes": rounded(ready.as_secs_f64() / took.as_secs_f64()),
        });
    }
    Ok(figures)
}

/// What is not counted with the writes about a Workload.
fn is_apart(what: &str) -> bool {
    what.contains(" leases") || what.contains(" events")
}

/// Waits until a program has nothing to do any more, and tells what it has used up to then.
async fn settled(program: &Program, audit: &Audit) -> Result<Usage, Failure> {
    let mut before = (program.usage()?, audit.mark()?);
    loop {
        tokio::time::sleep(QUIET).await;
        let now = (program.usage()?, audit.mark()?);
        let written = audit.since(&before.1)?;
        let is_quiet = written.keys().all(|what| what.contains(" leases"));
        if is_quiet && now.0.cpu - before.0.cpu < 0.05 * QUIET.as_secs_f64() {
            return Ok(now.0);
        }
        before = now;
    }
}

fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}
