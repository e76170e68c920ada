//! `orchestra wait`: watches workloads until they are ready or deleted, and prints status changes.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use futures_util::TryStreamExt;
use kube::{
    ResourceExt,
    api::{ListParams, WatchEvent, WatchParams},
};
use orchestra_api::{Condition, ConditionStatus, ConditionType, Workload};

use super::{
    platform::{Platform, with_platform},
    show,
};
use crate::{
    args::{Goal, Wait},
    error::CliError,
    exit::Exit,
    ui,
};

/// Timeout of one watch request: below the 295 seconds that kube allows.
const WATCH_TIMEOUT_SECONDS: u32 = 290;
/// Pause before a list, watch or log request is repeated: short, since users wait for it.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Shortest wait: enough for one list.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Workload that will not reach the goal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WaitError {
    #[error("{name} is not {goal} after {seconds}s: {last_status}")]
    Timeout { name: String, goal: &'static str, seconds: u64, last_status: String },
    #[error("{0} was deleted")]
    Deleted(String),
    #[error("{0} is being deleted and will not become ready")]
    Deleting(String),
    #[error("{name} cannot become ready: {reason}: {message}")]
    Invalid { name: String, reason: String, message: String },
}

/// Workloads to wait for, and how.
pub(super) struct WaitOptions {
    pub(super) names: Vec<String>,
    pub(super) goal: Goal,
    pub(super) timeout: Duration,
    /// Without progress output.
    pub(super) quiet: bool,
}

pub(crate) fn run(args: &Wait) -> Result<Exit, CliError> {
    with_platform(&args.target, async |platform| {
        let (names, goal, timeout) = (args.names.clone(), args.goal, args.timeout);
        wait(&platform, WaitOptions { names, goal, timeout, quiet: false }).await
    })
}

/// Waits until all workloads reach the goal.
pub(super) async fn wait(platform: &Platform, options: WaitOptions) -> Result<Exit, CliError> {
    let mut waiting: BTreeMap<String, String> =
        options.names.iter().map(|name| (name.clone(), String::new())).collect();
    let watched = watch(platform, &options, &mut waiting);
    match tokio::time::timeout(options.timeout.max(MIN_TIMEOUT), watched).await {
        Ok(Ok(())) => Ok(Exit::Success),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            let goal = match options.goal {
                Goal::Ready => "ready",
                Goal::Deleted => "deleted",
            };
            for (name, last_status) in &waiting {
                let (name, last_status) = (name.clone(), last_status.clone());
                let seconds = options.timeout.as_secs();
                let error = WaitError::Timeout { name, goal, seconds, last_status };
                ui::print_error(&error.into());
            }
            if let (Goal::Ready, Some(name)) = (options.goal, waiting.keys().next()) {
                let namespace = match platform.namespace.as_str() {
                    "default" => String::new(),
                    other => format!(" -n {other}"),
                };
                ui::print_status(&format!("Run `orchestra explain{namespace} {name}` for the cause."));
            }
            Ok(Exit::Failure)
        }
    }
}

