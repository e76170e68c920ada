//! CPU and memory limits by control groups, one for each run, where the kernel permits it.
//!
//! Root may create groups anywhere. Other users may in a delegated subtree, such as the session of a user under systemd.
//! Elsewhere programs run without limits, and the status reports it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use orchestra_api::{name, plan::Amounts};
use orchestra_score::quantity::Quantity;

/// Period of the CPU quota in microseconds: the default of the kernel.
const CPU_PERIOD_MICROS: u64 = 100_000;

/// Control group hierarchy in which groups are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Limits {
    /// Version 2: one hierarchy, and the folder in it.
    Unified(PathBuf),
    /// Version 1: a hierarchy for each controller.
    Separate {
        /// CPU.
        cpu: PathBuf,
        /// Memory.
        memory: PathBuf,
    },
    /// None is writable.
    None,
}

impl Limits {
    /// Hierarchy of this machine.
    pub(super) fn find() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::find_in(Path::new("/sys/fs/cgroup"), &own)
    }

    /// Like [`Self::find`], with the root of the hierarchy and the content of `/proc/self/cgroup`.
    fn find_in(root: &Path, own: &str) -> Self {
        if root.join("cgroup.controllers").exists() {
            let place = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
            let place = root.join(place.trim_start_matches('/'));
            // The topmost folder that is writable.
            let mut above: Vec<_> = place.ancestors().take_while(|path| path.starts_with(root)).collect();
            above.reverse();
            let found = above.into_iter().find(|folder| gives(folder) && can_make(folder));
            return found.map_or(Self::None, |folder| Self::Unified(folder.to_owned()));
        }
        let (cpu, memory) = (root.join("cpu"), root.join("memory"));
        if can_make(&cpu) && can_make(&memory) { Self::Separate { cpu, memory } } else { Self::None }
    }

    /// True if limits are enforced.
    pub(super) fn are_enforced(&self) -> bool {
        *self != Self::None
    }

    /// Creates the groups of a run. Returns the `cgroup.procs` files by which its program joins them.
    pub(super) fn make(&self, run: &Path, amounts: &Amounts) -> io::Result<Vec<PathBuf>> {
        let cpu = amounts.cpu.as_deref().and_then(|text| Quantity::cpu(text).ok()?.count(CPU_PERIOD_MICROS));
        let memory = amounts.memory.as_deref().and_then(|text| Quantity::memory(text).ok()?.count(1));
        // The kernel refuses quotas below a millisecond.
        let quota = cpu.map(|cpu| cpu.max(1000).to_string());
        let bytes = memory.map(|memory| memory.to_string());
        let mut joined = Vec::new();
        for (folder, settings) in self.settings(run, quota.as_deref(), bytes.as_deref()) {
            if settings.is_empty() {
                continue;
            }
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            for (name, value) in settings {
                fs::write(folder.join(name), value)?;
            }
            joined.push(folder.join("cgroup.procs"));
        }
        Ok(joined)
    }

    /// Removes the groups of a run that has exited.
    pub(super) fn forget(&self, run: &Path) {
        for (folder, _) in self.settings(run, None, None) {
            // There is none, or processes are left, which are reaped elsewhere.
            let _ = fs::remove_dir(folder);
        }
    }

    /// True if a run was killed because it was out of memory.
    pub(super) fn ran_out_of_memory(&self, run: &Path) -> bool {
        let file = match self {
            Self::Unified(folder) => group(folder, run).join("memory.events"),
            Self::Separate { memory, .. } => group(memory, run).join("memory.oom_control"),
            Self::None => return false,
        };
        let text = fs::read_to_string(file).unwrap_or_default();
        let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.is_some_and(|kills| kills.trim() != "0")
    }

    /// Groups of a run, each with its settings.
    fn settings(&self, run: &Path, quota: Option<&str>, bytes: Option<&str>) -> Vec<(PathBuf, Settings)> {
        let set = |name: &'static str, value: Option<String>| value.map(|value| (name, value));
        let owned = |value: Option<&str>| value.map(ToOwned::to_owned);
        match self {
            Self::Unified(folder) => {
                let share = quota.map(|quota| format!("{quota} {CPU_PERIOD_MICROS}"));
                let settings = [set("cpu.max", share), set("memory.max", owned(bytes))];
                vec![(group(folder, run), settings.into_iter().flatten().collect())]
            }
            Self::Separate { cpu, memory } => {
                let period = quota.map(|_| CPU_PERIOD_MICROS.to_string());
                let time = [set("cpu.cfs_period_us", period), set("cpu.cfs_quota_us", owned(quota))];
                let room = [set("memory.limit_in_bytes", owned(bytes))];
                vec![
                    (group(cpu, run), time.into_iter().flatten().collect()),
                    (group(memory, run), room.into_iter().flatten().collect()),
                ]
            }
            Self::None => Vec::new(),
        }
    }
}

