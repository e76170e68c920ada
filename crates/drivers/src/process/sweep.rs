//! Ends what is left of a run whose shim was killed.
//!
//! The program dies with its shim; its descendants may not. They are known by [`MARKER`] in their environment, which a
//! process inherits and hardly any gives up.

use std::{fs, io, path::Path, time::Duration};

use rustix::{
    io::Errno,
    process::{Signal, pidfd_send_signal},
};

use super::{MARKER, State, find, identity, run};

/// How soon it is looked for again.
const AGAIN: Duration = Duration::from_millis(50);

/// Ends every process that is left of a lost run, and waits until it is gone; how many there were. A run that is not
/// lost is left alone.
pub async fn sweep(folder: &Path) -> io::Result<usize> {
    let State::Lost(lost) = find(folder)? else { return Ok(0) };
    let marker = format!("{MARKER}={}", lost.run);
    let mut ended = 0;
    let mut clean = 0;
    loop {
        let found = end(&marker).await?;
        ended += found;
        // Those that were still there may have started others meanwhile. One that is just becoming another program shows
        // no environment for a moment: so it is looked for twice.
        clean = if found == 0 { clean + 1 } else { 0 };
        if clean == 2 {
            return Ok(ended);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Ends every process that bears a marker and is found now; how many there were.
async fn end(marker: &str) -> io::Result<usize> {
    let mut ended = 0;
    for pid in identity::processes()? {
        if !bears(pid, marker) {
            continue;
        }
        let Some(held) = identity::hold(pid)? else { continue };
        // Its number may have passed to another before it was held.
        if !bears(pid, marker) {
            continue;
        }
        match pidfd_send_signal(&held, Signal::KILL) {
            Ok(()) => {}
            Err(Errno::SRCH) => continue,
            Err(error) => return Err(error.into()),
        }
        run::gone(held).await?;
        ended += 1;
    }
    Ok(ended)
}

/// Whether a process was started with the marker. Those of others cannot be looked into, and are not ours.
fn bears(pid: i32, marker: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|variables| {
        variables.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes())
    })
}
