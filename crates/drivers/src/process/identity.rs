//! Which process is which. A number alone never says: numbers are used again.

use std::{fs, io};

use rustix::{
    fd::OwnedFd,
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};

use super::Run;

/// What the kernel says about a process.
pub(super) struct Stat {
    /// Its parent.
    pub(super) parent: i32,
    /// When it was started, in ticks since the machine was.
    pub(super) started: u64,
}

impl Stat {
    /// Of a process; `None` if there is none of that number.
    pub(super) fn of(pid: i32) -> io::Result<Option<Self>> {
        let text = match fs::read(format!("/proc/{pid}/stat")) {
            Ok(text) => text,
            // The second is told when the process ends while it is read.
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

    /// The name of the program stands in brackets and may hold any sign, also brackets: only what is behind counts.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
        Some(Self { parent: fields.nth(1)?.parse().ok()?, started: fields.nth(17)?.parse().ok()? })
    }
}

/// Since which start of the machine numbers of processes count.
pub(super) fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// The numbers of all processes.
pub(super) fn processes() -> io::Result<Vec<i32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir("/proc")? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// A hold on a process, under which its number cannot pass to another; `None` if it is gone.
pub(super) fn hold(pid: i32) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else { return Ok(None) };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) => Ok(Some(held)),
        Err(Errno::SRCH) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A hold on the shim of a run; `None` if it is gone. The process is held first and checked then: it can no longer be
/// replaced by another of its number, and one that is older than the hold is the one that was noted.
pub(super) fn hold_shim(run: &Run) -> io::Result<Option<OwnedFd>> {
    let Some(held) = hold(run.shim)? else { return Ok(None) };
    let same =
        run.boot == boot()? && Stat::of(run.shim)?.is_some_and(|stat| stat.started == run.shim_started);
    Ok(same.then_some(held))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_whose_name_looks_like_fields_is_read_right() {
        let stat = "7 (a) S 1 (b)) S 42 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 8 9";
        let stat = Stat::parse(stat).unwrap();
        assert_eq!((stat.parent, stat.started), (42, 123_456));
    }
}
