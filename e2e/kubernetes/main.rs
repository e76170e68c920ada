//! The product on a cluster with real nodes: installed by its own command, used as its users would.
//!
//! Takes any cluster through `KUBECONFIG`; `README.md` beside this file says what it needs. Each case has a namespace of
//! its own and prints a line; one that fails prints what its namespace looks like. Cases that disturb others run alone.
#![allow(clippy::print_stdout, reason = "a command speaks to its user")]

mod cases;
mod cluster;
mod document;
mod space;
mod suite;
mod wait;

use std::{process::ExitCode, sync::Arc, time::Instant};

use clap::Parser;

use cluster::Cluster;
use suite::Tally;

#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// Only cases whose name contains this; may be given several times
    #[arg(long)]
    only: Vec<String>,
    /// Take the orchestrator that is installed already
    #[arg(long)]
    installed: bool,
    /// Leave the namespaces of the cases behind
    #[arg(long)]
    keep: bool,
    /// How many cases run at the same time
    #[arg(long, default_value_t = 6)]
    at_once: usize,
    /// Print the names of all cases, and run none
    #[arg(long)]
    list: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let cases = cases::all();
    if arguments.list {
        for case in &cases {
            println!("{}", case.name);
        }
        return ExitCode::SUCCESS;
    }
    let started = Instant::now();
    let cluster = match Cluster::reach(arguments.keep).await {
        Ok(cluster) => Arc::new(cluster),
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    cluster.forward();
    let wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|part| name.contains(part));
    let mut tally = Tally::default();
    if !arguments.installed {
        tally.add(suite::first(&cluster, &cases, &wanted).await);
        if tally.failed > 0 {
            println!("{tally}");
            return ExitCode::FAILURE;
        }
    }
    tally.add(suite::together(&cluster, &cases, &wanted, arguments.at_once).await);
    tally.add(suite::alone(&cluster, &cases, &wanted).await);
    println!("{tally} ({:.0} s)", started.elapsed().as_secs_f32());
    if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
