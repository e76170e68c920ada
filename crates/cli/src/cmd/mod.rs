//! One module for each command that is more than a print.

mod apply;
mod ask;
mod attach;
mod cluster;
mod config;
mod connect;
mod delete;
mod describe;
mod doctor;
pub(crate) mod documents;
mod down;
mod explain;
mod get;
mod home;
mod idle;
mod init;
mod input;
mod install;
mod logging;
mod logs;
mod outputs;
mod plan;
mod platform;
#[cfg(feature = "template")]
mod provisioners;
mod questions;
mod sample;
mod serve;
mod show;
mod summary;
mod uninstall;
mod up;
mod validate;
mod version;
mod wait;

use std::io::{self, Write};

use crate::{
    args::{Args, Command, Output},
    exit::{Exit, after_writing},
};

/// Runs a command.
pub(crate) fn run(args: Args) -> Exit {
    match args.command {
        Command::Validate(validate) => validate::run(&validate),
        Command::Init(init) => init::run(&init),
        Command::Up(up) => up::run(&up),
        Command::Down(down) => down::run(&down),
        Command::Serve(serve) => serve::run(&serve),
        Command::Apply(apply) => apply::run(&apply),
        Command::Plan(plan) => plan::run(&plan),
        Command::Get(get) => get::run(&get),
        Command::Describe(describe) => describe::run(&describe),
        Command::Explain(explain) => explain::run(&explain),
        Command::Logs(logs) => logs::run(&logs),
        Command::Outputs(outputs) => outputs::run(&outputs),
        Command::Wait(wait) => wait::run(&wait),
        Command::Delete(delete) => delete::run(&delete),
        Command::Install(install) => install::run(&install),
        Command::Uninstall(uninstall) => uninstall::run(&uninstall),
        Command::Doctor(doctor) => doctor::run(&doctor),
        Command::Config(config) => config::run(&config),
        #[cfg(feature = "template")]
        Command::Provisioners(provisioners) => provisioners::run(&provisioners),
        Command::Crd => definitions(),
        Command::Schema => print(&format!("{:#}\n", orchestra_score::json_schema())),
        Command::Version { output } => version::version(output),
        Command::SampleServer => sample::run(),
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut crate::command(), "orchestra", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    }
}

fn definitions() -> Exit {
    let texts: Result<Vec<_>, _> = orchestra_api::crd::all().iter().map(orchestra_api::crd::yaml).collect();
    match texts {
        Ok(texts) => print(&texts.join("---\n")),
        Err(error) => {
            crate::ui::complain(&format!("failed to write the definitions: {error}"));
            Exit::No
        }
    }
}

fn print(text: &str) -> Exit {
    after_writing(io::stdout().lock().write_all(text.as_bytes()), Exit::Yes)
}
