//! What the containers of a Workload wrote: the logs of all their runs that are kept, in the order of time, and on wish
//! what they write next, over restarts and new versions.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream, SelectAll},
};
use jiff::Timestamp;

use super::{Line, State, find, log, runs};
use crate::{LogLine, LogWish};

/// How soon a new run is noticed while somebody follows.
const LOOK: Duration = Duration::from_millis(200);

/// The output of the Workload whose runs are in a folder.
pub(super) fn read(folder: PathBuf, wish: LogWish) -> BoxStream<'static, io::Result<LogLine>> {
    let past = stream::once(async move { past(&folder, &wish).map(|lines| (folder, wish, lines)) });
    past.flat_map(|read| match read {
        Err(error) => stream::once(async { Err(error) }).boxed(),
        Ok((folder, wish, lines)) => {
            let last = lines.last().map(|output| output.time);
            let told = stream::iter(lines.into_iter().map(Ok));
            if wish.follow { told.chain(next(folder, wish, last)).boxed() } else { told.boxed() }
        }
    })
    .boxed()
}

/// The lines that are there, in the order of time.
fn past(folder: &Path, wish: &LogWish) -> io::Result<Vec<LogLine>> {
    let mut all = Vec::new();
    for (container, run) in runs::folders(folder) {
        if wish.container.as_ref().is_some_and(|wanted| *wanted != container) {
            continue;
        }
        match log::read(&run, wish.since, wish.tail) {
            Ok(lines) => {
                all.extend(lines.into_iter().map(|line| told(&container, line)));
            }
            // Thrown away meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    all.sort_by_key(|output| output.time);
    let skipped = wish.tail.map_or(0, |tail| all.len().saturating_sub(tail));
    Ok(all.split_off(skipped))
}

fn told(container: &str, line: Line) -> LogLine {
    LogLine { container: container.to_owned(), time: line.time, text: line.text }
}

/// The lines that come, from then on.
fn next(folder: PathBuf, wish: LogWish, last: Option<Timestamp>) -> BoxStream<'static, io::Result<LogLine>> {
    let since = last.or(wish.since);
    let following: SelectAll<BoxStream<'static, io::Result<LogLine>>> = SelectAll::new();
    let state = (folder, wish, BTreeSet::<PathBuf>::new(), following);
    let lines = stream::unfold(state, move |(folder, wish, mut known, mut following)| async move {
        loop {
            for (container, run) in runs::folders(&folder) {
                let is_wanted = wish.container.as_ref().is_none_or(|wanted| *wanted == container);
                // One that is only being started cannot be followed yet.
                let has_begun = !matches!(find(&run), Ok(State::Absent | State::Starting));
                if is_wanted && has_begun && known.insert(run.clone()) {
                    let lines = log::follow(&run, since, None);
                    let named = lines.map(move |line| line.map(|line| told(&container, line)));
                    following.push(named.boxed());
                }
            }
            // A run that ends leaves; one that begins is seen at the next look.
            tokio::select! {
                Some(line) = following.next() => return Some((line, (folder, wish, known, following))),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    });
    // The last line that was told may come a second time.
    lines
        .filter(move |line| {
            let is_new = line.as_ref().map_or(true, |output| since.is_none_or(|since| output.time > since));
            async move { is_new }
        })
        .boxed()
}
