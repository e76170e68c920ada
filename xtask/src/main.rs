//! `cargo xtask`: development tasks of the workspace.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "command-line tool")]

mod bench;
mod bench_api;
mod bench_cluster;
mod bench_controllers;
mod budgets;
mod chart;
mod dependencies;
mod dist;
mod docs;
mod generate;
mod laptop;
mod permissions;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of the workspace")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the generated files (a test fails while they are out of date)
    Gen,
    /// Check layers, purity and licences of dependencies
    CheckDeps,
    /// Build the files of a release: tarball, Debian package, image, installers, checksums
    Dist(dist::Options),
    /// Measure the Score language; run it with `cargo run --profile dist -p xtask -- bench`
    Bench {
        /// Score files to validate
        files: Vec<PathBuf>,
    },
    /// Measure the API server; run it with `cargo run --profile dist -p xtask -- bench-api`
    BenchApi {
        /// Real server to measure in the same run
        #[arg(long, env = "REFERENCE_KUBECONFIG", value_name = "KUBECONFIG")]
        reference: Option<PathBuf>,
        /// Existing program, to compare versions [default: the release build of this tree]
        #[arg(long)]
        program: Option<PathBuf>,
        /// Duration of writes to each server at each number of connections
        #[arg(long, default_value_t = 20)]
        seconds: u64,
    },
    /// Measure the controllers; run it with `cargo run --profile dist -p xtask -- bench-controllers`
    BenchControllers {
        /// Real server [default: the embedded API, in this process]
        #[arg(long, value_name = "KUBECONFIG")]
        server: Option<PathBuf>,
        /// Number of Workloads at the end
        #[arg(long, default_value_t = 10_000)]
        held: usize,
    },
    /// Part of that measurement that needs a separate process
    #[command(hide = true)]
    HoldControllers {
        /// The server
        #[arg(long, value_name = "KUBECONFIG")]
        server: PathBuf,
    },
    /// Measure the platform on a disposable API server, such as one without nodes
    BenchCluster {
        /// The program, built with the profile `dist`
        #[arg(long, value_name = "FILE", default_value = "target/dist/orchestra")]
        program: PathBuf,
        /// Other control plane to measure instead: a program that installs and runs it until it is terminated
        #[arg(long, value_name = "FILE", requires = "workload")]
        peer: Option<PathBuf>,
        /// Workload template of that control plane; NAME is replaced by the name
        #[arg(long, value_name = "FILE", requires = "peer")]
        workload: Option<PathBuf>,
        /// The cluster
        #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
        kubeconfig: PathBuf,
        /// Audit log of the server [default: `audit.log` beside the kubeconfig]
        #[arg(long, value_name = "FILE")]
        audit: Option<PathBuf>,
        /// Number of Workloads
        #[arg(long, default_value_t = 1_000)]
        workloads: usize,
        /// Measure only the program, without a baseline
        #[arg(long)]
        alone: bool,
        /// Print the results as JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure `orchestra up`: latency, and idle memory and CPU
    BenchLaptop {
        /// The program, built with the profile `dist`
        #[arg(long, value_name = "FILE", default_value = "target/dist/orchestra")]
        program: PathBuf,
    },
    /// Draw the output of a real run of `orchestra up` into docs/up.svg
    Picture {
        /// The program
        #[arg(long, value_name = "FILE", default_value = "target/dist/orchestra")]
        program: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Gen => generate::write().map_err(|error| error.to_string()),
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
            let options = bench_cluster::Options { program, peer, kubeconfig, audit, workloads, alone, json };
            bench_cluster::run(&options)
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

/// Folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
