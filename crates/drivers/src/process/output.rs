//! Log of a Workload: the lines of all kept runs of its containers in the order of time, and on request new lines, across
//! restarts and versions.

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream, SelectAll},
};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{
    Line, State, find,
    log::{self, Follower},
    runs,
};
use crate::{LogLine, LogQuery};

/// Check for new runs while a client follows; as frequent as a user notices.
const RUN_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Log of the Workload whose runs are in a folder.
pub(super) fn read(folder: PathBuf, query: LogQuery) -> BoxStream<'static, io::Result<LogLine>> {
    if query.follow {
        return LogFollower::begin(folder, query);
    }
    let past = stream::once(async move { past(&folder, &query) });
    past.flat_map(|read| match read {
        Err(error) => stream::once(async { Err(error) }).boxed(),
        Ok(lines) => stream::iter(lines.into_iter().map(Ok)).boxed(),
    })
    .boxed()
}

/// Lines up to now, in the order of time.
fn past(folder: &Path, query: &LogQuery) -> io::Result<VecDeque<LogLine>> {
    let mut all = Vec::new();
    for (container, run) in wanted(folder, query) {
        match log::read(&run, query.since, query.tail) {
            Ok(lines) => all.extend(lines.into_iter().map(|line| log_line(&container, line))),
            // Removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(in_order(all, query.tail))
}

/// Runs that the query selects, with their container.
fn wanted(folder: &Path, query: &LogQuery) -> impl Iterator<Item = (String, PathBuf)> {
    let container = query.container.clone();
    let is_wanted = move |name: &String| container.as_ref().is_none_or(|wanted| wanted == name);
    runs::folders(folder).into_iter().filter(move |(name, _)| is_wanted(name))
}

fn in_order(mut lines: Vec<LogLine>, tail: Option<usize>) -> VecDeque<LogLine> {
    lines.sort_by_key(|line| line.time);
    let skipped = tail.map_or(0, |tail| lines.len().saturating_sub(tail));
    lines.split_off(skipped).into()
}

fn log_line(container: &str, line: Line) -> LogLine {
    LogLine { container: container.to_owned(), time: line.time, text: line.text }
}

/// Follower of a Workload. Each run continues where its first lines ended, so no line is lost or repeated.
struct LogFollower {
    folder: PathBuf,
    query: LogQuery,
    seen: BTreeSet<PathBuf>,
    /// Lines to return first.
    first: VecDeque<LogLine>,
    next: SelectAll<BoxStream<'static, io::Result<LogLine>>>,
    ticks: Interval,
}

impl LogFollower {
    fn begin(folder: PathBuf, query: LogQuery) -> BoxStream<'static, io::Result<LogLine>> {
        stream::once(async move {
            let mut ticks = interval(RUN_CHECK_INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let (seen, first, next) = (BTreeSet::new(), VecDeque::new(), SelectAll::new());
            let mut following = Self { folder, query, seen, first, next, ticks };
            following.add_runs(following.query.tail);
            stream::unfold(
                following,
                |mut following| async move { Some((following.next().await, following)) },
            )
        })
        .flatten()
        .boxed()
    }

    /// Adds new runs; of their lines up to now, only the last ones if so requested.
    fn add_runs(&mut self, tail: Option<usize>) {
        let mut first = Vec::new();
        for (container, run) in wanted(&self.folder, &self.query) {
            // A run that is starting cannot be followed yet.
            if self.seen.contains(&run) || matches!(find(&run), Ok(State::Absent | State::Starting)) {
                continue;
            }
            // Removed meanwhile.
            let Ok(mut follower) = Follower::begin(&run, self.query.since, tail) else { continue };
            self.seen.insert(run);
            first.extend(follower.first().into_iter().map(|line| log_line(&container, line)));
            let next = follower.stream().map(move |line| line.map(|line| log_line(&container, line)));
            self.next.push(next.boxed());
        }
        self.first.extend(in_order(first, tail));
    }

    async fn next(&mut self) -> io::Result<LogLine> {
        loop {
            if let Some(line) = self.first.pop_front() {
                return Ok(line);
            }
            // A run that has exited ends its stream; a new one is added at the next tick.
            tokio::select! {
                Some(line) = self.next.next() => return line,
                _ = self.ticks.tick() => self.add_runs(None),
            }
        }
    }
}
