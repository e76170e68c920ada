//! Everything that descends from a shim.
//!
//! A process can leave the group and the session of the program, but not its family: the kernel hands those whose
//! parent has ended to the shim. So whoever descends from the shim belongs to the run.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use rustix::process::{Signal, getpid, pidfd_send_signal};

use crate::process::identity::{self, Stat};

/// Sends a signal to every descendant of this process that there is. New ones may come meanwhile: whoever wants none
/// to be left asks again until there is none.
pub(super) fn signal(signal: Signal) -> io::Result<()> {
    for pid in descendants()? {
        let Some(held) = identity::hold(pid)? else { continue };
        // Its number may have passed to another before it was held.
        if descends(pid)? {
            // One that has changed its user cannot be reached; then its end is waited for.
            pidfd_send_signal(&held, signal).ok();
        }
    }
    Ok(())
}

fn descendants() -> io::Result<BTreeSet<i32>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for pid in identity::processes()? {
        if let Some(stat) = Stat::of(pid)? {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = BTreeSet::new();
    let mut open = vec![getpid().as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.insert(child);
            open.push(child);
        }
    }
    Ok(found)
}

fn descends(pid: i32) -> io::Result<bool> {
    let shim = getpid().as_raw_nonzero().get();
    let mut pid = pid;
    while pid > 1 {
        let Some(stat) = Stat::of(pid)? else { return Ok(false) };
        if stat.parent == shim {
            return Ok(true);
        }
        pid = stat.parent;
    }
    Ok(false)
}
