//! Commands, one module each.

mod apply;
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
#[cfg(feature = "embedded")]
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
mod sample;
mod serve;
mod server_client;
mod show;
mod summary;
mod uninstall;
mod up;
mod user;
mod validate;
mod version;
mod wait;
mod watch;
mod workload_origin;

pub(crate) use attach::AttachError;
pub(crate) use cluster::IN_CLUSTER_URL;
pub(crate) use install::manifests::ManifestError;
pub(crate) use serve::ServeError;
pub(crate) use server_client::ServerError;
pub(crate) use user::UserError;
pub(crate) use wait::WaitError;
pub(crate) use workload_origin::EnvLineError;

use crate::{
    args::{Args, Command, Output},
    error::CliError,
    exit::Exit,
    ui,
};

/// Runs a command.
pub(crate) fn run(args: Args) -> Result<Exit, CliError> {
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
        Command::User(user) => user::run(&user),
        Command::Config(config) => config::run(&config),
        #[cfg(feature = "template")]
        Command::Provisioners(provisioners) => provisioners::run(&provisioners),
        Command::Crd => print(&crds()?),
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

fn crds() -> Result<String, CliError> {
    let texts: Result<Vec<_>, _> = orchestra_api::crd::all().iter().map(orchestra_api::crd::yaml).collect();
    texts.map(|texts| texts.join("---\n")).map_err(|error| CliError::Encode(error.into()))
}

/// Prints the output of a successful command.
fn print(text: &str) -> Result<Exit, CliError> {
    ui::print(text).map(|()| Exit::Success)
}
