//! Events of followed workloads: status changes and log lines.

use std::{collections::BTreeSet, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use orchestra_api::Workload;
use orchestra_server::Code;
use tokio::sync::mpsc;

use crate::{
    cmd::{
        logs::LogOptions,
        platform::Platform,
        watch::{RETRY_INTERVAL, WorkloadChange, WorkloadWatch},
    },
    ui,
};

/// Failed lists in a row after which the platform counts as lost.
const MAX_FAILURES: usize = 3;
/// Longest pause between two log requests without a line: the first lines of a restarted program are this late at most.
const MAX_LOG_DELAY: Duration = Duration::from_secs(2);

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
    let mut changes = WorkloadWatch::new(platform.workloads());
    let mut failures = 0;
    loop {
        let changed = match changes.next().await {
            Ok(WorkloadChange::Listed(workloads)) => {
                failures = 0;
                let names = workloads.iter().map(ResourceExt::name_any).collect();
                let workloads = workloads.into_iter().map(|workload| Event::Workload(Box::new(workload)));
                [Event::Listed(names)].into_iter().chain(workloads).collect()
            }
            Ok(WorkloadChange::Applied(workload)) => vec![Event::Workload(workload)],
            Ok(WorkloadChange::Deleted(name)) => vec![Event::Deleted(name)],
            Err(_) => {
                failures += 1;
                if failures == MAX_FAILURES { vec![Event::Lost] } else { Vec::new() }
            }
        };
        for event in changed {
            if send(&events, event).await.is_err() {
                return;
            }
        }
    }
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
    let mut delay = RETRY_INTERVAL;
    loop {
        let options = LogOptions { since: Some(since), follow: true, ..LogOptions::default() };
        match platform.logs(&name, &options).await {
            Ok(mut lines) => {
                while let Some(Ok(line)) = lines.next().await {
                    delay = RETRY_INTERVAL;
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
            Err(error) if error.has_code(Code::NoLogs) => {
                // The receiver may be gone.
                let _ = send(&events, Event::Output(error.to_string(), since)).await;
                return;
            }
            Err(_) => {}
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(MAX_LOG_DELAY);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use http::{Request, Response};
    use kube::{Client, Config, client::Body};
    use orchestra_server::ERROR_CODE;
    use tokio::time::timeout;

    use super::*;

    /// Requests for logs within ten seconds, and the lines that are shown. The server responds without a line, or with an error.
    async fn followed(error: Option<Code>) -> (usize, Vec<String>) {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_log = request.uri().path().ends_with("/logs");
            let count = if is_log { counted.fetch_add(1, Ordering::Relaxed) } else { 0 };
            async move {
                assert!(count < 100, "requests without a delay");
                let missing = br#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404}"#;
                match error {
                    _ if !is_log => Response::builder().status(404).body(Body::from(missing.to_vec())),
                    Some(code) => {
                        let response = Response::builder().status(404).header(ERROR_CODE, code.name());
                        response.body(Body::from(b"elsewhere".to_vec()))
                    }
                    None => Response::builder().body(Body::empty()),
                }
            }
        });
        let config = Config::new("https://localhost".parse().unwrap());
        let platform = Platform::with_client(config, Client::new(service, "default"));
        let (sender, mut events) = mpsc::channel(16);
        let prefix = Prefix { workload: false, container: false };
        let following = output(platform, "web".to_owned(), prefix, Timestamp::UNIX_EPOCH, sender);
        // It follows until the timeout, unless there are no logs.
        let _ = timeout(Duration::from_secs(10), following).await;
        let mut lines = Vec::new();
        while let Ok(Event::Output(line, _)) = events.try_recv() {
            lines.push(line);
        }
        (requests.load(Ordering::Relaxed), lines)
    }

    #[tokio::test(start_paused = true)]
    async fn requests_without_a_line_are_repeated_with_a_growing_delay() {
        assert_eq!(followed(None).await, (8, Vec::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_external_runtime_is_reported_once() {
        assert_eq!(followed(Some(Code::NoLogs)).await, (1, vec!["web: elsewhere".to_owned()]));
    }
}
