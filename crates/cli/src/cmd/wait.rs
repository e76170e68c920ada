//! `orchestra wait`: follows workloads until they are as wanted, and says on the way what they wait for.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use futures_util::TryStreamExt;
use kube::{
    ResourceExt,
    api::{ListParams, WatchEvent, WatchParams},
};
use orchestra_api::{Condition, ConditionStatus, ConditionType, Workload};

use super::{
    platform::{Platform, Trouble, with_platform},
    show,
};
use crate::{
    args::{Goal, Wait},
    exit::Exit,
    ui,
};

/// How long one watch lasts, in seconds.
const WATCH: u32 = 290;

/// Which workloads are waited for, and how long.
pub(super) struct Goals {
    pub(super) names: Vec<String>,
    pub(super) goal: Goal,
    pub(super) timeout: Duration,
    /// Whether nothing is said on the way.
    pub(super) quiet: bool,
}

pub(crate) fn run(args: &Wait) -> Exit {
    with_platform(&args.target, async |platform| {
        let goals = Goals { names: args.names.clone(), goal: args.goal, timeout: args.timeout, quiet: false };
        wait(&platform, goals).await
    })
}

/// Waits until all workloads are as wanted.
pub(super) async fn wait(platform: &Platform, goals: Goals) -> Result<Exit, Trouble> {
    let mut waiting: BTreeMap<String, String> =
        goals.names.iter().map(|name| (name.clone(), String::new())).collect();
    let followed = follow(platform, &goals, &mut waiting);
    // However short the time: it is looked once.
    let timeout = goals.timeout.max(Duration::from_secs(1));
    match tokio::time::timeout(timeout, followed).await {
        Ok(Ok(())) => Ok(Exit::Yes),
        Ok(Err(trouble)) => Err(trouble),
        Err(_) => {
            let goal = match goals.goal {
                Goal::Ready => "ready",
                Goal::Deleted => "gone",
            };
            for (name, last) in &waiting {
                let seconds = goals.timeout.as_secs();
                ui::complain(&format!("{name} is not {goal} after {seconds}s: {last}"));
            }
            if let (Goal::Ready, Some(name)) = (goals.goal, waiting.keys().next()) {
                let namespace = match platform.namespace.as_str() {
                    "default" => String::new(),
                    other => format!(" -n {other}"),
                };
                ui::say(&format!("`orchestra explain{namespace} {name}` says why"));
            }
            Ok(Exit::No)
        }
    }
}

/// Follows the workloads of the namespace until none is waited for any more.
async fn follow(
    platform: &Platform,
    goals: &Goals,
    waiting: &mut BTreeMap<String, String>,
) -> Result<(), Trouble> {
    let goal = goals.goal;
    let api = platform.workloads();
    let trouble = |error| platform.trouble("workloads", error);
    while !waiting.is_empty() {
        let listed = api.list(&ListParams::default()).await.map_err(trouble)?;
        let version = listed.metadata.resource_version.clone().unwrap_or_default();
        let there: BTreeMap<String, Workload> =
            listed.into_iter().map(|workload| (workload.name_any(), workload)).collect();
        let names: Vec<String> = waiting.keys().cloned().collect();
        for name in names {
            match there.get(&name) {
                Some(workload) => look(workload, goals, waiting)?,
                None if goal == Goal::Deleted => drop(waiting.remove(&name)),
                None => return Err(platform.absent(&name).await),
            }
        }
        if waiting.is_empty() {
            break;
        }
        let params = WatchParams::default().timeout(WATCH);
        let events = api.watch(&params, &version).await.map_err(trouble)?;
        let mut events = pin!(events);
        // A watch that ends or breaks is begun anew with a list.
        while let Ok(Some(event)) = events.try_next().await {
            match event {
                WatchEvent::Added(workload) | WatchEvent::Modified(workload) => {
                    look(&workload, goals, waiting)?;
                }
                WatchEvent::Deleted(workload) if goal == Goal::Deleted => {
                    waiting.remove(&workload.name_any());
                }
                WatchEvent::Deleted(workload) if waiting.contains_key(&workload.name_any()) => {
                    return Err(Trouble::No(format!("{} was deleted meanwhile", workload.name_any())));
                }
                WatchEvent::Error(_) => break,
                _ => {}
            }
            if waiting.is_empty() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Takes note of how a workload stands, and says what is new. What will not become ready without an edit is not waited
/// for.
fn look(workload: &Workload, goals: &Goals, waiting: &mut BTreeMap<String, String>) -> Result<(), Trouble> {
    let goal = goals.goal;
    let name = workload.name_any();
    let Some(last) = waiting.get_mut(&name) else { return Ok(()) };
    if goal == Goal::Ready && workload.metadata.deletion_timestamp.is_some() {
        return Err(Trouble::No(format!("{name} is being deleted, and so will not become ready")));
    }
    let is_current =
        |condition: &&Condition| Some(condition.observed_generation) == workload.metadata.generation;
    let inputs = show::condition(workload, ConditionType::InputsValid).filter(is_current);
    if let Some(invalid) = inputs.filter(|inputs| inputs.status == ConditionStatus::False)
        && goal == Goal::Ready
    {
        let message = ui::printable(&invalid.message);
        return Err(Trouble::No(format!(
            "{name} will not become ready as it is: {}: {message}",
            invalid.reason
        )));
    }
    let ready = show::condition(workload, ConditionType::Ready)
        .filter(|ready| Some(ready.observed_generation) == workload.metadata.generation);
    if goal == Goal::Ready && ready.is_some_and(|ready| ready.status == ConditionStatus::True) {
        let endpoint = workload.status.as_ref().and_then(|status| status.endpoint.as_deref());
        let at = endpoint.map(|endpoint| format!(" at {endpoint}")).unwrap_or_default();
        ui::say(&format!("{name} is ready{}", ui::printable(&at)));
        waiting.remove(&name);
        return Ok(());
    }
    let news = match ready {
        Some(ready) => ready.message.clone(),
        None if workload.metadata.deletion_timestamp.is_some() => "it is being deleted".to_owned(),
        None => "the platform has not looked at it yet".to_owned(),
    };
    if *last != news {
        if !goals.quiet {
            ui::say(&format!("{name}: {}", ui::printable(&news)));
        }
        *last = news;
    }
    Ok(())
}
