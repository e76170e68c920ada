//! Benchmarks of the API server for `benches/RESULTS.md`, with an optional real server in the same run.

mod client;
mod load;
mod process;

use crate::budgets::{self, Verdict};
use load::Target;
use orchestra_apiserver::store::{Folder, Redb};
use orchestra_apiserver::{Api, Options};
use process::{Controllers, Embedded};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Any error of a measurement.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const OBJECTS: usize = 10_000;
const LISTS: usize = 9;
const WATCHERS: usize = 200;
const WRITES: usize = 50;
/// Rounds in which the servers alternate, so that noise of the machine affects both.
const ROUNDS: u32 = 4;
/// Starts of the server with all controllers.
const STARTS: usize = 5;
/// Time until the server with all controllers is idle.
const SETTLE_TIME: Duration = Duration::from_secs(20);
/// Processes of a real server.
const REAL: [&str; 2] = ["kube-apiserver", "etcd"];

/// Prints a table, and compares it with the budgets. `time` is the duration of writes to each server at each number of connections.
pub(crate) fn run(program: Option<PathBuf>, real: Option<&Path>, time: Duration) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return Err("run it with `cargo run --profile dist -p xtask -- bench-api`".to_owned());
    }
    let program = program.map_or_else(crate::bench::program, Ok)?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    runtime.block_on(measure(&program, real, time)).map_err(|error| error.to_string())
}

async fn measure(program: &Path, real: Option<&Path>, time: Duration) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let real = match real {
        Some(kubeconfig) => {
            let ids = process::named(&REAL)?;
            Some(Server { target: Target::prepare(kubeconfig).await?, ids, process: None })
        }
        None => None,
    };
    let mut bench = Bench { program: program.to_owned(), data, real, verdict: Verdict::default() };
    let result = bench.measure(time).await;
    if let Some(real) = bench.real {
        real.target.remove().await?;
    }
    result?;
    Ok(bench.verdict.finish()?)
}

/// Server, its processes, and the process that we own.
struct Server {
    target: Target,
    ids: Vec<u32>,
    process: Option<Embedded>,
}

struct Bench {
    program: PathBuf,
    data: PathBuf,
    real: Option<Server>,
    verdict: Verdict,
}

impl Bench {
    async fn measure(&mut self, time: Duration) -> Result<(), Failure> {
        println!("| what | embedded | real | embedded is better by |\n|---|---|---|---|");
        self.with_controllers().await?;
        let (process, took) = Embedded::start(&self.program, &self.data, Controllers::None).await?;
        row("start to first answer, fresh", ms(took), None, Better::Less);
        self.verdict.check(&budgets::API_START, ms(took).0);
        let target = Target::prepare(&self.data.join("kubeconfig")).await?;
        let mut embedded = Server { target, ids: vec![process.id()], process: Some(process) };
        let memory = self.memory("memory (RSS) after the start", &embedded)?;
        self.verdict.check(&budgets::API_MEMORY, memory);

        let ours = embedded.target.fan_out(WATCHERS, WRITES).await?;
        let theirs = match &self.real {
            Some(real) => Some(real.target.fan_out(WATCHERS, WRITES).await?),
            None => None,
        };
        durations(&format!("a write reaches {WATCHERS} watchers"), ours, theirs);

        self.lists(&embedded).await?;
        self.memory(&format!("memory (RSS) with {OBJECTS} objects, listed {LISTS} times"), &embedded)?;
        embedded = self.restarts(embedded).await?;
        for (connections, budget) in &budgets::API_CREATES {
            let ratio = self.creates(&embedded, *connections, time).await?;
            if let Some(ratio) = ratio {
                self.verdict.check(budget, ratio);
            }
        }
        Ok(())
    }

    /// Starts the server with all controllers several times, and measures its memory when it is idle.
    async fn with_controllers(&mut self) -> Result<(), Failure> {
        let mut times = Vec::new();
        for start in 1..=STARTS {
            let folder = tempfile::tempdir()?;
            let (process, took) = Embedded::start(&self.program, folder.path(), Controllers::All).await?;
            times.push(took);
            if start == STARTS {
                tokio::time::sleep(SETTLE_TIME).await;
                let memory = process::memory(&[process.id()])?;
                row("`orchestra serve`: memory (RSS) when idle", (memory, "MiB"), None, Better::Less);
                self.verdict.check(&budgets::SERVE_IDLE_MEMORY, memory);
            }
            process.stop()?;
        }
        let worst = percentile(&mut times, 100);
        let what = format!("`orchestra serve`: start to first answer, worst of {STARTS}");
        row(&what, (worst, "ms"), None, Better::Less);
        self.verdict.check(&budgets::SERVE_START, worst);
        Ok(())
    }

    /// Prints the memory, and returns that of the embedded server in MiB.
    fn memory(&self, what: &str, embedded: &Server) -> Result<f64, Failure> {
        let real = self.real.as_ref().map(|real| process::memory(&real.ids)).transpose()?;
        let ours = process::memory(&embedded.ids)?;
        row(what, (ours, "MiB"), real, Better::Less);
        Ok(ours)
    }

