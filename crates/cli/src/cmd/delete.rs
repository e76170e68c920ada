//! `orchestra delete`

use std::io::{self, Write};

use kube::api::DeleteParams;

use super::{
    platform::{Platform, Trouble, with_platform},
    wait::{self, Goals},
};
use crate::{
    args::{Delete, Goal},
    exit::{Exit, after_writing},
};

pub(crate) fn run(args: &Delete) -> Exit {
    with_platform(&args.target, async |platform| delete(args, &platform).await)
}

async fn delete(args: &Delete, platform: &Platform) -> Result<Exit, Trouble> {
    let api = platform.workloads();
    // All are looked for before the first goes.
    for name in &args.names {
        platform.workload(name).await?;
    }
    for name in &args.names {
        let deleted = api.delete(name, &DeleteParams::background()).await;
        deleted.map_err(|error| platform.trouble(name, error))?;
    }
    if !args.no_wait {
        let goals =
            Goals { names: args.names.clone(), goal: Goal::Deleted, timeout: args.timeout, quiet: false };
        let exit = wait::wait(platform, goals).await?;
        if exit != Exit::Yes {
            return Ok(exit);
        }
    }
    let what = if args.no_wait { "is being deleted" } else { "deleted" };
    let mut out = io::stdout().lock();
    let written = args.names.iter().try_for_each(|name| writeln!(out, "workload {name} {what}"));
    Ok(after_writing(written, Exit::Yes))
}
