//! `cargo xtask`: what the workspace does for itself.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool talks to people")]

mod bench;
mod dependencies;
mod docs;
mod generate;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "What the workspace does for itself")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the generated files anew (a test fails while they are out of date)
    Gen,
    /// Check which crates depend on what, and under which licences
    CheckDeps,
    /// Measure what benches/RESULTS.md reports; run it with `cargo run --release -p xtask -- bench`
    Bench {
        /// Score files to validate
        files: Vec<PathBuf>,
    },
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Gen => generate::write(),
        Command::CheckDeps => dependencies::check(),
        Command::Bench { files } => bench::run(&files),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
