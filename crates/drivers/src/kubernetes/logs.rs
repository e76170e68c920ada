//! Logs of the containers of a Workload, of all its pods.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    time::Duration,
};

use futures_util::{
    AsyncBufReadExt as _, TryStreamExt as _,
    stream::{self, BoxStream, StreamExt as _},
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, LogParams},
};
use tokio::{
    sync::mpsc,
    task::{Id, JoinSet},
};

use super::of_workload;
use crate::{LogLine, LogQuery};

/// Interval of checks for new pods and restarted containers; short enough that users do not notice.
const POD_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Buffered lines for a slow reader.
const LOG_BUFFER_LINES: usize = 64;

/// Container of a pod: name and uid of the pod, and name of the container.
type Source = (String, String, String);

/// Reads the logs of a Workload.
pub(super) fn read(
    client: Client,
    namespace: &str,
    name: &str,
    query: LogQuery,
) -> BoxStream<'static, io::Result<LogLine>> {
    let api: Api<Pod> = Api::namespaced(client, namespace);
    let reader = Reader { api, selector: of_workload(name), query };
    let (sender, receiver) = mpsc::channel(LOG_BUFFER_LINES);
    let reading = tokio::spawn(reader.run(sender));
    let guard = AbortOnDrop(reading);
    let lines = stream::unfold((receiver, guard), async |(mut receiver, guard)| {
        Some((receiver.recv().await?, (receiver, guard)))
    });
    lines.boxed()
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Clone)]
struct Reader {
    api: Api<Pod>,
    selector: String,
    query: LogQuery,
}

impl Reader {
    async fn run(self, lines: mpsc::Sender<io::Result<LogLine>>) {
        if let Err(error) = self.send(&lines).await {
            // The reader may have been dropped.
            let _ = lines.send(Err(error)).await;
        }
    }

    async fn send(&self, lines: &mpsc::Sender<io::Result<LogLine>>) -> io::Result<()> {
        let mut written = Vec::new();
        let mut last_times: BTreeMap<Source, Timestamp> = BTreeMap::new();
        for source in self.sources().await? {
            let past = self.past(&source).await?;
            if let Some(last) = past.last() {
                last_times.insert(source, last.time);
            }
            written.extend(past);
        }
        written.sort_by_key(|line| line.time);
        let all = written.len();
        for line in written.into_iter().skip(self.query.tail.map_or(0, |tail| all.saturating_sub(tail))) {
            if lines.send(Ok(line)).await.is_err() {
                return Ok(());
            }
        }
        if self.query.follow { self.follow(last_times, lines).await } else { Ok(()) }
    }

    /// Follows all containers, also those of new pods.
    async fn follow(
        &self,
        mut last_times: BTreeMap<Source, Timestamp>,
        lines: &mpsc::Sender<io::Result<LogLine>>,
    ) -> io::Result<()> {
        let mut readers: JoinSet<Option<Timestamp>> = JoinSet::new();
        let mut followed: BTreeMap<Source, Id> = BTreeMap::new();
        while !lines.is_closed() {
            while let Some(ended) = readers.try_join_next_with_id() {
                let (id, last) = match ended {
                    Ok((id, last)) => (id, last),
                    Err(error) => (error.id(), None),
                };
                let source = followed.iter().find(|(_, of)| **of == id).map(|(source, _)| source.clone());
                if let Some(source) = source {
                    followed.remove(&source);
                    if let Some(last) = last {
                        last_times.insert(source, last);
                    }
                }
            }
            let sources = self.sources().await?;
            let there: BTreeSet<_> = sources.iter().cloned().collect();
            last_times.retain(|source, _| there.contains(source));
            for source in sources {
                if followed.contains_key(&source) {
                    continue;
                }
                let (me, since, lines) = (self.clone(), last_times.get(&source).copied(), lines.clone());
                let of = source.clone();
                let reader = readers.spawn(async move { me.follow_one(&of, since, &lines).await });
                followed.insert(source, reader.id());
            }
            tokio::time::sleep(POD_POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Follows one container until its log ends; returns the time of the last line.
    async fn follow_one(
        &self,
        source: &Source,
        since: Option<Timestamp>,
        lines: &mpsc::Sender<io::Result<LogLine>>,
    ) -> Option<Timestamp> {
        let mut last = since;
        let params = LogParams { follow: true, since_time: since.or(self.query.since), ..params(source) };
        let Ok(log) = self.api.log_stream(&source.0, &params).await else { return last };
        let mut log = std::pin::pin!(log.lines());
        while let Ok(Some(text)) = log.try_next().await {
            let Some(line) = line(&source.2, &text) else { continue };
            // The API has a resolution of seconds.
            if last.is_some_and(|last| line.time <= last) {
                continue;
            }
            last = Some(line.time);
            if lines.send(Ok(line)).await.is_err() {
                break;
            }
        }
        last
    }

    /// Log of a container up to now. A container that has not started has none.
    async fn past(&self, source: &Source) -> io::Result<Vec<LogLine>> {
        let tail = self.query.tail.and_then(|tail| i64::try_from(tail).ok());
        let params = LogParams { since_time: self.query.since, tail_lines: tail, ..params(source) };
        match self.api.logs(&source.0, &params).await {
            Ok(text) => {
                let lines = text.lines().filter_map(|text| line(&source.2, text));
                Ok(lines.filter(|line| self.query.since.is_none_or(|since| line.time >= since)).collect())
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 404) => Ok(Vec::new()),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// All containers of all pods.
    async fn sources(&self) -> io::Result<Vec<Source>> {
        let pods = self.api.list(&ListParams::default().labels(&self.selector)).await;
        let mut sources = Vec::new();
        for pod in pods.map_err(io::Error::other)?.items {
            let Some(spec) = &pod.spec else { continue };
            let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
            let names = containers.map(|container| container.name.clone());
            let wanted =
                names.filter(|name| self.query.container.as_ref().is_none_or(|wanted| wanted == name));
            let (name, uid) = (pod.name_any(), pod.uid().unwrap_or_default());
            sources.extend(wanted.map(|container| (name.clone(), uid.clone(), container)));
        }
        Ok(sources)
    }
}

fn params(source: &Source) -> LogParams {
    LogParams { container: Some(source.2.clone()), timestamps: true, ..LogParams::default() }
}

/// Line of the API: time, blank, text.
fn line(container: &str, text: &str) -> Option<LogLine> {
    let (time, text) = text.split_once(' ').unwrap_or((text, ""));
    Some(LogLine { container: container.to_owned(), time: time.parse().ok()?, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_time_and_keeps_its_whitespace() {
        let read = line("web", "2026-11-16T21:00:00.123456789Z  two  words ").unwrap();
        assert_eq!((read.container.as_str(), read.text.as_str()), ("web", " two  words "));
        assert_eq!(read.time.to_string(), "2026-11-16T21:00:00.123456789Z");
        assert_eq!(line("web", "2026-11-16T21:00:00Z").unwrap().text, "");
        assert_eq!(line("web", "no time"), None);
    }
}
