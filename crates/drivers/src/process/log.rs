//! Reader of the log of a run; see [`super::log_format`] for the format.
//!
//! Files are numbered in ascending order, and a file is final once there is a next one. So a reader follows from number to
//! number, however fast the log rotates; files that were removed before are skipped.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Read as _},
    mem::MaybeUninit,
    path::{Path, PathBuf},
};

use futures_util::{
    StreamExt as _, TryStreamExt as _,
    future::{self, Either},
    stream::{self, BoxStream},
};
use jiff::Timestamp;
use rustix::{fd::OwnedFd, fs::inotify, io::Errno};
use tokio::io::unix::AsyncFd;

use super::{Line, RunFiles, run};

/// Lines of a run, oldest first: those from a time on, and of these only the last `tail`.
pub fn read(folder: &Path, since: Option<Timestamp>, tail: Option<usize>) -> io::Result<Vec<Line>> {
    Ok(Reader::new(folder).rest(since, tail)?.into())
}

/// Like [`read`], followed by new lines until the run has exited.
pub fn follow(
    folder: &Path,
    since: Option<Timestamp>,
    tail: Option<usize>,
) -> BoxStream<'static, io::Result<Line>> {
    let folder = folder.to_owned();
    stream::once(async move { Follower::begin(&folder, since, tail) })
        .map_ok(|mut follower| {
            let first = follower.first();
            stream::iter(first.into_iter().map(Ok)).chain(follower.stream())
        })
        .try_flatten()
        .boxed()
}

/// Reader of lines, from file to file.
struct Reader {
    folder: PathBuf,
    /// Current file, and its number.
    current: Option<(u64, File)>,
    /// Bytes that were read and not returned.
    buffer: VecDeque<u8>,
    /// Length of the prefix that has no line end.
    searched: usize,
}

impl Reader {
    fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), current: None, buffer: VecDeque::new(), searched: 0 }
    }

    /// All lines up to now, within bounds.
    fn rest(&mut self, since: Option<Timestamp>, tail: Option<usize>) -> io::Result<VecDeque<Line>> {
        let mut lines = VecDeque::new();
        while let Some(line) = self.next()? {
            if since.is_none_or(|since| line.time >= since) {
                lines.push_back(line);
            }
            if tail.is_some_and(|tail| lines.len() > tail) {
                lines.pop_front();
            }
        }
        Ok(lines)
    }

    /// Next line; `None` if there is none yet.
    fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            while let Some(bytes) = self.buffered() {
                if let Some(line) = Line::parse(&bytes) {
                    return Ok(Some(line));
                }
            }
            if self.fill()? {
                continue;
            }
            let number = self.current.as_ref().map_or(0, |(number, _)| *number);
            let Some(next) = self.numbers()?.into_iter().find(|other| *other > number) else {
                return Ok(None);
            };
            // Lines may have been written between the last read and the creation of the next file.
            if self.fill()? {
                continue;
            }
            match File::open(RunFiles(&self.folder).log(next)) {
                Ok(file) => {
                    self.current = Some((next, file));
                    self.buffer.clear();
                    self.searched = 0;
                }
                // Removed meanwhile: there is a later one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Next complete line in the buffer.
    fn buffered(&mut self) -> Option<Vec<u8>> {
        let Some(end) = self.buffer.iter().skip(self.searched).position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
        line.pop();
        self.searched = 0;
        Some(line)
    }

    /// Reads on in the current file. Returns whether there was something.
    fn fill(&mut self) -> io::Result<bool> {
        let Some((_, file)) = &mut self.current else { return Ok(false) };
        let mut bytes = [0; 8 * 1024];
        let count = file.read(&mut bytes)?;
        self.buffer.extend(&bytes[..count]);
        Ok(count > 0)
    }

    /// Numbers of the files, smallest first.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            numbers.extend(name.to_str().and_then(|name| name.strip_prefix("log.")?.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Follower of a log.
pub(super) struct Follower {
    reader: Reader,
    since: Option<Timestamp>,
    /// Lines from before.
    first: VecDeque<Line>,
    /// Inotify watch of the folder.
    changes: AsyncFd<OwnedFd>,
    ended: bool,
}

impl Follower {
    /// Starts with the lines up to now, within bounds.
    pub(super) fn begin(folder: &Path, since: Option<Timestamp>, tail: Option<usize>) -> io::Result<Self> {
        let changes = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&changes, folder, inotify::WatchFlags::MODIFY | inotify::WatchFlags::CREATE)?;
        let changes = run::watch(changes)?;
        let mut reader = Reader::new(folder);
        let first = reader.rest(since, tail)?;
        Ok(Self { reader, since, first, changes, ended: false })
    }

    /// Lines from before.
    pub(super) fn first(&mut self) -> VecDeque<Line> {
        std::mem::take(&mut self.first)
    }

    /// New lines, until the run has exited.
    pub(super) fn stream(self) -> BoxStream<'static, io::Result<Line>> {
        stream::try_unfold(self, |mut follower| async move {
            Ok(follower.next().await?.map(|line| (line, follower)))
        })
        .boxed()
    }

    async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            while let Some(line) = self.reader.next()? {
                if self.since.is_none_or(|since| line.time >= since) {
                    return Ok(Some(line));
                }
            }
            if self.ended {
                return Ok(None);
            }
            let Some(pidfd) = run::open_shim(&self.reader.folder)? else {
                // The writer has exited: its last lines are read once more.
                self.ended = true;
                continue;
            };
            let (changed, gone) = (Box::pin(self.changes.readable()), Box::pin(run::wait_exit(pidfd)));
            match future::select(changed, gone).await {
                Either::Left((changed, _)) => {
                    let mut changed = changed?;
                    // Changes up to here are seen by the next read, later ones wake again.
                    forget_changes(self.changes.get_ref())?;
                    changed.clear_ready();
                }
                Either::Right((gone, _)) => gone?,
            }
        }
    }
}

fn forget_changes(changes: &OwnedFd) -> io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(changes, &mut buffer);
    loop {
        match reader.next() {
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
