//! Descendants of a shim.
//!
//! A process can leave the process group and the session of the program, but not the descendants of the shim, which is their
//! subreaper. So all descendants of the shim belong to the run.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use rustix::process::{Signal, getpid, pidfd_send_signal};

use crate::process::identity::{self, Stat};

/// Signals all descendants of this process. They may fork meanwhile: a caller that wants none to be left repeats it.
pub(super) fn signal(signal: Signal) -> io::Result<()> {
    for pid in descendants()? {
        let Some(held) = identity::open(pid)? else { continue };
        // The id may have been reused before the pidfd was opened.
        if descends(pid)? {
            // A process that has changed its user cannot be signalled; its exit is waited for.
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
