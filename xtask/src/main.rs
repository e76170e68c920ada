//! `cargo xtask`: what the workspace does for itself.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool talks to people")]

mod bench;
mod bench_api;
mod bench_cluster;
mod bench_controllers;
mod chart;
mod dependencies;
mod dist;
mod docs;
mod generate;
mod laptop;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
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
    /// Build the files of a release: tarball, Debian package, image, installers, checksums
    Dist(dist::Options),
    /// Measure what benches/RESULTS.md reports; run it with `cargo run --profile dist -p xtask -- bench`
    Bench {
        /// Score files to validate
        files: Vec<PathBuf>,
    },
    /// Measure the API server; run it with `cargo run --profile dist -p xtask -- bench-api`
    BenchApi {
        /// A real server to measure in the same run
        #[arg(long, env = "REFERENCE_KUBECONFIG", value_name = "KUBECONFIG")]
        reference: Option<PathBuf>,
        /// A program that is built already, to compare versions [default: the release build of this tree]
        #[arg(long)]
        program: Option<PathBuf>,
        /// How long each server is written to at each number of connections
        #[arg(long, default_value_t = 20)]
        seconds: u64,
    },
    /// Measure the controllers; run it with `cargo run --profile dist -p xtask -- bench-controllers`
    BenchControllers {
        /// A real server to run against [default: the embedded API, in this process]
        #[arg(long, value_name = "KUBECONFIG")]
        server: Option<PathBuf>,
        /// How many Workloads are held in the end
        #[arg(long, default_value_t = 10_000)]
        held: usize,
    },
    /// The part of that measurement which needs a process of its own
    #[command(hide = true)]
    HoldControllers {
        /// The server
        #[arg(long, value_name = "KUBECONFIG")]
        server: PathBuf,
    },
    /// Measure the platform on a real API server that is thrown away afterwards, such as one without nodes
    BenchCluster {
        /// The program, built with the profile `dist`
        #[arg(long, value_name = "FILE", default_value = "target/dist/orchestra")]
        program: PathBuf,
        /// Another control plane to measure in its place: a program that sets it up and runs it until it is told to end
        #[arg(long, value_name = "FILE", requires = "workload")]
        peer: Option<PathBuf>,
        /// What Workloads look like for that one; NAME stands for the name
        #[arg(long, value_name = "FILE", requires = "peer")]
        workload: Option<PathBuf>,
        /// The cluster
        #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
        kubeconfig: PathBuf,
        /// The server's log of what was written [default: `audit.log` beside the kubeconfig]
        #[arg(long, value_name = "FILE")]
        audit: Option<PathBuf>,
        /// How many Workloads are brought up
        #[arg(long, default_value_t = 1_000)]
        workloads: usize,
        /// Measure only the program, and nothing to compare it with
        #[arg(long)]
        alone: bool,
        /// Print the figures as JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure `orchestra up`: how soon things are ready, and what it costs when nothing happens
    BenchLaptop {
        /// The program, built with the profile `dist`
        #[arg(long, value_name = "FILE", default_value = "target/dist/orchestra")]
        program: PathBuf,
    },
    /// Draw what `orchestra up` shows, from a real run, into docs/up.svg
    Picture {
        /// The program
        #[arg(long, value_name = "FILE", default_value = "target/dist/orchestra")]
        program: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Gen => generate::write(),
        Command::CheckDeps => dependencies::check(),
        Command::Dist(options) => dist::run(&options),
        Command::Bench { files } => bench::run(&files),
        Command::BenchApi { reference, program, seconds } => {
            bench_api::run(program, reference.as_deref(), Duration::from_secs(seconds))
        }
        Command::BenchControllers { server, held } => bench_controllers::run(server.as_deref(), held),
        Command::HoldControllers { server } => bench_controllers::hold(&server),
        Command::BenchCluster { program, peer, workload, kubeconfig, audit, workloads, alone, json } => {
            let peer = peer.zip(workload);
            let wish = bench_cluster::Wish { program, peer, kubeconfig, audit, workloads, alone, json };
            bench_cluster::run(&wish)
        }
        Command::BenchLaptop { program } => laptop::bench(&program),
        Command::Picture { program } => laptop::picture(&program),
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