/// Watches the workloads of the namespace until all have reached the goal.
async fn watch(
    platform: &Platform,
    options: &WaitOptions,
    waiting: &mut BTreeMap<String, String>,
) -> Result<(), CliError> {
    let goal = options.goal;
    let api = platform.workloads();
    let api_error = |error| platform.api_error("workloads", error);
    let mut is_first = true;
    while !waiting.is_empty() {
        // A watch may end at once, for example behind a proxy that does not pass streams.
        if !std::mem::take(&mut is_first) {
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        let listed = api.list(&ListParams::default()).await.map_err(api_error)?;
        let version = listed.metadata.resource_version.clone().unwrap_or_default();
        let found: BTreeMap<String, Workload> =
            listed.into_iter().map(|workload| (workload.name_any(), workload)).collect();
        let names: Vec<String> = waiting.keys().cloned().collect();
        for name in names {
            match found.get(&name) {
                Some(workload) => update(workload, options, waiting)?,
                None if goal == Goal::Deleted => drop(waiting.remove(&name)),
                None => return Err(platform.workload_not_found(&name).await),
            }
        }
        if waiting.is_empty() {
            break;
        }
        let params = WatchParams::default().timeout(WATCH_TIMEOUT_SECONDS);
        let events = api.watch(&params, &version).await.map_err(api_error)?;
        let mut events = pin!(events);
        // After the end of a watch, the loop lists again.
        while let Ok(Some(event)) = events.try_next().await {
            match event {
                WatchEvent::Added(workload) | WatchEvent::Modified(workload) => {
                    update(&workload, options, waiting)?;
                }
                WatchEvent::Deleted(workload) if goal == Goal::Deleted => {
                    waiting.remove(&workload.name_any());
                }
                WatchEvent::Deleted(workload) if waiting.contains_key(&workload.name_any()) => {
                    return Err(WaitError::Deleted(workload.name_any()).into());
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

/// Takes the status of a workload, and prints changes. Fails if the workload cannot become ready without an edit.
fn update(
    workload: &Workload,
    options: &WaitOptions,
    waiting: &mut BTreeMap<String, String>,
) -> Result<(), WaitError> {
    let goal = options.goal;
    let name = workload.name_any();
    let Some(last) = waiting.get_mut(&name) else { return Ok(()) };
    if goal == Goal::Ready && workload.metadata.deletion_timestamp.is_some() {
        return Err(WaitError::Deleting(name));
    }
    let is_current =
        |condition: &&Condition| Some(condition.observed_generation) == workload.metadata.generation;
    let inputs = show::condition(workload, ConditionType::InputsValid).filter(is_current);
    if let Some(invalid) = inputs.filter(|inputs| inputs.status == ConditionStatus::False)
        && goal == Goal::Ready
    {
        let (reason, message) = (invalid.reason.to_string(), ui::printable(&invalid.message).into_owned());
        return Err(WaitError::Invalid { name, reason, message });
    }
    let ready = show::condition(workload, ConditionType::Ready)
        .filter(|ready| Some(ready.observed_generation) == workload.metadata.generation);
    if goal == Goal::Ready && ready.is_some_and(|ready| ready.status == ConditionStatus::True) {
        let endpoint = workload.status.as_ref().and_then(|status| status.endpoint.as_deref());
        let at = endpoint.map(|endpoint| format!(" at {endpoint}")).unwrap_or_default();
        ui::print_status(&format!("{name} is ready{}", ui::printable(&at)));
        waiting.remove(&name);
        return Ok(());
    }
    let status = match ready {
        Some(ready) => ready.message.clone(),
        None if workload.metadata.deletion_timestamp.is_some() => "being deleted".to_owned(),
        None => "waiting for the first status".to_owned(),
    };
    if *last != status {
        if !options.quiet {
            ui::print_status(&format!("{name}: {}", ui::printable(&status)));
        }
        *last = status;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use http::{Request, Response};
    use kube::{Client, Config, client::Body};
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_ends_at_once_is_repeated_with_a_delay() {
        let lists = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&lists);
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch"));
            let count = if is_watch { 0 } else { counted.fetch_add(1, Ordering::Relaxed) };
            async move {
                assert!(count < 1000, "lists without a delay");
                let list = json!({
                    "apiVersion": "score.dev/v1b1", "kind": "WorkloadList", "metadata": {"resourceVersion": "1"},
                    "items": [{"metadata": {"name": "web"}, "spec": {}}],
                });
                let body = if is_watch { Vec::new() } else { list.to_string().into_bytes() };
                Response::builder().body(Body::from(body))
            }
        });
        let config = Config::new("https://localhost".parse().unwrap());
        let platform = Platform::with_client(config, Client::new(service, "default"));
        let names = vec!["web".to_owned()];
        let timeout = RETRY_INTERVAL * 10;
        let options = WaitOptions { names, goal: Goal::Ready, timeout, quiet: true };
        assert_eq!(wait(&platform, options).await.unwrap(), Exit::Failure);
        assert_eq!(lists.load(Ordering::Relaxed), 10);
    }
}
