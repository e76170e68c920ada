//! `orchestra`, the one binary of Score Orchestrator.

use std::process::ExitCode;

fn main() -> ExitCode {
    orchestra_cli::run(std::env::args_os())
}
