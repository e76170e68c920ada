//! `orchestra wait`: watches workloads until they are ready or deleted, and prints status changes.

use std::{collections::BTreeMap, fmt, time::Duration};

use kube::ResourceExt;
use orchestra_api::{ConditionType, Workload};
use orchestra_core::workload_state;

use super::{
    platform::{Platform, with_platform},
    watch::{WorkloadChange, WorkloadWatch},
};
use crate::{
    args::{Goal, Wait},
    error::CliError,
    exit::Exit,
    ui,
};

/// Shortest wait: enough for one list.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Workloads that do not reach the goal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WaitError {
    #[error("{0}")]
    Timeout(WaitTimeout),
    #[error("{0} was deleted")]
    Deleted(String),
    #[error("{0} is being deleted and will not become ready")]
    Deleting(String),
    #[error("{name} cannot become ready: {reason}: {message}")]
    Invalid { name: String, reason: String, message: String },
}

/// Workloads that have not reached the goal in time.
#[derive(Debug)]
pub(crate) struct WaitTimeout {
    namespace: String,
    goal: Goal,
    timeout: Duration,
    /// Last statuses, by name.
    waiting: BTreeMap<String, String>,
}

impl fmt::Display for WaitTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, goal, timeout, waiting } = self;
        let goal_text = match goal {
            Goal::Ready => "ready",
            Goal::Deleted => "deleted",
        };
        let seconds = timeout.as_secs();
        for (n, (name, last_status)) in waiting.iter().enumerate() {
            let line_end = if n == 0 { "" } else { "\n" };
            write!(
                f,
                "{line_end}{name} is not {goal_text} after {seconds}s: {}",
                ui::printable(last_status)
            )?;
        }
        let (Goal::Ready, Some(name)) = (goal, waiting.keys().next()) else { return Ok(()) };
        let option = match namespace.as_str() {
            "default" => String::new(),
            other => format!(" -n {other}"),
        };
        write!(f, "\nRun `orchestra explain{option} {name}` for the cause.")
    }
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
        wait(&platform, WaitOptions { names, goal, timeout, quiet: false }).await?;
        Ok(Exit::Success)
    })
}

/// Waits until all workloads reach the goal.
pub(super) async fn wait(platform: &Platform, options: WaitOptions) -> Result<(), CliError> {
    let mut waiting: BTreeMap<String, String> =
        options.names.iter().map(|name| (name.clone(), String::new())).collect();
    let watched = watch(platform, &options, &mut waiting);
    if let Ok(result) = tokio::time::timeout(options.timeout.max(MIN_TIMEOUT), watched).await {
        return result;
    }
    let WaitOptions { goal, timeout, .. } = options;
    let namespace = platform.namespace.clone();
    Err(WaitError::Timeout(WaitTimeout { namespace, goal, timeout, waiting }).into())
}

/// Watches the workloads of the namespace until all have reached the goal.
async fn watch(
    platform: &Platform,
    options: &WaitOptions,
    waiting: &mut BTreeMap<String, String>,
) -> Result<(), CliError> {
    let goal = options.goal;
    let mut changes = WorkloadWatch::new(platform.workloads());
    while !waiting.is_empty() {
        match changes.next().await.map_err(|error| platform.api_error("workloads", error))? {
            WorkloadChange::Listed(listed) => {
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
            }
            WorkloadChange::Applied(workload) => update(&workload, options, waiting)?,
            WorkloadChange::Deleted(name) if goal == Goal::Deleted => drop(waiting.remove(&name)),
            WorkloadChange::Deleted(name) if waiting.contains_key(&name) => {
                return Err(WaitError::Deleted(name).into());
            }
            WorkloadChange::Deleted(_) => {}
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
    if goal == Goal::Ready && workload_state::is_deleting(workload) {
        return Err(WaitError::Deleting(name));
    }
    if goal == Goal::Ready
        && let Some(invalid) = workload_state::rejection(workload)
    {
        let (reason, message) = (invalid.reason.to_string(), ui::printable(&invalid.message).into_owned());
        return Err(WaitError::Invalid { name, reason, message });
    }
    if goal == Goal::Ready && workload_state::is_ready(workload) {
        let endpoint = workload.status.as_ref().and_then(|status| status.endpoint.as_deref());
        let at = endpoint.map(|endpoint| format!(" at {endpoint}")).unwrap_or_default();
        ui::print_status(&format!("{name} is ready{}", ui::printable(&at)));
        waiting.remove(&name);
        return Ok(());
    }
    let status = match workload_state::condition(workload, ConditionType::Ready) {
        Some(ready) => ready.message.clone(),
        None if workload_state::is_deleting(workload) => "being deleted".to_owned(),
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

    use super::{super::watch::RETRY_INTERVAL, *};

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
        let error = wait(&platform, options).await.unwrap_err();
        assert_eq!(error.exit(), Exit::Failure);
        assert_eq!(
            error.to_string(),
            "web is not ready after 2s: waiting for the first status\nRun `orchestra explain web` for the cause."
        );
        assert_eq!(lists.load(Ordering::Relaxed), 10);
    }
}
