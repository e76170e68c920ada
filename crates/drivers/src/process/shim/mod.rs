//! The shim: the hidden command `orchestra __shim FOLDER`, one small process per run.
//!
//! It owns what would be lost with the platform: the ends of the program's output, its log, its exit status. It has
//! one thread and no runtime; it forgets the order once the program has it.
//!
//! What it promises:
//! - it runs only while it holds the lock of its folder, and only in a folder in which nothing ran before;
//! - it notes who it is before the program starts, so that there is no moment at which something runs unknown;
//! - the program dies with it (see [`exec`]), and descendants that leave the program are handed to it by the kernel;
//! - it notes how it ended when nothing of the run is left, and ends then.

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

use super::{Exit, Files, Order, Run, identity, lock::Lock};

/// Somebody runs in this folder.
pub const HELD: u8 = 75;
/// Something ran in this folder before.
pub const USED: u8 = 76;
/// Nothing was started, for the reason on standard output.
pub const FAILED: u8 = 77;

/// What a shim says on standard output when it has noted itself.
pub(super) const NOTED: &str = "noted\n";

/// The body of the command: takes the lock, reads the order from standard input, answers on standard output, and
/// stays until the run has ended.
pub fn main(folder: &Path) -> ExitCode {
    let lock = match Lock::take(folder) {
        Ok(Some(lock)) => lock,
        Ok(None) => return ExitCode::from(HELD),
        Err(error) => return fail(&error),
    };
    if Files(folder).run().exists() || Files(folder).exit().exists() {
        return ExitCode::from(USED);
    }
    match begin(folder).and_then(|begun| supervise::supervise(folder, begun)) {
        Ok(exit) => {
            // Nobody is left to be told of a failure: without the note the run counts as lost.
            let noted = Exit::write(&exit, folder);
            drop(lock);
            if noted.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
        }
        Err(error) => fail(&error),
    }
}

/// A shim that is ready to start its program.
struct Begun {
    order: Order,
    run: Run,
    signals: Signals,
    log: Log,
}

/// Leaves the session of the platform, reads the order and, when nothing can fail any more, says who runs here.
fn begin(folder: &Path) -> io::Result<Begun> {
    // Fails for the leader of a group, which only somebody is who starts a shim by hand.
    setsid().ok();
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text)?;
    let order: Order = serde_json::from_slice(&text).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("the order is not readable: {error}"))
    })?;
    set_child_subreaper(Some(getpid()))?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let (signals, log) = (Signals::catch()?, Log::create(folder, order.logs)?);
    let run = introduce(&order)?;
    run.write(folder)?;
    // The platform may be gone.
    say(NOTED);
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(Begun { order, run, signals, log })
}

/// Who this shim is.
fn introduce(order: &Order) -> io::Result<Run> {
    let shim = getpid().as_raw_nonzero().get();
    let stat = identity::Stat::of(shim)?
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "`/proc` does not show this process"))?;
    Ok(Run {
        run: order.run.clone(),
        shim,
        shim_started: stat.started,
        boot: identity::boot()?,
        at: Timestamp::now(),
        program: None,
    })
}

fn fail(error: &io::Error) -> ExitCode {
    say(&error.to_string());
    ExitCode::from(FAILED)
}

fn say(text: &str) {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).ok();
}
