//! Readiness and liveness probes of one run: requests and commands. Core interprets their results
//! ([`orchestra_core::observe::process::health`]).

use std::{collections::BTreeMap, path::PathBuf, process::Stdio};

use http_body_util::Empty;
use hyper::{Request, body::Bytes, header::HOST};
use hyper_util::rt::TokioIo;
use orchestra_api::plan::{HttpGet, Probe};
use orchestra_core::observe::process::{
    ProbeError,
    health::{LIVENESS_START_TIMEOUT, Liveness, PROBE_INTERVAL, PROBE_TIMEOUT, Readiness, SETTLE_TIME},
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Health {
    /// Ready.
    pub(super) ready: bool,
    /// Failure of the last readiness probe.
    pub(super) readiness: Option<ProbeError>,
    /// Failure of the liveness probe, if it has failed too often.
    pub(super) failed_liveness: Option<ProbeError>,
}

/// Probes until it is aborted, and publishes each change.
pub(super) async fn watch(probes: Probes, health: watch::Sender<Health>) {
    let began = Instant::now();
    let ready = async {
        let mut readiness = Readiness::default();
        loop {
            let result = probes.check_ready().await;
            let delay = readiness.record(result.is_ok());
            let current = (readiness.ready, result.err());
            health.send_if_modified(|health| {
                let is_changed = (health.ready, &health.readiness) != (current.0, &current.1);
                (health.ready, health.readiness) = current;
                is_changed
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
            let result = probes.check(probe).await;
            if liveness.record(result.is_ok()) {
                health.send_modify(|health| health.failed_liveness = result.err());
                return std::future::pending::<()>().await;
            }
        }
    };
    tokio::join!(ready, alive);
}

impl Probes {
    async fn check_ready(&self) -> Result<(), ProbeError> {
        match &self.readiness {
            Some(probe) => self.check(probe).await,
            None if self.ports.is_empty() => {
                sleep(SETTLE_TIME).await;
                Ok(())
            }
            None => {
                for port in &self.ports {
                    forward::connect(*port).await.map_err(|_| ProbeError::NoListener(*port))?;
                }
                Ok(())
            }
        }
    }

    async fn check(&self, probe: &Probe) -> Result<(), ProbeError> {
        let answer = async {
            if probe.exec.is_empty() {
                match &probe.http_get {
                    Some(get) => request(get).await,
                    None => Ok(()),
                }
            } else {
                self.context.run(&probe.exec).await
            }
        };
        timeout(PROBE_TIMEOUT, answer).await.unwrap_or(Err(ProbeError::TimedOut))
    }
}

impl CommandContext {
    /// Runs a command. Fails unless it exits with 0.
    pub(super) async fn run(&self, command: &[String]) -> Result<(), ProbeError> {
        let mut words = self.prefix.iter().chain(command);
        let program = words.next().ok_or(ProbeError::NoCommand)?;
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
        let mut group = ProcessGroup { child: spawned.map_err(|_| ProbeError::NoCommand)? };
        let status = group.child.wait().await.map_err(|_| ProbeError::NoCommand)?;
        match status.code() {
            Some(0) => Ok(()),
            Some(code) => Err(ProbeError::ExitCode(code)),
            None => Err(ProbeError::Killed),
        }
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

/// Sends a request. Fails unless it is answered with 2xx or 3xx.
async fn request(get: &HttpGet) -> Result<(), ProbeError> {
    let stream = forward::connect(get.port).await.map_err(|_| ProbeError::ConnectionRefused)?;
    let host = get.host.clone().unwrap_or_else(|| format!("localhost:{}", get.port));
    let mut request = Request::get(&get.path);
    let named = get.headers.iter().any(|header| header.name.eq_ignore_ascii_case("host"));
    if !named {
        request = request.header(HOST, &host);
    }
    for header in &get.headers {
        request = request.header(&header.name, &header.value);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|_| ProbeError::InvalidRequest)?;
    match get.scheme {
        Scheme::Http => send(stream, request).await,
        Scheme::Https => {
            let stream = super::tls::wrap(stream, &host).await.map_err(|_| ProbeError::Tls)?;
            send(stream, request).await
        }
    }
}

async fn send<S>(stream: S, request: Request<Empty<Bytes>>) -> Result<(), ProbeError>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|_| ProbeError::NoResponse)?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await;
    connection.abort();
    let status = answer.map_err(|_| ProbeError::NoResponse)?.status();
    if status.is_success() || status.is_redirection() {
        Ok(())
    } else {
        Err(ProbeError::Status(status.as_u16()))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    fn probes(probe: &serde_json::Value) -> Probes {
        let context =
            CommandContext { prefix: Vec::new(), environment: BTreeMap::new(), folder: PathBuf::from("/") };
        let probe: Probe = serde_json::from_value(probe.clone()).unwrap();
        Probes { readiness: Some(probe), liveness: None, ports: Vec::new(), context }
    }

    /// Port of a server that answers one connection with these bytes.
    async fn server(answer: &'static [u8]) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await.unwrap();
            stream.write_all(answer).await.unwrap();
        });
        port
    }

    /// Port that nothing listens on.
    async fn closed_port() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        listener.local_addr().unwrap().port()
    }

    #[tokio::test]
    async fn a_failed_probe_has_its_cause() {
        let get = |port: u16| json!({"httpGet": {"scheme": "HTTP", "path": "/", "port": port}});
        let unavailable = server(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").await;
        for (probe, expected) in [
            (get(server(b"HTTP/1.1 204 No Content\r\n\r\n").await), Ok(())),
            (get(unavailable), Err(ProbeError::Status(503))),
            (get(server(b"").await), Err(ProbeError::NoResponse)),
            (get(closed_port().await), Err(ProbeError::ConnectionRefused)),
            (json!({"exec": ["sh", "-c", "exit 0"]}), Ok(())),
            (json!({"exec": ["sh", "-c", "exit 4"]}), Err(ProbeError::ExitCode(4))),
            (json!({"exec": ["sh", "-c", "kill -9 $$"]}), Err(ProbeError::Killed)),
            (json!({"exec": ["/nonexistent"]}), Err(ProbeError::NoCommand)),
        ] {
            assert_eq!(probes(&probe).check_ready().await, expected, "{probe}");
        }
        let port = closed_port().await;
        let listening = Probes { readiness: None, ports: vec![port], ..probes(&json!({})) };
        assert_eq!(listening.check_ready().await, Err(ProbeError::NoListener(port)));
    }
}
