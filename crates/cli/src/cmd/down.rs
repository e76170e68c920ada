//! `orchestra down`: the end of what `orchestra up` runs.

use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams},
};

use super::{
    platform::{self, Platform, Trouble},
    up::{self, home},
};
use crate::{
    args::{Down, data_dir},
    exit::Exit,
    ui,
};

pub(crate) fn run(args: &Down) -> Exit {
    platform::run(down(args))
}

async fn down(args: &Down) -> Result<Exit, Trouble> {
    let data = data_dir(args.data_dir.as_ref()).map_err(Trouble::No)?;
    let there = Platform::at(&data, args.namespace.as_deref()).await;
    if there.is_err() {
        ui::say("Nothing was ever run here.");
        return Ok(Exit::Yes);
    }
    // Programs run on without the platform: it is started to stop them.
    let (platform, _) = home::reach(&data, args.namespace.as_deref()).await?;
    let names = if args.names.is_empty() { all(&platform).await? } else { args.names.clone() };
    for name in &args.names {
        platform.workload(name).await?;
    }
    if names.is_empty() {
        ui::say("Nothing runs in this namespace.");
    }
    let stopped = up::stop(&platform, names, args.rm).await?;
    home::end(&platform, &data).await;
    Ok(stopped)
}

async fn all(platform: &Platform) -> Result<Vec<String>, Trouble> {
    let listed = platform.workloads().list(&ListParams::default()).await;
    let listed = listed.map_err(|error| platform.trouble("workloads", error))?;
    Ok(listed.iter().map(ResourceExt::name_any).collect())
}

/// Deletes a workload; one that is gone already is fine.
pub(super) async fn delete(platform: &Platform, name: &str) -> Result<(), Trouble> {
    match platform.workloads().delete(name, &DeleteParams::background()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(platform.trouble(name, error)),
        Ok(_) => Ok(()),
    }
}
