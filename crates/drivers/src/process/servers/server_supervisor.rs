//! Supervisor of one database server: adopts it after a crash of the platform, starts it, waits until it is ready, restarts
//! it when it exits, stops it when no instance needs it. The server itself is described by its [`ServerProgram`]; its runs
//! are those of a [`Program`], like the runs of containers.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use orchestra_api::plan::Amounts;
use orchestra_core::observe::process::restart::restart_backoff;
use tokio::{sync::watch, task::JoinSet, time::sleep};

use super::{INSTALL_CHECK_INTERVAL, not_installed::NotInstalled, port};
use crate::process::{
    self, Launcher,
    limits::Limits,
    prepare::PreparedProgram,
    program::{Program, Stage},
};

/// First interval of readiness checks; it doubles. A server whose data exists is ready within a few of them.
const FIRST_READY_CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Longest interval of readiness checks: short enough that users do not notice.
const MAX_READY_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Delay before the first restart; shorter than that of Workloads, since those wait for it.
const FIRST_RESTART_BACKOFF: Duration = Duration::from_millis(100);
/// Delay before the retry of a stop that failed.
const STOP_RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Grace period of a stop: a server may have to write its last pages.
const GRACE_PERIOD: Duration = Duration::from_secs(20);

/// Description of a server.
pub(super) trait ServerProgram: Send + Sync + 'static {
    /// Name, as users call it.
    fn name(&self) -> &'static str;

    /// Creates what the server needs, and returns the command that starts it on a port. Called only while it is down.
    fn prepare(&self, port: u16) -> BoxFuture<'_, Result<Vec<String>, StartError>>;

    /// True if it accepts requests.
    fn is_ready(&self, port: u16) -> BoxFuture<'_, bool>;

    /// True if an adopted server has the configuration with which it would be started now.
    fn is_current(&self, port: u16) -> bool;

    /// Speeds up a server that was asked to stop.
    fn stop_fast(&self, run: &Path) -> io::Result<()>;
}

/// Reason why a server is not up.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// It cannot be run on this machine.
    #[error(transparent)]
    NotInstalled(#[from] NotInstalled),
    /// Its data folder could not be initialised.
    #[error("initdb failed ({status}): {message}")]
    Init {
        /// Exit status of `initdb`.
        status: ExitStatus,
        /// Its last error message.
        message: String,
    },
    /// It has exited.
    #[error("{how}; its log is in `{}`", run.display())]
    Exited {
        /// Part of a sentence: `exit code 1`.
        how: String,
        /// Folder of the run.
        run: PathBuf,
    },
    /// The machine refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Stage of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerStage {
    /// It has not been ready yet, as far as this platform has seen.
    Starting(String),
    /// It is ready.
    Up {
        /// Port on the loopback address.
        port: u16,
    },
    /// It was ready, and is being restarted.
    Down(String),
    /// It cannot be run on this machine.
    Unavailable(String),
    /// It is stopped, as desired.
    Stopped,
}

/// Handle of a supervisor. The server keeps running when it is dropped.
pub(super) struct ServerSupervisor {
    name: &'static str,
    wanted: watch::Sender<bool>,
    stage: Arc<watch::Sender<ServerStage>>,
    _task: JoinSet<()>,
}

impl fmt::Debug for ServerSupervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSupervisor").field("stage", &*self.stage.borrow()).finish_non_exhaustive()
    }
}

impl ServerSupervisor {
    /// Starts to supervise a server whose runs and port are in a folder. `notify` is called when the stage has changed.
    pub(super) fn start(
        server: Arc<dyn ServerProgram>,
        folder: PathBuf,
        launcher: &Launcher,
        wanted: bool,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (wanted, wanted_changes) = watch::channel(wanted);
        let name = server.name();
        let stage = Arc::new(watch::Sender::new(ServerStage::Starting(starting(name))));
        let program = program(&folder, launcher);
        let task = Task { server, folder, program, stage: Arc::clone(&stage), notify: Box::new(notify) };
        let mut tasks = JoinSet::new();
        tasks.spawn(task.run(wanted_changes));
        Self { name, wanted, stage, _task: tasks }
    }

    /// Sets whether the server has to be up. From then on a server that has to be up does not count as stopped.
    pub(super) fn set_wanted(&self, wanted: bool) {
        if wanted {
            self.stage.send_if_modified(|stage| {
                let is_stopped = *stage == ServerStage::Stopped;
                if is_stopped {
                    *stage = ServerStage::Starting(starting(self.name));
                }
                is_stopped
            });
        }
        self.wanted.send_if_modified(|now| std::mem::replace(now, wanted) != wanted);
    }

    /// Stage of the server.
    pub(super) fn stage(&self) -> ServerStage {
        self.stage.borrow().clone()
    }
}

/// Message for a server that is starting.
pub(super) fn starting(name: &str) -> String {
    format!("{name} is starting.")
}

