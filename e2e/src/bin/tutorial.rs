//! Walks through the tutorial with the real kubectl, on any server.
#![allow(clippy::print_stdout, reason = "a command speaks to its user")]

use std::{path::PathBuf, process::ExitCode, time::Instant};

use clap::Parser;
use orchestra_e2e::{
    platform::{Embedded, Error},
    tutorial,
};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// The kubeconfig of the server's administrator; without it, an embedded server is started.
    #[arg(long)]
    server: Option<PathBuf>,
    /// The kubectl to run.
    #[arg(long, default_value = "kubectl")]
    kubectl: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let started = Instant::now();
    match run(&Arguments::parse()).await {
        Ok(()) => {
            println!("the tutorial holds ({:.1} s)", started.elapsed().as_secs_f32());
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Error> {
    if let Some(server) = &arguments.server {
        return tutorial::walk(server, &arguments.kubectl).await;
    }
    let server = Embedded::start().await?;
    tutorial::walk(server.kubeconfig(), &arguments.kubectl).await
}