/// Settings of a group: name and content of its files.
type Settings = Vec<(&'static str, String)>;

/// Group of a run in a folder of the hierarchy.
fn group(folder: &Path, run: &Path) -> PathBuf {
    folder.join(format!("orchestra-{}", name::hash(&[&run.to_string_lossy()])))
}

/// True if the controllers are enabled for groups below a folder; enables them if possible.
fn gives(folder: &Path) -> bool {
    let control = folder.join("cgroup.subtree_control");
    let has = || {
        let text = fs::read_to_string(&control).unwrap_or_default();
        ["cpu", "memory"].iter().all(|wanted| text.split_whitespace().any(|given| given == *wanted))
    };
    has() || (fs::write(&control, "+cpu +memory").is_ok() && has())
}

/// True if groups can be created in a folder.
fn can_make(folder: &Path) -> bool {
    let probe = folder.join(format!("orchestra-probe-{}", std::process::id()));
    fs::create_dir(&probe).is_ok() && fs::remove_dir(&probe).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_writable_cgroup_with_controllers_is_used() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("cgroup.controllers", "cpu memory");
        // The written request must not be taken for an enabled controller.
        write("user.slice/cgroup.subtree_control", "pids");
        write("user.slice/session/cgroup.subtree_control", "cpu memory pids");
        write("user.slice/session/app/cgroup.subtree_control", "cpu memory");
        let denied = root.path().join("cgroup.subtree_control");
        fs::create_dir(&denied).unwrap();
        fs::remove_file(root.path().join("user.slice/cgroup.subtree_control")).unwrap();
        fs::create_dir(root.path().join("user.slice/cgroup.subtree_control")).unwrap();
        let found = Limits::find_in(root.path(), "0::/user.slice/session/app\n");
        assert_eq!(found, Limits::Unified(root.path().join("user.slice/session")));
        let run = Path::new("/data/run");
        let amounts = Amounts { cpu: Some("500m".to_owned()), memory: Some("64Mi".to_owned()) };
        let joined = found.make(run, &amounts).unwrap();
        let group = joined[0].parent().unwrap();
        assert_eq!(fs::read_to_string(group.join("cpu.max")).unwrap(), "50000 100000");
        assert_eq!(fs::read_to_string(group.join("memory.max")).unwrap(), "67108864");
        assert!(!found.ran_out_of_memory(run));
        fs::write(group.join("memory.events"), "oom 1\noom_kill 1\n").unwrap();
        assert!(found.ran_out_of_memory(run));
    }

    #[test]
    fn limits_are_not_enforced_without_cgroups() {
        let root = tempfile::tempdir().unwrap();
        let found = Limits::find_in(root.path(), "");
        assert!(!found.are_enforced());
        assert_eq!(found.make(Path::new("/data/run"), &Amounts::default()).unwrap(), Vec::<PathBuf>::new());
    }
}
