//! Reaper of runs whose shim was killed.
//!
//! The program dies with its shim; its descendants may not. They are found by [`MARKER`] in their environment, which processes
//! inherit.

use std::{fs, io, path::Path, time::Duration};

use rustix::{
    io::Errno,
    process::{Signal, pidfd_send_signal},
};

use super::{MARKER, State, find, identity, run};

/// Interval between two scans: a killed process needs a moment to exit.
const SCAN_INTERVAL: Duration = Duration::from_millis(50);

/// Kills all processes of a lost run, and waits until they have exited. Returns how many there were. Other runs are left alone.
pub async fn reap(folder: &Path) -> io::Result<usize> {
    let State::Lost(lost) = find(folder)? else { return Ok(0) };
    let marker = format!("{MARKER}={}", lost.run);
    let mut ended = 0;
    let mut clean = 0;
    loop {
        let found = end(&marker).await?;
        ended += found;
        // Processes may have forked meanwhile, and one in the middle of an exec shows no environment: so two clean scans are needed.
        clean = if found == 0 { clean + 1 } else { 0 };
        if clean == 2 {
            return Ok(ended);
        }
        tokio::time::sleep(SCAN_INTERVAL).await;
    }
}

/// Kills all processes with a marker that are found now. Returns how many there were.
async fn end(marker: &str) -> io::Result<usize> {
    let mut ended = 0;
    for pid in identity::processes()? {
        if !has_marker(pid, marker) {
            continue;
        }
        let Some(pidfd) = identity::open(pid)? else { continue };
        // The id may have been reused before the pidfd was opened.
        if !has_marker(pid, marker) {
            continue;
        }
        match pidfd_send_signal(&pidfd, Signal::KILL) {
            Ok(()) => {}
            Err(Errno::SRCH) => continue,
            Err(error) => return Err(error.into()),
        }
        run::wait_exit(pidfd).await?;
        ended += 1;
    }
    Ok(ended)
}

/// True if a process was started with the marker. Processes of other users cannot be read, and are not ours.
fn has_marker(pid: i32, marker: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|variables| {
        variables.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes())
    })
}
