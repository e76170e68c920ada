//! The runtime `process`: Workloads as supervised programs of this machine, and the engine for what they depend on.
//!
//! Programs survive the platform: after a crash they are adopted, with log and exit code, and none runs twice or is left
//! behind. So the platform is never the parent of a program. Each run has a **shim**, a small process of its own
//! (`orchestra __shim FOLDER`):
//!
//! ```text
//! platform ── Launcher ──(launch spec, on standard input)──▶ shim ──(launch spec)──▶ __exec ──exec──▶ program
//!     └────── find · stop · wait · log ──▶ FOLDER ◀── lock, run.json, log.N, exit.json ┘
//! ```
//!
//! A folder belongs to one run, and is all that the platform knows about it:
//!
//! | file | content |
//! |---|---|
//! | `lock` | locked exclusively by the shim while it lives |
//! | `run.json` | [`Run`]: identity of the shim, so that no signal ever reaches a process that reused its id |
//! | `log.1`, `log.2`, … | the output, the highest number last; see [`mod@log_format`] |
//! | `exit.json` | [`Exit`]: exit status, written when no process of the run is left |
//!
//! Above the runs, `program` supervises one program; `supervisor` drives the programs of a Workload by the decisions of
//! [`orchestra_core::observe::process`], [`servers`] the database servers. No file contains secrets: the [`LaunchSpec`] does, and passes through pipes
//! only, and files with secrets exist only in the mount namespace of the program ([`mounts`]).

pub mod engine;
pub mod launch_spec;
pub mod log;
pub mod log_format;
pub mod mounts;
pub mod proxy;
pub mod record;
pub mod run;
pub mod runtime;
pub mod servers;
pub mod shim;

mod forward;
mod identity;
mod kept_forwards;
mod limits;
mod local_bindings;
mod lock;
mod nsenter;
mod output;
mod port_owner;
mod ports;
mod prepare;
mod probe;
mod program;
mod program_guard;
mod reap;
mod runs;
mod state;
mod supervisor;
mod tls;
mod unprivileged;
mod workload_origin;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

pub use engine::Engine;
pub use launch_spec::{LaunchSpec, LogLimits, Mount, PlacedFile};
pub use log_format::{Line, Stream};
pub use reap::reap;
pub use record::{End, Exit, NotStarted, PlaceError, Run};
pub use run::{LaunchError, Launcher, State, Stopped, find, stop, wait};
pub use runtime::Process;
pub use workload_origin::OriginStore;

/// Environment variable that marks the processes of a run with its id, so that they are found when the shim was killed.
pub const MARKER: &str = "ORCHESTRA_RUN";

/// Hidden commands by which the binary calls itself; `None` for any other command. `arguments` are those of the process,
/// the name of the program first. Called first in `main`: a shim lives as long as its program, and has to stay small.
pub fn hidden(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    let command = arguments.next()?;
    let folder = |argument: Option<OsString>| argument.map_or_else(PathBuf::new, PathBuf::from);
    match command.to_str()? {
        "__shim" => Some(shim::main(&folder(arguments.next()))),
        "__exec" => Some(shim::exec::main(&folder(arguments.next()), arguments.next().as_deref())),
        "__nsenter" => Some(nsenter::main(&folder(arguments.next()), arguments)),
        "__unprivileged" => Some(unprivileged::main(arguments)),
        "__probe" => Some(mounts::probe(&folder(arguments.next()))),
        _ => None,
    }
}

/// Files of a run.
#[derive(Clone, Copy)]
struct RunFiles<'a>(&'a Path);

impl RunFiles<'_> {
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
