//! What the containers of a Workload wrote: the logs of all their runs that are kept, in the order of time, and on wish
//! what they write next, over restarts and new versions.

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
use crate::{LogLine, LogWish};

/// How soon a new run is noticed while somebody follows.
const LOOK: Duration = Duration::from_millis(200);

/// The output of the Workload whose runs are in a folder.
pub(super) fn read(folder: PathBuf, wish: LogWish) -> BoxStream<'static, io::Result<LogLine>> {
    if wish.follow {
        return Following::begin(folder, wish);
    }
    let past = stream::once(async move { past(&folder, &wish) });
    past.flat_map(|read| match read {
        Err(error) => stream::once(async { Err(error) }).boxed(),
        Ok(lines) => stream::iter(lines.into_iter().map(Ok)).boxed(),
    })
    .boxed()
}

/// The lines that are there, in the order of time.
fn past(folder: &Path, wish: &LogWish) -> io::Result<VecDeque<LogLine>> {
    let mut all = Vec::new();
    for (container, run) in wanted(folder, wish) {
        match log::read(&run, wish.since, wish.tail) {
            Ok(lines) => all.extend(lines.into_iter().map(|line| told(&container, line))),
            // Thrown away meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(in_order(all, wish.tail))
}

/// The runs whose lines are wanted, with the container of each.
fn wanted(folder: &Path, wish: &LogWish) -> impl Iterator<Item = (String, PathBuf)> {
    let container = wish.container.clone();
    let is_wanted = move |name: &String| container.as_ref().is_none_or(|wanted| wanted == name);
    runs::folders(folder).into_iter().filter(move |(name, _)| is_wanted(name))
}

fn in_order(mut lines: Vec<LogLine>, tail: Option<usize>) -> VecDeque<LogLine> {
    lines.sort_by_key(|line| line.time);
    let skipped = tail.map_or(0, |tail| lines.len().saturating_sub(tail));
    lines.split_off(skipped).into()
}

fn told(container: &str, line: Line) -> LogLine {
    LogLine { container: container.to_owned(), time: line.time, text: line.text }
}

/// Somebody follows. Each run is read on where its first lines ended, so that none is missed and none comes twice.
struct Following {
    folder: PathBuf,
    wish: LogWish,
    known: BTreeSet<PathBuf>,
    /// Lines to tell before anything else.
    first: VecDeque<LogLine>,
    next: SelectAll<BoxStream<'static, io::Result<LogLine>>>,
    look: Interval,
}

impl Following {
    fn begin(folder: PathBuf, wish: LogWish) -> BoxStream<'static, io::Result<LogLine>> {
        stream::once(async move {
            let mut look = interval(LOOK);
            look.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let (known, first, next) = (BTreeSet::new(), VecDeque::new(), SelectAll::new());
            let mut following = Self { folder, wish, known, first, next, look };
            following.take_up(following.wish.tail);
            stream::unfold(
                following,
                |mut following| async move { Some((following.next().await, following)) },
            )
        })
        .flatten()
        .boxed()
    }

    /// Takes up the runs that were not known; of what they have written already, only the last lines if so wished.
    fn take_up(&mut self, tail: Option<usize>) {
        let mut first = Vec::new();
        for (container, run) in wanted(&self.folder, &self.wish) {
            // One that is only being started cannot be followed yet.
            if self.known.contains(&run) || matches!(find(&run), Ok(State::Absent | State::Starting)) {
                continue;
            }
            // One that was thrown away meanwhile has nothing to tell.
            let Ok(mut follower) = Follower::begin(&run, self.wish.since, tail) else { continue };
            self.known.insert(run);
            first.extend(follower.first().into_iter().map(|line| told(&container, line)));
            let next = follower.stream().map(move |line| line.map(|line| told(&container, line)));
            self.next.push(next.boxed());
        }
        self.first.extend(in_order(first, tail));
    }

    async fn next(&mut self) -> io::Result<LogLine> {
        loop {
            if let Some(line) = self.first.pop_front() {
                return Ok(line);
            }
            // A run that ends leaves; one that begins is seen at the next look.
            tokio::select! {
                Some(line) = self.next.next() => return line,
                _ = self.look.tick() => self.take_up(None),
            }
        }
    }
}
