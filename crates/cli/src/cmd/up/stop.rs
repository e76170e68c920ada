//! Stop of workloads, for `up` and `down`.

use std::{collections::BTreeSet, time::Duration};

use kube::{Api, ResourceExt};
use orchestra_api::WorkloadPlan;
use orchestra_core::workload_state;
use tokio::sync::mpsc;

use super::follow::{Event, watch};
use crate::{
    args::Goal,
    cmd::{
        down,
        platform::Platform,
        wait::{self, WaitOptions},
        watch::RETRY_INTERVAL,
    },
    error::CliError,
    exit::Exit,
    ui,
};

/// Timeout of stopping workloads: several times the default grace period of a program.
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// Suspends workloads and waits until they have stopped; with `remove`, deletes them.
pub(in crate::cmd) async fn stop(
    platform: &Platform,
    names: Vec<String>,
    remove: bool,
) -> Result<Exit, CliError> {
    if names.is_empty() {
        return Ok(Exit::Success);
    }
    ui::print_status("Stopping…");
    for name in &names {
        if remove {
            down::delete(platform, name).await?;
        } else if platform.workloads().get_opt(name).await.is_ok_and(|found| found.is_some()) {
            platform.suspend(name, true).await?;
        }
    }
    if remove {
        let options = WaitOptions { names, goal: Goal::Deleted, timeout: STOP_TIMEOUT, quiet: true };
        wait::wait(platform, options).await?;
        ui::print_status("Stopped and removed.");
        return Ok(Exit::Success);
    }
    if tokio::time::timeout(STOP_TIMEOUT, until_stopped(platform, &names)).await.is_err() {
        return Err(CliError::StopTimeout(STOP_TIMEOUT.as_secs()));
    }
    ui::print_status(
        "Stopped; data is kept. Resume with `orchestra up`, remove everything with `orchestra down --rm`.",
    );
    Ok(Exit::Success)
}

/// Waits until the runtime has stopped all workloads.
async fn until_stopped(platform: &Platform, names: &[String]) {
    let (sender, mut events) = mpsc::channel(16);
    let watching = tokio::spawn(watch(platform.clone(), sender));
    let mut left: BTreeSet<&String> = names.iter().collect();
    while !left.is_empty()
        && let Some(event) = events.recv().await
    {
        match event {
            Event::Workload(workload) if left.contains(&workload.name_any()) => {
                // The status of the Workload follows that of the plan.
                let name = workload.name_any();
                if workload_state::has_stopped(&workload, plan(platform, &name).await.as_ref()) {
                    left.remove(&name);
                }
            }
            Event::Deleted(name) => drop(left.remove(&name)),
            Event::Listed(existing) => left.retain(|name| existing.contains(*name)),
            Event::Workload(_) | Event::Output(..) | Event::Lost => {}
        }
    }
    watching.abort();
}

/// Plan of a workload, if there is one.
async fn plan(platform: &Platform, name: &str) -> Option<WorkloadPlan> {
    let plans: Api<WorkloadPlan> = Api::namespaced(platform.client.clone(), &platform.namespace);
    loop {
        match plans.get_opt(name).await {
            Ok(plan) => return plan,
            Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}