    async fn lists(&self, embedded: &Server) -> Result<(), Failure> {
        let mut times = [Vec::new(), Vec::new()];
        let mut sizes = [None, None];
        for _ in 0..LISTS {
            for (at, server) in [Some(embedded), self.real.as_ref()].into_iter().enumerate() {
                let Some(server) = server else { continue };
                if sizes[at].is_none() {
                    server.target.fill(OBJECTS).await?;
                }
                let (answer, took) = server.target.list().await?;
                sizes[at] = Some(f64::from(u32::try_from(answer.len())?) / 1e6);
                times[at].push(took);
            }
        }
        let [ours, theirs] = times;
        durations(&format!("list of {OBJECTS}"), ours, self.real.as_ref().map(|_| theirs));
        row("its size", (sizes[0].unwrap_or_default(), "MB"), sizes[1], Better::Less);
        Ok(())
    }

    /// Stops and kills the embedded server, and restarts it with all objects.
    async fn restarts(&mut self, mut embedded: Server) -> Result<Server, Failure> {
        drop(embedded.process.take());
        let (process, took) = Embedded::start(&self.program, &self.data, Controllers::None).await?;
        row(&format!("start with {OBJECTS} objects, after `kill -9`"), ms(took), None, Better::Less);
        process.stop()?;
        let copy = tempfile::tempdir()?;
        std::fs::copy(self.data.join("objects.redb"), copy.path().join("objects.redb"))?;
        let started = Instant::now();
        let api = Api::open(Redb::open(Folder::hold(copy.path())?)?, Options::default()).await?;
        let took = ms(started.elapsed());
        row(&format!("opening {OBJECTS} objects, in the process"), took, None, Better::Less);
        self.verdict.check(&budgets::API_OPEN, took.0);
        api.stop();
        let (process, took) = Embedded::start(&self.program, &self.data, Controllers::None).await?;
        row(&format!("start with {OBJECTS} objects"), ms(took), None, Better::Less);
        embedded = Server {
            target: Target::new(&self.data.join("kubeconfig"))?,
            ids: vec![process.id()],
            process: Some(process),
        };
        self.memory(&format!("memory (RSS) after a start with {OBJECTS} objects"), &embedded)?;
        Ok(embedded)
    }

    /// Creates objects, and returns the ratio of the rates, if there is a real server.
    async fn creates(
        &self,
        embedded: &Server,
        connections: usize,
        time: Duration,
    ) -> Result<Option<f64>, Failure> {
        let mut figures = [Creates::default(), Creates::default()];
        let name = connections.to_string();
        let ours = embedded.target.beside(&name).await?;
        let theirs = match &self.real {
            Some(real) => Some(real.target.beside(&name).await?),
            None => None,
        };
        for round in 0..ROUNDS {
            let both = [Some(embedded).zip(Some(&ours)), self.real.as_ref().zip(theirs.as_ref())];
            for (at, server) in both.into_iter().enumerate() {
                let Some((server, target)) = server else { continue };
                let (computed, started) = (process::computed(&server.ids)?, Instant::now());
                let prefix = format!("create-{connections}-{round}");
                let took = target.create_for(connections, &prefix, time / ROUNDS).await?;
                figures[at].time += started.elapsed();
                figures[at].computed += process::computed(&server.ids)?.saturating_sub(computed);
                figures[at].took.extend(took);
            }
        }
        if let Some(theirs) = theirs {
            theirs.remove().await?;
        }
        let [ours, theirs] = figures;
        let theirs = self.real.as_ref().map(|_| theirs);
        let what = format!("creates at {connections} connections");
        row(&what, (ours.rate(), "/s"), theirs.as_ref().map(Creates::rate), Better::More);
        let each = |creates: &Creates| ms(creates.computed).0 / creates.count();
        row(&format!("{what}: CPU time each"), (each(&ours), "ms"), theirs.as_ref().map(each), Better::Less);
        let ratio = theirs.as_ref().map(|theirs| ours.rate() / theirs.rate());
        durations(&what, ours.took, theirs.map(|theirs| theirs.took));
        Ok(ratio)
    }
}

#[derive(Default)]
struct Creates {
    took: Vec<Duration>,
    time: Duration,
    computed: Duration,
}

impl Creates {
    fn count(&self) -> f64 {
        f64::from(u32::try_from(self.took.len()).unwrap_or(u32::MAX))
    }

    fn rate(&self) -> f64 {
        self.count() / self.time.as_secs_f64()
    }
}

#[derive(Clone, Copy)]
enum Better {
    Less,
    More,
}

/// Median and 99th percentile, one row each.
fn durations(what: &str, mut ours: Vec<Duration>, mut theirs: Option<Vec<Duration>>) {
    for percent in [50, 99] {
        let theirs = theirs.as_mut().map(|theirs| percentile(theirs, percent));
        row(&format!("{what}: p{percent}"), (percentile(&mut ours, percent), "ms"), theirs, Better::Less);
    }
}

fn percentile(durations: &mut [Duration], percent: usize) -> f64 {
    durations.sort_unstable();
    let rank = (durations.len().saturating_sub(1) * percent).div_ceil(100);
    ms(durations.get(rank).copied().unwrap_or_default()).0
}

fn ms(duration: Duration) -> (f64, &'static str) {
    (duration.as_secs_f64() * 1e3, "ms")
}

fn row(what: &str, (ours, unit): (f64, &str), theirs: Option<f64>, better: Better) {
    let digits = |number: f64| if number < 10.0 { 2 } else { 0 };
    let (mut real, mut ratio) = (String::new(), String::new());
    if let Some(theirs) = theirs {
        real = format!("{theirs:.0$} {unit}", digits(theirs));
        let by = match better {
            Better::Less => theirs / ours,
            Better::More => ours / theirs,
        };
        ratio = format!("{by:.1}×");
    }
    println!("| {what} | {ours:.0$} {unit} | {real} | {ratio} |", digits(ours));
}
