//! The runtime `process`: supervised processes of this machine.
//!
//! What runs must survive the platform: after a crash of the platform it is found again, with its log and its exit
//! code, and it neither runs twice nor is it left behind. So the platform never is the parent of a program. Between
//! them stands a **shim**, a small process of its own (`orchestra __shim FOLDER`), one per run:
//!
//! ```text
//! platform ── Launcher ──(order, on standard input)──▶ shim ──(order)──▶ __exec ──exec──▶ program
//!     └────── find · stop · ended · log ──▶ FOLDER ◀── lock, run.json, log.N, exit.json ┘
//! ```
//!
//! A folder belongs to one run, ever. All that the platform knows about the run it reads there:
//!
//! | file | what it says |
//! |---|---|
//! | `lock` | held exclusively by the shim for as long as it lives: whether somebody runs here |
//! | `run.json` | [`Run`]: who the shim is, so that no signal ever hits a process that merely got its number |
//! | `log.1`, `log.2`, … | the output, the highest number last; see [`mod@line`] for the form of a line |
//! | `exit.json` | [`Exit`]: how it ended, written when nothing of the run is left |
//!
//! Nothing here is secret: the [`Order`], which is, goes from process to process through pipes, and the files in it
//! exist only in a namespace of the program ([`mounts`]).

pub mod line;
pub mod log;
pub mod mounts;
pub mod order;
pub mod record;
pub mod run;
pub mod shim;

pub mod engine;
pub mod folders;
pub mod proxy;
pub mod runtime;
pub mod servers;

mod enter;
mod forward;
mod identity;
mod keeper;
mod limits;
mod lock;
mod memory;
mod output;
mod ports;
mod prepare;
mod probe;
mod runs;
mod supervise;
mod sweep;
mod things;
mod tls;
mod unprivileged;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

pub use engine::Engine;
pub use folders::Home;
pub use line::{Line, Stream};
pub use order::{LogLimits, Mount, Order, PlacedFile};
pub use record::{End, Exit, Misplaced, NotStarted, Run};
pub use run::{LaunchError, Launcher, State, Stopped, ended, find, stop};
pub use runtime::Process;
pub use sweep::sweep;

/// The variable by which a process that is left of a run is known. Its value is the id of the run.
pub const MARKER: &str = "ORCHESTRA_RUN";

/// The hidden commands by which the binary calls itself. `arguments` are those of the process, the name of the
/// program first. To be asked before anything else in `main`: a shim lives as long as its program, and should be small.
pub fn hidden(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    let command = arguments.next()?;
    let folder = |argument: Option<OsString>| argument.map_or_else(PathBuf::new, PathBuf::from);
    match command.to_str()? {
        "__shim" => Some(shim::main(&folder(arguments.next()))),
        "__exec" => Some(shim::exec::main(&folder(arguments.next()), arguments.next().as_deref())),
        "__enter" => Some(enter::main(&folder(arguments.next()), arguments)),
        "__unprivileged" => Some(unprivileged::main(arguments)),
        "__probe" => Some(mounts::probe(&folder(arguments.next()))),
        _ => None,
    }
}

/// The files of a run.
#[derive(Clone, Copy)]
struct Files<'a>(&'a Path);

impl Files<'_> {
    fn lock(self) -> PathBuf {
        self.0.join("lock")
    }

    fn run(self) -> PathBuf {
        self.0.join("run.json")
    }

    fn exit(self) -> PathBuf {
        self.0.join("exit.json")
    }

    fn log(self, number: u64) -> PathBuf {
        self.0.join(format!("log.{number}"))
    }
}
