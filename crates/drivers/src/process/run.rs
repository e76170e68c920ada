//! Runs, from the platform's side: launch, find, stop, wait.
//!
//! Nothing is kept in memory: all state of a run is in its folder, so that a restarted platform knows as much as the one that
//! launched it. [`find`] and [`stop`] take a few system calls and do not wait.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::{
    fd::OwnedFd,
    process::{Signal, pidfd_send_signal},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, Interest, unix::AsyncFd},
    process::{Child, Command},
};

use super::{Exit, LaunchSpec, Run, identity, lock, shim};

/// Launcher of shims.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The orchestra binary, which has the commands of [`super::hidden`].
    pub program: PathBuf,
}

/// Reason why a run was not launched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Another run is in the folder.
    #[error("Another run is active in `{}`.", .0.display())]
    Busy(PathBuf),
    /// Another run was in the folder: each run has its own.
    #[error("`{}` belongs to an earlier run.", .0.display())]
    Used(PathBuf),
    /// The system refused.
    #[error("The shim of the program could not be started: {0}.")]
    Io(#[source] io::Error),
    /// The shim refused, with the error that it printed.
    #[error("The shim of the program could not be started: {0}.")]
    Shim(String),
    /// The shim exited without an answer, with this code unless a signal killed it.
    #[error("The shim of the program exited before it was ready{}.", .0.map(|code| format!(" (exit code {code})")).unwrap_or_default())]
    ShimExited(Option<u8>),
}

/// State of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no run.
    Absent,
    /// The shim has the lock and has not written its identity yet.
    Starting,
    /// It runs.
    Running(Run),
    /// It has exited, and no process of it is left.
    Ended(Exit),
    /// Its shim was killed: the exit status is unknown, and processes may be left ([`super::reap`]).
    Lost(Run),
}

/// Result of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The shim was signalled; [`wait`] returns when it has exited.
    Signalled,
    /// No shim runs.
    NotRunning,
}

impl Launcher {
    /// Starts a shim in a folder that exists. Returns when the shim has written its identity, so that it is found even if this
    /// process is killed, or with the error. Whether the program starts is seen from its end.
    ///
    /// If this future is dropped before, nothing is started: a shim without a complete specification exits.
    pub async fn launch(&self, folder: &Path, spec: &LaunchSpec) -> Result<(), LaunchError> {
        let failed = LaunchError::Io;
        let text = serde_json::to_vec(spec).map_err(|error| failed(error.into()))?;
        let folder = std::path::absolute(folder).map_err(failed)?;
        let mut child = self.spawn("__shim", &folder).map_err(failed)?;
        let answer = hand_over(&mut child, &text).await.map_err(failed)?;
        if answer == shim::NOTED {
            // Reaps the child while the platform lives.
            tokio::spawn(async move { child.wait().await });
            return Ok(());
        }
        let code = child.wait().await.map_err(failed)?.code().and_then(|code| u8::try_from(code).ok());
        Err(match code {
            Some(shim::HELD) => LaunchError::Busy(folder),
            Some(shim::USED) => LaunchError::Used(folder),
            code if answer.is_empty() => LaunchError::ShimExited(code),
            _ => LaunchError::Shim(answer),
        })
    }

    /// True if this machine allows the mount namespaces that files and mounts need; really tries one. `folder` is any folder that
    /// exists. The answer does not change while the platform runs.
    pub async fn can_place_files(&self, folder: &Path) -> bool {
        let Ok(folder) = std::path::absolute(folder) else { return false };
        let Ok(mut child) = self.spawn("__probe", &folder) else { return false };
        child.wait().await.is_ok_and(|status| status.success())
    }

    /// Child that shares nothing with this process: no descriptors, environment, directory.
    fn spawn(&self, command: &str, folder: &Path) -> io::Result<Child> {
        // Our own descriptors are close-on-exec; this is for inherited ones.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        Command::new(&self.program)
            .arg(command)
            .arg(folder)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }
}

/// Sends the specification to a shim; returns its answer.
async fn hand_over(child: &mut Child, spec: &[u8]) -> io::Result<String> {
    if let Some(mut stdin) = child.stdin.take() {
        // A shim that refuses does not read.
        stdin.write_all(spec).await.ok();
    }
    let mut answer = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut answer).await?;
    }
    Ok(answer)
}

/// State of the run in a folder.
pub fn find(folder: &Path) -> io::Result<State> {
    // The lock first: records that are read when it is free are final.
    if lock::is_locked(folder)? {
        return Ok(match Run::read(folder)? {
            Some(run) if identity::open_shim(&run)?.is_some() => State::Running(run),
            _ => State::Starting,
        });
    }
    Ok(match (Exit::read(folder)?, Run::read(folder)?) {
        (Some(exit), _) => State::Ended(exit),
        (None, Some(run)) => State::Lost(run),
        (None, None) => State::Absent,
    })
}

/// Asks the shim of a folder to stop its program: SIGTERM to its process group, and after the grace period SIGKILL to all
/// descendants. Never signals a process that reused the id of the shim.
pub fn stop(folder: &Path) -> io::Result<Stopped> {
    let Some(pidfd) = open_shim(folder)? else { return Ok(Stopped::NotRunning) };
    match pidfd_send_signal(&pidfd, Signal::TERM) {
        Ok(()) => Ok(Stopped::Signalled),
        Err(rustix::io::Errno::SRCH) => Ok(Stopped::NotRunning),
        Err(error) => Err(error.into()),
    }
}

/// Waits until the shim of a folder has exited, whichever process launched it. Returns the state; at once, if none runs.
pub async fn wait(folder: &Path) -> io::Result<State> {
    if let Some(pidfd) = open_shim(folder)? {
        wait_exit(pidfd).await?;
    }
    find(folder)
}

/// Waits until the process of a pidfd has exited.
pub(super) async fn wait_exit(pidfd: OwnedFd) -> io::Result<()> {
    watch(pidfd)?.readable().await?.retain_ready();
    Ok(())
}

/// Waits for a descriptor to become readable. The call is deprecated since a type could lie about the descriptor that it owns;
/// this one cannot, and the replacement is unsafe.
#[allow(deprecated)]
pub(super) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// Pidfd of the shim of a folder, if it runs.
pub(super) fn open_shim(folder: &Path) -> io::Result<Option<OwnedFd>> {
    let Some(run) = Run::read(folder)? else { return Ok(None) };
    let Some(pidfd) = identity::open_shim(&run)? else { return Ok(None) };
    Ok(lock::is_locked(folder)?.then_some(pidfd))
}

/// Removes the folder of a run that was never recorded. A shim that is late exits, since it finds no folder.
pub(super) fn discard(folder: &Path) -> io::Result<()> {
    let aside = folder.with_file_name("never");
    fs::rename(folder, &aside)?;
    if matches!(find(&aside)?, State::Absent) {
        fs::remove_dir_all(&aside)
    } else {
        fs::rename(&aside, folder)
    }
}
