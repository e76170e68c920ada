//! Shim: the hidden command `orchestra __shim FOLDER`, one small process per run.
//!
//! It owns what would be lost with the platform: the pipes of the program's output, its log, its exit status. It has one thread
//! and no async runtime, and drops the launch specification once the program has it.
//!
//! Guarantees:
//! - it runs only while it holds the lock of its folder, and only in a folder without an earlier run;
//! - it writes its identity before the program starts, so that nothing runs that cannot be found;
//! - the program dies with it (see [`exec`]), and it is the subreaper of all descendants;
//! - it writes the exit status when no process of the run is left, and exits then.

pub mod exec;

mod family;
mod output;
mod supervise;

use std::{
    fs::OpenOptions,
    io::{self, Read as _, Write as _},
    path::Path,
    process::ExitCode,
};

use jiff::Timestamp;
use rustix::{
    process::{getpid, set_child_subreaper, setsid},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};

use self::{output::Log, supervise::Signals};

use super::{Exit, LaunchSpec, Run, RunFiles, identity, lock::Lock};

/// Exit code: another shim runs in this folder.
pub const HELD: u8 = 75;
/// Exit code: another run was in this folder.
pub const USED: u8 = 76;
/// Exit code: nothing was started; the error is on standard output.
pub const FAILED: u8 = 77;

/// Answer on standard output: the identity is written.
pub(super) const NOTED: &str = "noted\n";

/// Body of the command: takes the lock, reads the specification from standard input, answers on standard output, and stays until
/// the run has exited.
pub fn main(folder: &Path) -> ExitCode {
    let lock = match Lock::take(folder) {
        Ok(Some(lock)) => lock,
        Ok(None) => return ExitCode::from(HELD),
        Err(error) => return fail(&error),
    };
    if RunFiles(folder).run().exists() || RunFiles(folder).exit().exists() {
        return ExitCode::from(USED);
    }
    match prepare(folder).and_then(|shim| supervise::supervise(folder, shim)) {
        Ok(exit) => {
            // Without the record the run counts as lost.
            let noted = Exit::write(&exit, folder);
            drop(lock);
            if noted.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
        }
        Err(error) => fail(&error),
    }
}

/// Shim that is ready to start its program.
struct PreparedShim {
    spec: LaunchSpec,
    run: Run,
    signals: Signals,
    log: Log,
}

/// Leaves the session of the platform, reads the specification and, when nothing can fail any more, writes its identity.
fn prepare(folder: &Path) -> io::Result<PreparedShim> {
    // Fails for a group leader, which only a shim started by hand is.
    setsid().ok();
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text)?;
    let spec: LaunchSpec = serde_json::from_slice(&text).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("the launch specification is not valid: {error}"))
    })?;
    set_child_subreaper(Some(getpid()))?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let (signals, log) = (Signals::catch()?, Log::create(folder, spec.logs)?);
    let run = introduce(&spec)?;
    run.write(folder)?;
    // The platform may have exited.
    answer(NOTED);
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(PreparedShim { spec, run, signals, log })
}

/// Identity of this shim.
fn introduce(spec: &LaunchSpec) -> io::Result<Run> {
    let shim = getpid().as_raw_nonzero().get();
    let stat = identity::Stat::of(shim)?
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "`/proc` does not show this process"))?;
    Ok(Run {
        run: spec.run.clone(),
        shim,
        shim_started: stat.started,
        boot: identity::boot()?,
        at: Timestamp::now(),
        program: None,
    })
}

fn fail(error: &io::Error) -> ExitCode {
    answer(&error.to_string());
    ExitCode::from(FAILED)
}

fn answer(text: &str) {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).ok();
}
