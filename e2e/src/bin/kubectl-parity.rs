//! Records what kubectl prints with a real API server, and compares another server with it.
#![allow(clippy::print_stdout, reason = "a command speaks to its user")]

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use orchestra_e2e::kubectl::{self, Recording, Script, Session, difference, normalise::Normaliser};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Only scripts whose topic contains this.
    #[arg(long, global = true, default_value = "")]
    only: String,
    /// The kubectl to run.
    #[arg(long, global = true, default_value = "kubectl")]
    kubectl: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Run the scripts with the server of KUBECONFIG and store what they print.
    Record,
    /// Run the scripts and show where they do not print what is stored.
    Play {
        /// The server's kubeconfig; without it, that of KUBECONFIG.
        #[arg(long)]
        server: Option<PathBuf>,
    },
    /// List the scripts.
    List,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let folder = kubectl::folder();
    let mut scripts = Script::all(&folder)?;
    scripts.retain(|script| script.topic.contains(&arguments.only));
    let server = match &arguments.command {
        Command::List => return Ok(list(&scripts)),
        Command::Record => None,
        Command::Play { server } => server.as_deref(),
    };
    let normaliser = Normaliser::new()?;
    let (mut commands, mut differences) = (0, 0);
    // One after another, since all scripts call their kinds the same.
    for script in &scripts {
        let session = Session::start(script, &folder.join("scripts"), &arguments.kubectl, server)?;
        let recording = session.record(&normaliser)?;
        let stored = folder.join("recorded").join(format!("{}.txt", script.topic));
        commands += recording.runs.len();
        if matches!(arguments.command, Command::Record) {
            recording.write(&stored)?;
            continue;
        }
        for difference in difference::compare(&script.topic, &Recording::read(&stored)?, &recording) {
            println!("{difference}");
            differences += 1;
        }
    }
    println!("{commands} commands in {} scripts, {differences} differences", scripts.len());
    Ok(differences == 0)
}

fn list(scripts: &[Script]) -> bool {
    for script in scripts {
        println!("{:4} {}", script.commands.len(), script.topic);
    }
    let commands: usize = scripts.iter().map(|script| script.commands.len()).sum();
    println!("{commands:4} commands in {} scripts", scripts.len());
    true
}
