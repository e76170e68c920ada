//! Asks a real API server for the verdicts of the access matrix, which the tests ask of the embedded one.
#![allow(clippy::print_stdout, reason = "a command speaks to its user")]

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use orchestra_e2e::{
    matrix,
    parity::{Target, target::TargetError},
};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// Kubeconfig of an administrator; by default `KUBECONFIG`.
    #[arg(long)]
    server: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<bool, TargetError> {
    let target = Target::kubeconfig(arguments.server.as_deref()).await?;
    let verdicts = matrix::play(&target).await?;
    for wrong in &verdicts.wrong {
        println!("{wrong}");
    }
    println!("{} of {} verdicts differ", verdicts.wrong.len(), verdicts.requests);
    Ok(verdicts.wrong.is_empty())
}
