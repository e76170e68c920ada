//! `orchestra down`: stops the workloads of `orchestra up`.

use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams},
};

use super::{
    platform::{self, Platform},
    up::{self, background},
};
use crate::{
    args::{Down, data_dir},
    error::CliError,
    exit::Exit,
    ui,
};

pub(crate) fn run(args: &Down) -> Result<Exit, CliError> {
    platform::block_on(down(args))
}

async fn down(args: &Down) -> Result<Exit, CliError> {
    let data = data_dir(args.data_dir.as_ref())?;
    if Platform::of_data_dir(&data, args.namespace.as_deref()).await.is_err() {
        ui::print_status("Nothing to stop: no platform was started here.");
        return Ok(Exit::Success);
    }
    // Programs outlive the platform, which is started to stop them.
    let (platform, _) = background::connect_or_start(&data, args.namespace.as_deref(), false).await?;
    let names = if args.names.is_empty() { all(&platform).await? } else { args.names.clone() };
    for name in &args.names {
        platform.workload(name).await?;
    }
    if names.is_empty() {
        ui::print_status("No workloads found in this namespace.");
    }
    let stopped = up::stop(&platform, names, args.rm).await?;
    background::shut_down(&platform, &data).await;
    Ok(stopped)
}

async fn all(platform: &Platform) -> Result<Vec<String>, CliError> {
    let listed = platform.workloads().list(&ListParams::default()).await;
    let listed = listed.map_err(|error| platform.api_error("workloads", error))?;
    Ok(listed.iter().map(ResourceExt::name_any).collect())
}

/// Deletes a workload, if it exists.
pub(super) async fn delete(platform: &Platform, name: &str) -> Result<(), CliError> {
    match platform.workloads().delete(name, &DeleteParams::background()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(platform.api_error(name, error)),
        Ok(_) => Ok(()),
    }
}
