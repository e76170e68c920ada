//! Control group with a memory limit, version 2 or 1.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const ROOT: &str = "/sys/fs/cgroup";

pub(crate) struct MemoryCgroup {
    folder: PathBuf,
    is_v2: bool,
}

impl MemoryCgroup {
    /// Group for processes that together get this much memory, and no swap.
    pub(crate) fn create(bytes: u64) -> Self {
        let name = format!("orchestra-test-{}", std::process::id());
        let is_v2 = Path::new(ROOT).join("cgroup.controllers").exists();
        let parent = if is_v2 { PathBuf::from(ROOT) } else { Path::new(ROOT).join("memory") };
        let group = Self { folder: parent.join(name), is_v2 };
        if is_v2 {
            // Enabled already on most machines.
            let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory");
        }
        let made = fs::create_dir(&group.folder)
            .and_then(|()| fs::write(group.file("memory.max", "memory.limit_in_bytes"), bytes.to_string()));
        made.unwrap_or_else(|error| {
            panic!(
                "no memory cgroup below {}: {error}; run this test as root on a machine with the memory controller",
                parent.display()
            )
        });
        // Not every kernel accounts for swap.
        let _ = fs::write(
            group.file("memory.swap.max", "memory.memsw.limit_in_bytes"),
            if is_v2 { "0".to_owned() } else { bytes.to_string() },
        );
        group
    }

    fn file(&self, v2: &str, v1: &str) -> PathBuf {
        self.folder.join(if self.is_v2 { v2 } else { v1 })
    }

    /// Command that joins the group and becomes the program.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", r#"echo $$ >"$0" && exec "$@""#])
            .arg(self.folder.join("cgroup.procs"))
            .arg(program);
        command
    }

    /// Processes that the kernel has killed for lack of memory.
    pub(crate) fn oom_kills(&self) -> u64 {
        let text = fs::read_to_string(self.file("memory.events", "memory.oom_control")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.expect("the kernel counts kills").trim().parse().unwrap()
    }

    /// Most memory that was used, with the page cache.
    pub(crate) fn peak(&self) -> String {
        let read = fs::read_to_string(self.file("memory.peak", "memory.max_usage_in_bytes"));
        read.map_or_else(|error| error.to_string(), |text| text.trim().to_owned())
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        // Fails while a process is left, which a failed test reports otherwise.
        let _ = fs::remove_dir(&self.folder);
    }
}
