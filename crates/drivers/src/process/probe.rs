//! Readiness and liveness probes of one run: requests and commands. Core interprets their results
//! ([`orchestra_core::observe::process::health`]).

use std::{collections::BTreeMap, path::PathBuf, process::Stdio};

use http_body_util::Empty;
use hyper::{Request, body::Bytes, header::HOST};
use hyper_util::rt::TokioIo;
use orchestra_api::plan::{HttpGet, Probe};
use orchestra_core::observe::process::health::{
    LIVENESS_START_TIMEOUT, Liveness, PROBE_INTERVAL, PROBE_TIMEOUT, Readiness, SETTLE_TIME,
};
use orchestra_score::model::Scheme;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::{Child, Command},
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::forward;

/// Probes of one run.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    /// Readiness probe.
    pub(super) readiness: Option<Probe>,
    /// Liveness probe.
    pub(super) liveness: Option<Probe>,
    /// Ports that have to accept connections, where there is no readiness probe.
    pub(super) ports: Vec<u16>,
    /// Context of commands.
    pub(super) context: CommandContext,
}

/// Context in which a command is run.
#[derive(Clone)]
pub(super) struct CommandContext {
    /// Words before the command, which enter the namespaces of the run.
    pub(super) prefix: Vec<String>,
    /// Environment.
    pub(super) environment: BTreeMap<String, String>,
    /// Working directory.
    pub(super) folder: PathBuf,
}

impl std::fmt::Debug for CommandContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment may hold secrets.
        f.debug_struct("CommandContext").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Health of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Health {
    /// Ready.
    pub(super) ready: bool,
    /// Its liveness probe has failed too often.
    pub(super) failed_liveness: bool,
}

/// Probes until it is aborted, and publishes each change.
pub(super) async fn watch(probes: Probes, health: watch::Sender<Health>) {
    let began = Instant::now();
    let ready = async {
        let mut readiness = Readiness::default();
        loop {
            let delay = readiness.record(probes.is_ready().await);
            health.send_if_modified(|health| {
                std::mem::replace(&mut health.ready, readiness.ready) != readiness.ready
            });
            if probes.readiness.is_none() && readiness.ready {
                // Without a readiness probe it is ready as long as it runs.
                return std::future::pending::<()>().await;
            }
            sleep(delay).await;
        }
    };
    let alive = async {
        let Some(probe) = &probes.liveness else { return std::future::pending::<()>().await };
        let mut seen = health.subscribe();
        tokio::select! {
            _ = seen.wait_for(|health| health.ready) => {}
            () = sleep_until(began + LIVENESS_START_TIMEOUT) => {}
        }
        let mut liveness = Liveness::default();
        loop {
            sleep(PROBE_INTERVAL).await;
            if liveness.record(probes.succeeds(probe).await) {
                health.send_modify(|health| health.failed_liveness = true);
                return std::future::pending::<()>().await;
            }
        }
    };
    tokio::join!(ready, alive);
}

impl Probes {
    async fn is_ready(&self) -> bool {
        match &self.readiness {
            Some(probe) => self.succeeds(probe).await,
            None if self.ports.is_empty() => {
                sleep(SETTLE_TIME).await;
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
                self.context.run(&probe.exec).await
            }
        };
        timeout(PROBE_TIMEOUT, answer).await.unwrap_or(false)
    }
}

impl CommandContext {
    /// True if a command exits with 0.
    pub(super) async fn run(&self, command: &[String]) -> bool {
        let mut words = self.prefix.iter().chain(command);
        let Some(program) = words.next() else { return false };
        let spawned = Command::new(program)
            .args(words)
            .env_clear()
            .envs(&self.environment)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let Ok(child) = spawned else { return false };
        let mut group = ProcessGroup { child };
        group.child.wait().await.is_ok_and(|status| status.success())
    }
}

/// Process group of a command, killed on drop.
struct ProcessGroup {
    child: Child,
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The process id is not reused until it was waited for.
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(id) = id {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

/// True if a request is answered with 2xx or 3xx.
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
