//! Identity of processes. A process id alone is none, since ids are reused.

use std::{fs, io};

use rustix::{
    fd::OwnedFd,
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};

use super::Run;

/// State of a process, from `/proc`.
pub(super) struct Stat {
    /// Parent.
    pub(super) parent: i32,
    /// Start time, in clock ticks since boot.
    pub(super) started: u64,
}

impl Stat {
    /// State of a process; `None` if it does not exist.
    pub(super) fn of(pid: i32) -> io::Result<Option<Self>> {
        let text = match fs::read(format!("/proc/{pid}/stat")) {
            Ok(text) => text,
            // The read fails with ESRCH when the process exits meanwhile.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    || error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        Self::parse(&String::from_utf8_lossy(&text)).map(Some).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "the state of a process is not readable")
        })
    }

    /// The name is in brackets and may contain any character, also brackets: only what follows the last one counts.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
        Some(Self { parent: fields.nth(1)?.parse().ok()?, started: fields.nth(17)?.parse().ok()? })
    }
}

/// Id of the current boot.
pub(super) fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Ids of all processes.
pub(super) fn processes() -> io::Result<Vec<i32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir("/proc")? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Pidfd of a process, while which its id is not reused; `None` if it has exited.
pub(super) fn open(pid: i32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else { return Ok(None) };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => Ok(Some(pidfd)),
        Err(Errno::SRCH) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Pidfd of the shim of a run; `None` if it has exited. The process is opened first and verified then, so it cannot be replaced
/// by another one with its id in between.
pub(super) fn open_shim(run: &Run) -> io::Result<Option<OwnedFd>> {
    let Some(pidfd) = open(run.shim)? else { return Ok(None) };
    let same =
        run.boot == boot()? && Stat::of(run.shim)?.is_some_and(|stat| stat.started == run.shim_started);
    Ok(same.then_some(pidfd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_that_looks_like_fields_is_parsed() {
        let stat = "7 (a) S 1 (b)) S 42 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 8 9";
        let stat = Stat::parse(stat).unwrap();
        assert_eq!((stat.parent, stat.started), (42, 123_456));
    }
}
