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
//! With `--peer` another control plane is measured in place of the program, with the same load, player and figures. It has
//! definitions of its own, and so needs a cluster of its own; two runs, one after the other, compare the two.
//!
//! It is for a cluster that is thrown away: what it made is left behind.

#![allow(clippy::cast_precision_loss, reason = "figures are printed with one digit")]

mod audit;
mod load;
mod player;
mod process;

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

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long nothing may be written before it counts as over.
const QUIET: Duration = Duration::from_secs(3);

/// What to measure.
#[derive(Debug)]
pub(crate) struct Wish {
    /// The program, built with the profile `dist`.
    pub(crate) program: PathBuf,
    /// What runs another control plane, to measure that one, and what Workloads look like for it.
    pub(crate) peer: Option<(PathBuf, PathBuf)>,
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
    let looks = wish.peer.as_ref().map(|(_, workload)| workload.as_path());
    let cluster = Cluster::reach(&wish.kubeconfig, looks).await?;
    cluster.prepare().await?;
    let playing = tokio::spawn(player::play(cluster.client()));
    let server = process::server_beside(&wish.kubeconfig);
    let bench = Bench { wish, audit, server, cluster };
    let figures = match &wish.peer {
        Some((peer, _)) => bench.peer(peer).await?,
        None => bench.ours().await?,
    };
    playing.abort();
    Ok(figures)
}

struct Bench<'a> {
    wish: &'a Wish,
    audit: Audit,
    /// The process of the API server, where it is on this machine.
    server: Option<u32>,
    cluster: Cluster,
}

impl Bench<'_> {
    /// Measures another control plane.
    async fn peer(&self, peer: &Path) -> Result<Json, Failure> {
        let program = Program::peer(peer, &self.wish.kubeconfig)?;
        let figures = self.bring_up(&program).await?;
        program.end()?;
        Ok(figures)
    }

    /// Measures our program.
    async fn ours(&self) -> Result<Json, Failure> {
        let Self { wish, audit, cluster, .. } = self;
        cluster.install().await?;
        let first = Program::start(&wish.program, &wish.kubeconfig)?;
        let mut figures = self.bring_up(&first).await?;

        eprintln!("the same again, by a process that begins on what is there…");
        first.end()?;
        let mark = audit.mark()?;
        let second = Program::start(&wish.program, &wish.kubeconfig)?;
        cluster.until_led(None).await?;
        let restarted = settled(&second, audit).await?;
        let again = audit.since(&mark)?;
        figures["rssMiB"]["restarted"] = json!(rounded(restarted.rss));
        figures["secondPass"] =
            json!({"writes": own(&again), "byKind": again, "cpuSeconds": rounded(restarted.cpu)});

        eprintln!("a leader that is killed…");
        let leader = cluster.until_led(None).await?;
        let third = Program::start(&wish.program, &wish.kubeconfig)?;
        settled(&third, audit).await?;
        let began = Instant::now();
        second.kill()?;
        cluster.apply_one("after").await?;
        cluster.until_led(Some(&leader)).await?;
        let led = rounded(began.elapsed().as_secs_f64());
        cluster.until_ready(wish.workloads + 1).await?;
        figures["failoverSeconds"] = json!({"led": led, "ready": rounded(began.elapsed().as_secs_f64())});
        third.end()?;

        if !wish.alone {
            eprintln!("{} Workloads with nobody to look at them…", wish.workloads);
            let before = self.server_cpu()?;
            let began = Instant::now();
            cluster.floor(wish.workloads).await?;
            figures["floor"] = json!({
                "seconds": rounded(began.elapsed().as_secs_f64()),
                "apiServerCpuSeconds": spent(before, self.server_cpu()?),
            });
        }
        Ok(figures)
    }

    /// Brings all Workloads up with a control plane that has just been started.
    async fn bring_up(&self, program: &Program) -> Result<Json, Failure> {
        let Self { wish, audit, cluster, .. } = self;
        tokio::select! {
            warm = cluster.warm_up() => warm?,
            why = program.until_ended() => return Err(why),
        }
        let idle = settled(program, audit).await?;
        let server = self.server_cpu()?;

        eprintln!("{} Workloads…", wish.workloads);
        let mark = audit.mark()?;
        let began = Instant::now();
        cluster.apply(wish.workloads).await?;
        let applied = began.elapsed();
        cluster.until_ready(wish.workloads).await?;
        let ready = began.elapsed();
        let busy = program.usage()?;
        let server = spent(server, self.server_cpu()?);
        let held = settled(program, audit).await?;
        let written = audit.since(&mark)?;

        let count = wish.workloads as f64;
        let events = written.iter().filter(|(what, _)| what.contains(" events"));
        let events: usize = events.map(|(_, count)| count).sum();
        Ok(json!({
            "workloads": wish.workloads,
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

    /// The processor time that the API server has used.
    fn server_cpu(&self) -> Result<Option<f64>, Failure> {
        Ok(self.server.map(process::usage).transpose()?.map(|usage| usage.cpu))
    }
}

fn spent(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    before.zip(after).map(|(before, after)| rounded(after - before))
}

/// How many writes were about Workloads.
fn own(writes: &BTreeMap<String, usize>) -> usize {
    writes.iter().filter(|(what, _)| !is_apart(what)).map(|(_, count)| count).sum()
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
