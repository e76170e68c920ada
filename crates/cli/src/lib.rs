//! Command line of Score Orchestrator: arguments, files and terminal. Decisions are made in the crates below.

mod args;
mod cmd;
mod drivers;
mod error;
mod exit;
mod ui;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser};

use crate::{args::Args, exit::Exit};

/// Runs the program. The first argument is the name of the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(code) = drivers::internal_command(&arguments) {
        return code;
    }
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // clap reports help and version as errors, too.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
            // The output may be closed.
            let _ = error.print();
            return exit.into();
        }
    };
    let exit = cmd::run(args).unwrap_or_else(|error| {
        ui::print_error(&error);
        error.exit()
    });
    exit.into()
}

/// Definition of the command line: source of the help, the completions and the reference.
pub fn command() -> clap::Command {
    Args::command()
}
