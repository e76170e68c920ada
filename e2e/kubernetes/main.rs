//! End-to-end suite on a cluster with real nodes: it installs the orchestrator and uses it as users do.
//!
//! It runs on any cluster of `KUBECONFIG`; `README.md` lists the requirements. Each case has its own namespace and prints a
//! line; a failing case prints the state of its namespace. Disruptive cases run alone.
#![allow(clippy::print_stdout, reason = "command-line tool")]

mod cases;
mod cluster;
mod document;
mod space;
mod suite;
mod wait;

use std::{process::ExitCode, sync::Arc, time::Instant};

use clap::Parser;

use cluster::Cluster;
use suite::Summary;

#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// Run only cases whose name contains this; can be repeated
    #[arg(long)]
    only: Vec<String>,
    /// Use the installed orchestrator
    #[arg(long)]
    installed: bool,
    /// Keep the namespaces of the cases
    #[arg(long)]
    keep: bool,
    /// Maximum number of concurrent cases
    #[arg(long, default_value_t = 6)]
    at_once: usize,
    /// List the names of all cases
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
    let is_unknown = |part: &&String| !cases.iter().any(|case| case.name.contains(part.as_str()));
    if let Some(part) = arguments.only.iter().find(is_unknown) {
        println!("no case has {part:?} in its name: --list prints all");
        return ExitCode::FAILURE;
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
    let mut summary = Summary::default();
    if !arguments.installed {
        summary.add(suite::first(&cluster, &cases, &wanted).await);
        if summary.failed > 0 {
            println!("{summary}");
            return ExitCode::FAILURE;
        }
    }
    summary.add(suite::together(&cluster, &cases, &wanted, arguments.at_once).await);
    summary.add(suite::alone(&cluster, &cases, &wanted).await);
    println!("{summary} ({:.0} s)", started.elapsed().as_secs_f32());
    if summary.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
