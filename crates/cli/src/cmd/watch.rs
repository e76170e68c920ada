//! List and watch of the workloads of a namespace.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use kube::{
    Api, ResourceExt,
    api::{ListParams, WatchEvent, WatchParams},
};
use orchestra_api::Workload;

/// Timeout of one watch request: below the 295 seconds that kube allows.
const WATCH_TIMEOUT_SECONDS: u32 = 290;
/// Pause before a list, watch or log request is repeated: short, since users wait for it.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Change of the workloads of a namespace.
pub(super) enum WorkloadChange {
    /// All workloads, at the start and after the end of a watch.
    Listed(Vec<Workload>),
    /// Added or modified workload.
    Applied(Box<Workload>),
    /// Name of a deleted workload.
    Deleted(String),
}

enum State {
    Start,
    /// Pause, then list again.
    Ended,
    /// resourceVersion to watch from.
    Listed(String),
    Watching(BoxStream<'static, kube::Result<WatchEvent<Workload>>>),
}

/// Endless sequence of changes. After an error or the end of a watch, it lists again, with a delay.
pub(super) struct WorkloadWatch {
    api: Api<Workload>,
    state: State,
}

impl WorkloadWatch {
    pub(super) fn new(api: Api<Workload>) -> Self {
        Self { api, state: State::Start }
    }

    /// Next change, or the error of a list or watch request.
    pub(super) async fn next(&mut self) -> kube::Result<WorkloadChange> {
        loop {
            // An error or cancellation leaves this state.
            match std::mem::replace(&mut self.state, State::Ended) {
                // A watch may end at once, for example behind a proxy that does not pass streams.
                State::Ended => {
                    tokio::time::sleep(RETRY_INTERVAL).await;
                    self.state = State::Start;
                }
                State::Start => {
                    let listed = self.api.list(&ListParams::default()).await?;
                    self.state = State::Listed(listed.metadata.resource_version.unwrap_or_default());
                    return Ok(WorkloadChange::Listed(listed.items));
                }
                State::Listed(version) => {
                    let params = WatchParams::default().timeout(WATCH_TIMEOUT_SECONDS);
                    self.state = State::Watching(self.api.watch(&params, &version).await?.boxed());
                }
                State::Watching(mut events) => {
                    let change = match events.try_next().await {
                        Ok(Some(WatchEvent::Added(workload) | WatchEvent::Modified(workload))) => {
                            Some(WorkloadChange::Applied(Box::new(workload)))
                        }
                        Ok(Some(WatchEvent::Deleted(workload))) => {
                            Some(WorkloadChange::Deleted(workload.name_any()))
                        }
                        Ok(Some(WatchEvent::Bookmark(_))) => None,
                        Ok(Some(WatchEvent::Error(_)) | None) | Err(_) => continue,
                    };
                    self.state = State::Watching(events);
                    if let Some(change) = change {
                        return Ok(change);
                    }
                }
            }
        }
    }
}
