//! Reads back what a program wrote; see [`super::line`] for the form.
//!
//! Files are numbered, the numbers only grow, and a file is final once there is a next one. So a reader follows by
//! going from number to number, however fast the log rotates; what was thrown away before it came by, it misses.

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

use super::{Files, Line, run};

/// The lines of a run that are there, oldest first: those from a time on, and of these only the last `tail`.
pub fn read(folder: &Path, since: Option<Timestamp>, tail: Option<usize>) -> io::Result<Vec<Line>> {
    Ok(Reader::new(folder).rest(since, tail)?.into())
}

/// Like [`read`], and then the lines that come, until the run has ended.
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

/// Reads line by line, from file to file.
struct Reader {
    folder: PathBuf,
    /// The file that is read, and its number.
    current: Option<(u64, File)>,
    /// What was read and not given yet.
    buffer: VecDeque<u8>,
    /// How much of it is known to hold no end of a line.
    searched: usize,
}

impl Reader {
    fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), current: None, buffer: VecDeque::new(), searched: 0 }
    }

    /// All lines that are there now, within bounds.
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

    /// The next line; `None` if there is none yet.
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
            // Something may have been written between the last read and the beginning of the next file.
            if self.fill()? {
                continue;
            }
            match File::open(Files(&self.folder).log(next)) {
                Ok(file) => {
                    self.current = Some((next, file));
                    self.buffer.clear();
                    self.searched = 0;
                }
                // Thrown away meanwhile: there is a later one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A whole line of what was read.
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

    /// Reads on in the current file; whether there was something.
    fn fill(&mut self) -> io::Result<bool> {
        let Some((_, file)) = &mut self.current else { return Ok(false) };
        let mut bytes = [0; 8 * 1024];
        let count = file.read(&mut bytes)?;
        self.buffer.extend(&bytes[..count]);
        Ok(count > 0)
    }

    /// The numbers of the files, smallest first.
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

/// Reads on as lines come.
pub(super) struct Follower {
    reader: Reader,
    since: Option<Timestamp>,
    /// Lines that were there from the start.
    first: VecDeque<Line>,
    /// Tells when something in the folder changes.
    changes: AsyncFd<OwnedFd>,
    ended: bool,
}

impl Follower {
    /// Begins with the lines that are there, within bounds.
    pub(super) fn begin(folder: &Path, since: Option<Timestamp>, tail: Option<usize>) -> io::Result<Self> {
        let changes = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&changes, folder, inotify::WatchFlags::MODIFY | inotify::WatchFlags::CREATE)?;
        let changes = run::watch(changes)?;
        let mut reader = Reader::new(folder);
        let first = reader.rest(since, tail)?;
        Ok(Self { reader, since, first, changes, ended: false })
    }

    /// The lines that were there from the start.
    pub(super) fn first(&mut self) -> VecDeque<Line> {
        std::mem::take(&mut self.first)
    }

    /// The lines that come after them, until the run has ended.
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
            let Some(held) = run::hold(&self.reader.folder)? else {
                // Nobody writes any more: what was written before that is read once more.
                self.ended = true;
                continue;
            };
            let (changed, gone) = (Box::pin(self.changes.readable()), Box::pin(run::gone(held)));
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
