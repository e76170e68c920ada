//! Records what a real API server answers to the parity scripts, and compares another with it.
#![allow(clippy::print_stdout, reason = "a command speaks to its user")]

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use clap::{Parser, Subcommand};
use orchestra_e2e::parity::{
    self, Recording, Script, Target,
    accepted::{self, Accepted},
    cleanup,
    difference::{self, Parity},
    normalise, replay,
    target::TargetError,
};
use tokio::{sync::Semaphore, task::JoinSet};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Only scripts whose topic contains this.
    #[arg(long, global = true, default_value = "")]
    only: String,
    /// Number of scripts that run concurrently.
    #[arg(long, global = true, default_value_t = 4)]
    jobs: usize,
    /// Keep the objects of the scripts (for a disposable server).
    #[arg(long, global = true)]
    keep: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Play against the server of KUBECONFIG and store its answers.
    Record,
    /// Play against the server of KUBECONFIG and check that the stored answers still hold.
    Compare,
    /// Play a server and show where it differs from the stored answers.
    Play {
        /// The server's kubeconfig.
        #[arg(long)]
        server: PathBuf,
    },
    /// List the scripts.
    List,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<bool, TargetError> {
    let folder = parity::folder();
    let mut scripts = Script::all(&folder)?;
    scripts.retain(|script| script.topic.contains(&arguments.only));
    let stored = |topic: &str| folder.join("recorded").join(format!("{topic}.json"));
    let target = match &arguments.command {
        Command::List => return Ok(list(&scripts)),
        Command::Record | Command::Compare => Target::kubeconfig(None).await?,
        Command::Play { server } => Target::kubeconfig(Some(server)).await?,
    };
    let mut replays = start(scripts, &target, &arguments);
    let mut differences = Vec::new();
    let mut good = true;
    while let Some(replay) = replays.join_next().await {
        let (topic, recording, failures) = replay??;
        for failure in &failures {
            println!("{topic}: {failure}");
        }
        // A step that failed leaves less to compare: no difference does not mean the same answers.
        good &= failures.is_empty();
        if matches!(arguments.command, Command::Record) {
            if failures.is_empty() {
                recording.write(&stored(&topic))?;
            }
        } else {
            let parity = if matches!(arguments.command, Command::Compare) {
                Parity::Verbatim
            } else {
                Parity::Semantic
            };
            let expected = Recording::read(&stored(&topic))?;
            differences.extend(difference::compare(&topic, &expected, &recording, parity)?);
        }
    }
    if matches!(arguments.command, Command::Play { .. }) {
        let lines = Accepted::read(&folder.join("differences.txt"))?;
        let (open, stale) = accepted::split_accepted(differences, &lines);
        differences = open;
        for line in stale.iter().filter(|_| arguments.only.is_empty()) {
            println!("accepted, but no longer so: {line}");
            good = false;
        }
    }
    for difference in &differences {
        println!("{difference}");
    }
    println!("{} differences", differences.len());
    Ok(good && differences.is_empty())
}

type Replayed = Result<(String, Recording, Vec<String>), TargetError>;

fn start(scripts: Vec<Script>, target: &Target, arguments: &Arguments) -> JoinSet<Replayed> {
    let mut replays = JoinSet::new();
    let slots = Arc::new(Semaphore::new(arguments.jobs));
    let keep = arguments.keep;
    for script in scripts {
        let (target, slots) = (target.clone(), slots.clone());
        replays.spawn(async move {
            let _slot = slots.acquire().await?;
            if !keep {
                cleanup::clean(&script, &target).await?;
            }
            let transcript = replay::replay(&script, &target).await;
            if !keep {
                cleanup::clean(&script, &target).await?;
            }
            let recording = normalise::normalise(&transcript)?;
            Ok((script.topic, recording, transcript.failures))
        });
    }
    replays
}

fn list(scripts: &[Script]) -> bool {
    for script in scripts {
        println!("{:4} {:28} {}", script.recorded_steps(), script.topic, script.about);
    }
    let steps: usize = scripts.iter().map(Script::recorded_steps).sum();
    println!("{steps:4} steps in {} scripts", scripts.len());
    true
}
