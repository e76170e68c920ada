//! The program in a process of its own, and what a process costs.

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

/// How long the program may take to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether it is still there.
const LOOK: Duration = Duration::from_millis(200);

/// What a process has used: memory now, processor so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Resident memory in MiB.
    pub(super) rss: f64,
    /// Seconds of processor.
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

/// The program at work. It ends with this.
#[derive(Debug)]
pub(super) struct Program {
    child: Mutex<Child>,
    id: u32,
    log: PathBuf,
}

impl Program {
    /// Starts it on a cluster, as it is started there.
    pub(super) fn start(program: &Path, kubeconfig: &Path) -> Result<Self, Failure> {
        Self::run(Command::new(program).args(["serve", "--cluster", "--listen", "127.0.0.1:0"]), kubeconfig)
    }

    /// Starts what sets another control plane up on a cluster, and runs it.
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

    /// What it has used, with everything that it runs. An error tells that it has ended.
    pub(super) fn usage(&self) -> Result<Usage, Failure> {
        let own = usage(self.id).map_err(|error| {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            format!("the program is not running ({error}): {said}")
        })?;
        // What it runs may come and go.
        Ok(descendants(self.id).into_iter().filter_map(|id| usage(id).ok()).chain([own]).sum())
    }

    /// Waits until it has ended by itself, and tells what it said.
    pub(super) async fn until_ended(&self) -> Failure {
        loop {
            if let Err(why) = self.usage() {
                return why;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn end(self) -> Result<(), Failure> {
        let told = Command::new("kill").args(["-TERM", &self.id.to_string()]).status()?;
        let deadline = Instant::now() + PATIENCE;
        while told.success() && Instant::now() < deadline {
            if self.with_child(Child::try_wait)?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(format!("the program does not end; all it said is in {}", self.log.display()).into())
    }

    /// Ends it at once, in the middle of whatever it does.
    pub(super) fn kill(self) -> Result<(), Failure> {
        Ok(self.with_child(Child::kill)?)
    }

    fn with_child<T>(&self, act: impl FnOnce(&mut Child) -> io::Result<T>) -> io::Result<T> {
        act(&mut self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // One that has ended needs no more.
        let _ = self.with_child(|child| child.kill().and_then(|()| child.wait()));
    }
}

/// The API server whose folder is that of a kubeconfig, where it runs on this machine.
pub(super) fn server_beside(kubeconfig: &Path) -> Option<u32> {
    let folder = kubeconfig.canonicalize().ok()?.parent()?.to_owned();
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let is_here = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder);
        (name.trim() == "kube-apiserver" && is_here).then_some(id)
    })
}

/// The processes that a process runs, and those that these run.
fn descendants(id: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// What a process has used.
pub(super) fn usage(id: u32) -> Result<Usage, Failure> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let rss = kib.ok_or("it has ended")?.trim().parse::<f64>()? / 1024.0;
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // Counted from the state, which comes after the name: the 12th and 13th are user and system time, in hundredths.
    let times = fields.get(11..13).ok_or("a line of /proc that is too short")?;
    let cpu = times.iter().map(|time| time.parse::<f64>()).sum::<Result<f64, _>>()? / 100.0;
    Ok(Usage { rss, cpu })
}
