//! Checks of one run: whether it can do its work, and whether it still lives.
//!
//! While it starts it is asked often, since somebody waits for it; once it is ready, seldom. The check of life begins
//! when it was ready for the first time, so that a slow start is not taken for a death.

use std::{collections::BTreeMap, path::PathBuf, process::Stdio, time::Duration};

use http_body_util::Empty;
use hyper::{Request, body::Bytes, header::HOST};
use hyper_util::rt::TokioIo;
use orchestra_api::plan::{HttpGet, Probe};
use orchestra_score::model::Scheme;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::{Child, Command},
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::forward;

/// How soon it is asked for the first time, and how long at most between two questions while it starts.
const STARTING: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(1));
/// How often it is asked once it is ready.
const PERIOD: Duration = Duration::from_secs(5);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(2);
/// How many answers in a row make a failure.
const FAILURES: u32 = 3;
/// How long something without any check must run before it counts as ready.
const SETTLING: Duration = Duration::from_millis(200);
/// From when on the check of life counts, even if it never was ready.
const SLOW_START: Duration = Duration::from_mins(2);

/// What is asked of one run.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    /// Whether it can do its work.
    pub(super) readiness: Option<Probe>,
    /// Whether it lives.
    pub(super) liveness: Option<Probe>,
    /// Ports that have to answer before it counts as ready, where there is no check.
    pub(super) ports: Vec<u16>,
    /// The surroundings of commands.
    pub(super) surroundings: Surroundings,
}

/// The surroundings in which a command is run.
#[derive(Clone)]
pub(super) struct Surroundings {
    /// What comes before the command: the way into what only the run sees.
    pub(super) entry: Vec<String>,
    /// Its environment.
    pub(super) environment: BTreeMap<String, String>,
    /// Its folder.
    pub(super) folder: PathBuf,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment may hold secrets.
        f.debug_struct("Surroundings").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// How a run fares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Health {
    /// It can do its work.
    pub(super) ready: bool,
    /// Its check of life has failed for good.
    pub(super) dead: bool,
}

/// Asks until it is ended, and tells each change.
pub(super) async fn watch(checks: Checks, health: watch::Sender<Health>) {
    let began = Instant::now();
    let ready = async {
        let mut pause = STARTING.0;
        let mut failures = 0;
        loop {
            let now = checks.is_ready().await;
            let was = health.borrow().ready;
            failures = if now { 0 } else { failures + 1 };
            if now != was && (now || failures >= FAILURES) {
                health.send_modify(|health| health.ready = now);
            }
            if checks.readiness.is_none() && now {
                // There is nothing more to ask: it is ready as long as it runs.
                return std::future::pending::<()>().await;
            }
            pause = if now || was { PERIOD } else { (pause * 2).min(STARTING.1) };
            sleep(pause).await;
        }
    };
    let alive = async {
        let Some(probe) = &checks.liveness else { return std::future::pending::<()>().await };
        let mut seen = health.subscribe();
        tokio::select! {
            _ = seen.wait_for(|health| health.ready) => {}
            () = sleep_until(began + SLOW_START) => {}
        }
        let mut failures = 0;
        loop {
            sleep(PERIOD).await;
            failures = if checks.succeeds(probe).await { 0 } else { failures + 1 };
            if failures >= FAILURES {
                health.send_modify(|health| health.dead = true);
                return std::future::pending::<()>().await;
            }
        }
    };
    tokio::join!(ready, alive);
}

impl Checks {
    async fn is_ready(&self) -> bool {
        match &self.readiness {
            Some(probe) => self.succeeds(probe).await,
            None if self.ports.is_empty() => {
                sleep(SETTLING).await;
                true
            }
            None => {
                for port in &self.ports {
                    if forward::connect(*port).await.is_err() {
                        return false;
                    }
                }
                true
            }
        }
    }

    async fn succeeds(&self, probe: &Probe) -> bool {
        let answer = async {
            if probe.exec.is_empty() {
                match &probe.http_get {
                    Some(get) => answers(get).await,
                    None => true,
                }
            } else {
                self.surroundings.run(&probe.exec).await
            }
        };
        timeout(ANSWER, answer).await.unwrap_or(false)
    }
}

impl Surroundings {
    /// Whether a command ends well.
    pub(super) async fn run(&self, command: &[String]) -> bool {
        let mut words = self.entry.iter().chain(command);
        let Some(program) = words.next() else { return false };
        let begun = Command::new(program)
            .args(words)
            .env_clear()
            .envs(&self.environment)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let Ok(child) = begun else { return false };
        let mut family = Family { child };
        family.child.wait().await.is_ok_and(|status| status.success())
    }
}

/// A command and all that it has started, which end together.
struct Family {
    child: Child,
}

impl Drop for Family {
    fn drop(&mut self) {
        // Its number is its own until it was waited for.
        let group = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Whether a request is answered with success or with the way to somewhere else.
async fn answers(get: &HttpGet) -> bool {
    let ask = async {
        let stream = forward::connect(get.port).await.ok()?;
        let host = get.host.clone().unwrap_or_else(|| format!("localhost:{}", get.port));
        let mut request = Request::get(&get.path);
        let named = get.headers.iter().any(|header| header.name.eq_ignore_ascii_case("host"));
        if !named {
            request = request.header(HOST, &host);
        }
        for header in &get.headers {
            request = request.header(&header.name, &header.value);
        }
        let request = request.body(Empty::<Bytes>::new()).ok()?;
        match get.scheme {
            Scheme::Http => send(stream, request).await,
            Scheme::Https => send(super::tls::wrap(stream, &host).await.ok()?, request).await,
        }
    };
    ask.await.unwrap_or(false)
}

async fn send<S>(stream: S, request: Request<Empty<Bytes>>) -> Option<bool>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await;
    connection.abort();
    Some(answer.is_ok_and(|answer| answer.status().is_success() || answer.status().is_redirection()))
}
