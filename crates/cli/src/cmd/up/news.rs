//! What happens to workloads while somebody looks: how they change, and what they write.

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
    cmd::{logs::Wish, platform::Platform},
    ui,
};

/// How soon the platform is asked again.
const AGAIN: Duration = Duration::from_millis(200);
/// After how many questions in vain the platform counts as lost.
const LOST_AFTER: usize = 3;

/// What stands before a line of output, where it would not be clear whose it is.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    pub(super) workload: bool,
    pub(super) container: bool,
}

/// Something that happened.
pub(super) enum News {
    /// A workload has changed.
    Workload(Box<Workload>),
    /// A workload is gone.
    Gone(String),
    /// The workloads that there are.
    Listed(BTreeSet<String>),
    /// A line of output, and just after when it was written.
    Output(String, Timestamp),
    /// The platform does not answer any more.
    Lost,
}

/// Nobody listens any more.
struct Unheard;

/// Tells of every change of a workload in the namespace, and when the platform cannot be asked any more.
pub(super) async fn watch(platform: Platform, news: mpsc::Sender<News>) {
    let api = platform.workloads();
    let mut failures = 0;
    loop {
        let heard = if let Ok(version) = list(&api, &news).await {
            failures = 0;
            match version {
                Ok(version) => follow(&api, &version, &news).await,
                Err(unheard) => Err(unheard),
            }
        } else {
            failures += 1;
            if failures == LOST_AFTER { tell(&news, News::Lost).await } else { Ok(()) }
        };
        if heard.is_err() {
            return;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Tells of all that there are. Answers with the version from which on to follow.
async fn list(api: &Api<Workload>, news: &mpsc::Sender<News>) -> kube::Result<Result<String, Unheard>> {
    let listed = api.list(&ListParams::default()).await?;
    let version = listed.metadata.resource_version.clone().unwrap_or_default();
    let names = listed.iter().map(ResourceExt::name_any).collect();
    let workloads = listed.into_iter().map(|workload| News::Workload(Box::new(workload)));
    for told in [News::Listed(names)].into_iter().chain(workloads) {
        if tell(news, told).await.is_err() {
            return Ok(Err(Unheard));
        }
    }
    Ok(Ok(version))
}

/// Tells of changes until that ends.
async fn follow(api: &Api<Workload>, version: &str, news: &mpsc::Sender<News>) -> Result<(), Unheard> {
    let Ok(events) = api.watch(&WatchParams::default(), version).await else { return Ok(()) };
    let mut events: BoxStream<'_, _> = events.boxed();
    while let Ok(Some(event)) = events.try_next().await {
        match event {
            WatchEvent::Added(workload) | WatchEvent::Modified(workload) => {
                tell(news, News::Workload(Box::new(workload))).await?;
            }
            WatchEvent::Deleted(workload) => tell(news, News::Gone(workload.name_any())).await?,
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => break,
        }
    }
    Ok(())
}

async fn tell(news: &mpsc::Sender<News>, told: News) -> Result<(), Unheard> {
    news.send(told).await.map_err(|_| Unheard)
}

/// Tells what a workload writes, with names before each line where there are several. Goes on where it was when the
/// platform was away.
pub(super) async fn output(
    platform: Platform,
    name: String,
    prefixed: Prefix,
    mut since: Timestamp,
    news: mpsc::Sender<News>,
) {
    loop {
        let wish = Wish { since: Some(since), follow: true, ..Wish::default() };
        if let Ok(mut lines) = platform.logs(&name, &wish).await {
            while let Some(Ok(line)) = lines.next().await {
                since = line.time.checked_add(Duration::from_nanos(1)).unwrap_or(line.time);
                let from = match (prefixed.workload, prefixed.container) {
                    (true, true) => format!("{name}/{} ", line.container),
                    (true, false) => format!("{name} "),
                    (false, true) => format!("{} ", line.container),
                    (false, false) => String::new(),
                };
                let text = format!("{from}| {}", ui::printable(&line.text));
                if tell(&news, News::Output(text, since)).await.is_err() {
                    return;
                }
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}
