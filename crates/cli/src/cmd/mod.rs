//! One module for each command that is more than a print.

mod explain;
mod init;
mod input;
mod serve;
pub(crate) mod validate;

use std::io::{self, Write};

use serde_json::json;

use crate::{
    args::{Args, Command, Output},
    exit::{Exit, after_writing},
};

/// Runs a command.
pub(crate) fn run(args: Args) -> Exit {
    match args.command {
        Command::Validate(validate) => validate::run(&validate),
        Command::Init(init) => init::run(&init),
        Command::Serve(serve) => serve::run(&serve),
        Command::Schema => print(&format!("{:#}\n", orchestra_score::json_schema())),
        Command::Version { output } => version(output),
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut crate::command(), "orchestra", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    }
}

fn version(output: Output) -> Exit {
    let (version, spec) = (env!("CARGO_PKG_VERSION"), orchestra_score::SpecVersion::NEWEST.to_string());
    match output {
        Output::Human => {
            print(&format!("orchestra {version} (Score score.dev/v1b1, specification {spec})\n"))
        }
        Output::Json => print(&format!(
            "{:#}\n",
            json!({"version": version, "score": {"apiVersion": "score.dev/v1b1", "specification": spec}})
        )),
    }
}

fn print(text: &str) -> Exit {
    after_writing(io::stdout().lock().write_all(text.as_bytes()), Exit::Yes)
}
