//! `orchestra delete`

use kube::api::DeleteParams;

use super::{
    platform::{Platform, with_platform},
    print,
    wait::{self, WaitOptions},
};
use crate::{
    args::{Delete, Goal},
    error::CliError,
    exit::Exit,
};

pub(crate) fn run(args: &Delete) -> Result<Exit, CliError> {
    with_platform(&args.target, async |platform| delete(args, &platform).await)
}

async fn delete(args: &Delete, platform: &Platform) -> Result<Exit, CliError> {
    let api = platform.workloads();
    // A missing workload is reported before the first one is deleted.
    for name in &args.names {
        platform.workload(name).await?;
    }
    for name in &args.names {
        let deleted = api.delete(name, &DeleteParams::background()).await;
        deleted.map_err(|error| platform.api_error(name, error))?;
    }
    if !args.no_wait {
        let names = args.names.clone();
        let options = WaitOptions { names, goal: Goal::Deleted, timeout: args.timeout, quiet: false };
        wait::wait(platform, options).await?;
    }
    let state = if args.no_wait { "is being deleted" } else { "deleted" };
    let lines: Vec<String> = args.names.iter().map(|name| format!("workload {name} {state}\n")).collect();
    print(&lines.concat())
}
