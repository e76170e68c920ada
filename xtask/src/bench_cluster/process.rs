//! Program in its own process, and its resource usage.

use std::{
    fs::{self, File},
    io,
    iter::Sum,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use super::Failure;

/// Timeout of the shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// Polling interval of the shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Usage of a process: current memory, CPU time so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Resident memory in MiB.
    pub(super) rss: f64,
    /// CPU time in seconds.
    pub(super) cpu: f64,
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self { rss: 0.0, cpu: 0.0 }, |sum, one| Self {
            rss: sum.rss + one.rss,
            cpu: sum.cpu + one.cpu,
        })
    }
}

/// Running program, stopped on drop.
#[derive(Debug)]
pub(super) struct Program {
    child: Mutex<Child>,
    id: u32,
    log: PathBuf,
}

impl Program {
    /// Starts it on a cluster, as in production.
    pub(super) fn start(program: &Path, kubeconfig: &Path) -> Result<Self, Failure> {
        Self::run(Command::new(program).args(["serve", "--cluster", "--listen", "127.0.0.1:0"]), kubeconfig)
    }

    /// Starts the program that installs and runs another control plane.
    pub(super) fn peer(program: &Path, kubeconfig: &Path) -> Result<Self, Failure> {
        Self::run(&mut Command::new(program), kubeconfig)
    }

    fn run(command: &mut Command, kubeconfig: &Path) -> Result<Self, Failure> {
        let log = tempfile::Builder::new().prefix("orchestra-bench-").suffix(".log").tempfile()?;
        let (log, path) = log.keep()?;
        let child = command
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(File::try_clone(&log)?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        let id = child.id();
        Ok(Self { child: Mutex::new(child), id, log: path })
    }

    /// Usage of the program and its child processes. An error means that it has exited.
    pub(super) fn usage(&self) -> Result<Usage, Failure> {
        let own = usage(self.id).map_err(|error| {
            let output = fs::read_to_string(&self.log).unwrap_or_default();
            format!("the program is not running ({error}): {output}")
        })?;
        // Child processes may come and go.
        Ok(descendants(self.id).into_iter().filter_map(|id| usage(id).ok()).chain([own]).sum())
    }

    /// Waits for its exit, and returns its output.
    pub(super) async fn until_ended(&self) -> Failure {
        loop {
            if let Err(why) = self.usage() {
                return why;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Terminates it, and waits for its exit.
    pub(super) fn end(self) -> Result<(), Failure> {
        let signalled = Command::new("kill").args(["-TERM", &self.id.to_string()]).status()?;
        let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
        while signalled.success() && Instant::now() < deadline {
            if self.with_child(Child::try_wait)?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(format!("the program does not stop; its log is {}", self.log.display()).into())
    }

    /// Kills it.
    pub(super) fn kill(self) -> Result<(), Failure> {
        Ok(self.with_child(Child::kill)?)
    }

    fn with_child<T>(&self, act: impl FnOnce(&mut Child) -> io::Result<T>) -> io::Result<T> {
        act(&mut self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.with_child(|child| child.kill().and_then(|()| child.wait()));
    }
}

/// Process of the API server in the folder of a kubeconfig, if it runs on this machine.
pub(super) fn server_beside(kubeconfig: &Path) -> Option<u32> {
    let folder = kubeconfig.canonicalize().ok()?.parent()?.to_owned();
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let is_here = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder);
        (name.trim() == "kube-apiserver" && is_here).then_some(id)
    })
}

/// Descendants of a process.
fn descendants(id: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// Usage of a process.
pub(super) fn usage(id: u32) -> Result<Usage, Failure> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let rss = kib.ok_or("the process has exited")?.trim().parse::<f64>()? / 1024.0;
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // Counted from the state, after the name: fields 12 and 13 are user and system time in hundredths of a second.
    let times = fields.get(11..13).ok_or("a line of /proc that is too short")?;
    let cpu = times.iter().map(|time| time.parse::<f64>()).sum::<Result<f64, _>>()? / 100.0;
    Ok(Usage { rss, cpu })
}