/// The program of a server whose runs are below a folder.
pub(super) fn program(folder: &Path, launcher: &Launcher) -> Program {
    Program::new(folder.join("runs"), launcher.clone(), Limits::None)
}

/// Creates the folder of a server, readable by its user alone.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

struct Task {
    server: Arc<dyn ServerProgram>,
    folder: PathBuf,
    program: Program,
    stage: Arc<watch::Sender<ServerStage>>,
    notify: Box<dyn Fn() + Send + Sync>,
}

impl Task {
    async fn run(mut self, mut wanted: watch::Receiver<bool>) {
        loop {
            let is_wanted = *wanted.borrow_and_update();
            let act = async {
                if is_wanted {
                    let error = self.run_once().await;
                    self.back_off(error).await;
                } else if let Err(error) = self.stop().await {
                    tracing::warn!(server = self.server.name(), %error, "a server could not be stopped");
                    sleep(STOP_RETRY_INTERVAL).await;
                } else {
                    self.program.set_failures(0);
                    self.publish(ServerStage::Stopped);
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                changed = wanted.changed() => if changed.is_err() { return },
                () = act => {}
            }
        }
    }

    /// Adopts or starts the server, and stays until it has exited.
    async fn run_once(&mut self) -> StartError {
        if *self.stage.borrow() == ServerStage::Stopped {
            self.publish(ServerStage::Starting(starting(self.server.name())));
        }
        let port = match self.adopt_or_start().await {
            Ok(port) => port,
            Err(error) => {
                self.program.set_failures(self.program.failures() + 1);
                return error;
            }
        };
        if let Some(run) = self.program.running().map(Path::to_owned) {
            let exited = tokio::select! {
                exited = Program::wait_exit(run.clone()) => Some(exited),
                () = self.until_ready(port) => None,
            };
            let exited = if let Some(exited) = exited {
                exited
            } else {
                self.program.set_ready(true);
                self.publish(ServerStage::Up { port });
                Program::wait_exit(run).await
            };
            if let Err(error) = exited.and(self.program.record_end(None).await) {
                return error.into();
            }
        }
        let how = match self.program.stage() {
            Some(Stage::Ended { how, .. }) => how.clone(),
            _ => "it does not exit".to_owned(),
        };
        StartError::Exited { how, run: self.program.last_run().unwrap_or(&self.folder).to_owned() }
    }

    async fn adopt_or_start(&mut self) -> Result<u16, StartError> {
        self.program.adopt().await?;
        if self.program.is_up() {
            match port::kept(&self.folder) {
                Some(port) if self.server.is_current(port) => return Ok(port),
                _ => self.stop().await?,
            }
        }
        create_folder(&self.folder)?;
        let port = port::choose(&self.folder).await?;
        let program = PreparedProgram {
            command: self.server.prepare(port).await?,
            environment: BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]),
            folder: "/".into(),
            files: Vec::new(),
            mounts: Vec::new(),
        };
        self.program.start(None, &program, &Amounts::default(), GRACE_PERIOD).await;
        Ok(port)
    }

    async fn until_ready(&self, port: u16) {
        let mut pause = FIRST_READY_CHECK_INTERVAL;
        while !self.server.is_ready(port).await {
            sleep(pause).await;
            pause = (pause * 2).min(MAX_READY_CHECK_INTERVAL);
        }
    }

    /// Publishes why the server is not up, and waits before the next attempt.
    async fn back_off(&self, error: StartError) {
        let name = self.server.name();
        if let StartError::NotInstalled(why) = error {
            self.publish(ServerStage::Unavailable(why.to_string()));
            sleep(INSTALL_CHECK_INTERVAL).await;
            return;
        }
        tracing::warn!(server = name, %error, failures = self.program.failures(), "a server is not up");
        let message = format!("{name} is restarting: {}.", error.to_string().trim_end_matches('.'));
        let was_up = matches!(*self.stage.borrow(), ServerStage::Up { .. } | ServerStage::Down(_));
        self.publish(if was_up { ServerStage::Down(message) } else { ServerStage::Starting(message) });
        sleep(restart_backoff(FIRST_RESTART_BACKOFF, self.program.failures())).await;
    }

    /// Stops the server, and waits until no process of it is left.
    async fn stop(&mut self) -> io::Result<()> {
        self.program.adopt().await?;
        while let Some(run) = self.program.begin_stop() {
            process::stop(&run)?;
            self.server.stop_fast(&run)?;
            Program::wait_exit(run).await?;
            self.program.adopt().await?;
        }
        Ok(())
    }

    fn publish(&self, stage: ServerStage) {
        let is_new = self.stage.send_if_modified(|now| {
            let is_new = *now != stage;
            *now = stage;
            is_new
        });
        if is_new {
            (self.notify)();
        }
    }
}
