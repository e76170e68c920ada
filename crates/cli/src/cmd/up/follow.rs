//! Events of followed workloads: status changes and log lines.

use std::{collections::BTreeSet, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, ResourceExt,
    api::{ListParams, WatchEvent, WatchParams},
};
use orchestra_api::Workload;
use tokio::sync::mpsc;

use crate::{
    cmd::{logs::LogOptions, platform::Platform, wait::RETRY_INTERVAL},
    ui,
};

/// Failed lists in a row after which the platform counts as lost.
const MAX_FAILURES: usize = 3;

/// Names before a log line, where there are several workloads or containers.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    pub(super) workload: bool,
    pub(super) container: bool,
}

/// Event of a followed workload.
pub(super) enum Event {
    /// Added or modified workload.
    Workload(Box<Workload>),
    /// Deleted workload.
    Deleted(String),
    /// Names of all workloads.
    Listed(BTreeSet<String>),
    /// Log line, with the time from which to continue.
    Output(String, Timestamp),
    /// The platform no longer answers.
    Lost,
}

/// The receiver is gone.
struct Closed;

/// Sends every change of a workload in the namespace, and [`Event::Lost`] once the platform no longer answers.
pub(super) async fn watch(platform: Platform, events: mpsc::Sender<Event>) {
    let api = platform.workloads();
    let mut failures = 0;
    loop {
        let sent = if let Ok(version) = list(&api, &events).await {
            failures = 0;
            match version {
                Ok(version) => follow(&api, &version, &events).await,
                Err(closed) => Err(closed),
            }
        } else {
            failures += 1;
            if failures == MAX_FAILURES { send(&events, Event::Lost).await } else { Ok(()) }
        };
        if sent.is_err() {
            return;
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Sends all workloads. Returns the resourceVersion to watch from.
async fn list(api: &Api<Workload>, events: &mpsc::Sender<Event>) -> kube::Result<Result<String, Closed>> {
    let listed = api.list(&ListParams::default()).await?;
    let version = listed.metadata.resource_version.clone().unwrap_or_default();
    let names = listed.iter().map(ResourceExt::name_any).collect();
    let workloads = listed.into_iter().map(|workload| Event::Workload(Box::new(workload)));
    for event in [Event::Listed(names)].into_iter().chain(workloads) {
        if send(events, event).await.is_err() {
            return Ok(Err(Closed));
        }
    }
    Ok(Ok(version))
}

/// Sends changes until the watch ends.
async fn follow(api: &Api<Workload>, version: &str, events: &mpsc::Sender<Event>) -> Result<(), Closed> {
    let Ok(changes) = api.watch(&WatchParams::default(), version).await else { return Ok(()) };
    let mut changes: BoxStream<'_, _> = changes.boxed();
    while let Ok(Some(change)) = changes.try_next().await {
        match change {
            WatchEvent::Added(workload) | WatchEvent::Modified(workload) => {
                send(events, Event::Workload(Box::new(workload))).await?;
            }
            WatchEvent::Deleted(workload) => send(events, Event::Deleted(workload.name_any())).await?,
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => break,
        }
    }
    Ok(())
}

async fn send(events: &mpsc::Sender<Event>, event: Event) -> Result<(), Closed> {
    events.send(event).await.map_err(|_| Closed)
}

/// Sends the log lines of a workload. Continues after the last line when the platform is back.
pub(super) async fn output(
    platform: Platform,
    name: String,
    prefix: Prefix,
    mut since: Timestamp,
    events: mpsc::Sender<Event>,
) {
    loop {
        let options = LogOptions { since: Some(since), follow: true, ..LogOptions::default() };
        if let Ok(mut lines) = platform.logs(&name, &options).await {
            while let Some(Ok(line)) = lines.next().await {
                since = line.time.checked_add(Duration::from_nanos(1)).unwrap_or(line.time);
                let from = match (prefix.workload, prefix.container) {
                    (true, true) => format!("{name}/{} ", line.container),
                    (true, false) => format!("{name} "),
                    (false, true) => format!("{} ", line.container),
                    (false, false) => String::new(),
                };
                let text = format!("{from}| {}", ui::printable(&line.text));
                if send(&events, Event::Output(text, since)).await.is_err() {
                    return;
                }
            }
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}
