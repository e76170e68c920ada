//! The command line: it reads arguments and files, and leaves every decision to the crates below.

mod args;
mod cmd;
mod drivers;
mod exit;
mod ui;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser};

use crate::{args::Args, exit::Exit};

/// Runs the program with the given arguments, the name of the program first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(code) = drivers::hidden(&arguments) {
        return code;
    }
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // Help and version are answers; everything else is a mistake in the usage.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Yes };
            // Nobody is left to tell when even that cannot be written.
            let _ = error.print();
            return exit.into();
        }
    };
    cmd::run(args).into()
}

/// The description of the whole command line, from which help, completions and the reference are made.
pub fn command() -> clap::Command {
    Args::command()
}
