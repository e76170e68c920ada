//! The platform's side: starts shims, finds them again, stops them, learns of their end.
//!
//! Nothing is remembered here: whatever the platform knows of a run it reads from its folder, so that a platform that
//! was started anew knows as much as the one that launched it. [`find`] and [`stop`] take a few system calls and do not
//! wait.

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

use super::{Exit, Order, Run, identity, lock, shim};

/// Starts shims.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program whose hidden commands are in [`super::hidden`]: the orchestra binary.
    pub program: PathBuf,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Somebody runs in the folder.
    #[error("Something runs in `{}` already.", .0.display())]
    Held(PathBuf),
    /// Something ran in the folder before: each run has a folder of its own.
    #[error("Something ran in `{}` before.", .0.display())]
    Used(PathBuf),
    /// The shim could not begin.
    #[error("The supervisor of the program could not be started: {0}.")]
    Failed(String),
}

/// How a run fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing ran here.
    Absent,
    /// A shim is here and has not said who it is: it is just starting.
    Starting,
    /// It runs.
    Running(Run),
    /// It has ended, and nothing of it is left.
    Ended(Exit),
    /// Its shim was killed: how it ended is not known, and something of it may be left ([`super::sweep`]).
    Lost(Run),
}

/// What became of a wish to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The shim was asked; [`ended`] tells when it is done.
    Asked,
    /// Nothing runs that could be stopped.
    NotRunning,
}

impl Launcher {
    /// Starts a shim in a folder that exists, with an order. Returns when it has noted itself there, so that it is
    /// found whatever happens to this process, or with the reason. Whether the program then starts is told by its end.
    ///
    /// If this is given up half-way nothing is started: a shim without a whole order ends.
    pub async fn launch(&self, folder: &Path, order: &Order) -> Result<(), LaunchError> {
        let failed = |error: io::Error| LaunchError::Failed(error.to_string());
        let text = serde_json::to_vec(order).map_err(|error| failed(error.into()))?;
        let folder = std::path::absolute(folder).map_err(failed)?;
        let mut child = self.spawn("__shim", &folder).map_err(failed)?;
        let said = hand_over(&mut child, &text).await.map_err(failed)?;
        if said == shim::NOTED {
            // Ours to bury, for as long as we live.
            tokio::spawn(async move { child.wait().await });
            return Ok(());
        }
        let code = child.wait().await.map_err(failed)?.code().and_then(|code| u8::try_from(code).ok());
        Err(match code {
            Some(shim::HELD) => LaunchError::Held(folder),
            Some(shim::USED) => LaunchError::Used(folder),
            _ => LaunchError::Failed(if said.is_empty() { "it ended at once".to_owned() } else { said }),
        })
    }

    /// Whether this machine lets programs have files and mounts at their targets; really tries. `folder` is any folder
    /// that exists. The answer does not change while the platform runs.
    pub async fn permitted(&self, folder: &Path) -> bool {
        let Ok(folder) = std::path::absolute(folder) else { return false };
        let Ok(mut child) = self.spawn("__probe", &folder) else { return false };
        child.wait().await.is_ok_and(|status| status.success())
    }

    /// A process that shares nothing with this one: no descriptors, environment, directory.
    fn spawn(&self, command: &str, folder: &Path) -> io::Result<Child> {
        // Those we opened ourselves are closed anyway; this is for those that we were started with.
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

/// Gives the order to a shim; what it says.
async fn hand_over(child: &mut Child, order: &[u8]) -> io::Result<String> {
    if let Some(mut stdin) = child.stdin.take() {
        // One that refuses does not read.
        stdin.write_all(order).await.ok();
    }
    let mut said = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut said).await?;
    }
    Ok(said)
}

/// How the run of a folder fares.
pub fn find(folder: &Path) -> io::Result<State> {
    // The lock first: what is noted when it is free is final.
    if lock::held(folder)? {
        return Ok(match Run::read(folder)? {
            Some(run) if identity::hold_shim(&run)?.is_some() => State::Running(run),
            _ => State::Starting,
        });
    }
    Ok(match (Exit::read(folder)?, Run::read(folder)?) {
        (Some(exit), _) => State::Ended(exit),
        (None, Some(run)) => State::Lost(run),
        (None, None) => State::Absent,
    })
}

/// Asks the shim of a folder to stop its program: SIGTERM to its group, and after the grace of the order SIGKILL to
/// everything that descends from it. Never signals a process that merely has the number of the shim.
pub fn stop(folder: &Path) -> io::Result<Stopped> {
    let Some(held) = hold(folder)? else { return Ok(Stopped::NotRunning) };
    match pidfd_send_signal(&held, Signal::TERM) {
        Ok(()) => Ok(Stopped::Asked),
        Err(rustix::io::Errno::SRCH) => Ok(Stopped::NotRunning),
        Err(error) => Err(error.into()),
    }
}

/// Waits until the shim of a folder has ended, whoever launched it; how the run fares then. At once, if none runs.
pub async fn ended(folder: &Path) -> io::Result<State> {
    if let Some(held) = hold(folder)? {
        gone(held).await?;
    }
    find(folder)
}

/// Waits until a process that is held has ended.
pub(super) async fn gone(held: OwnedFd) -> io::Result<()> {
    watch(held)?.readable().await?.retain_ready();
    Ok(())
}

/// Something that can be waited for until it can be read. The call is deprecated since a type could lie about which
/// descriptor it owns; this one cannot, and the other call is one of unsafe code.
#[allow(deprecated)]
pub(super) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// A hold on the shim of a folder, if it runs.
pub(super) fn hold(folder: &Path) -> io::Result<Option<OwnedFd>> {
    let Some(run) = Run::read(folder)? else { return Ok(None) };
    let Some(held) = identity::hold_shim(&run)? else { return Ok(None) };
    Ok(lock::held(folder)?.then_some(held))
}

/// Takes away the folder of a run that was never noted, so that a supervisor which is late cannot begin there: without its
/// folder it ends.
pub(super) fn take_away(folder: &Path) -> io::Result<()> {
    let aside = folder.with_file_name("never");
    fs::rename(folder, &aside)?;
    if matches!(find(&aside)?, State::Absent) {
        fs::remove_dir_all(&aside)
    } else {
        fs::rename(&aside, folder)
    }
}
