//! Output of the program: split into lines, and written to rotating files.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use crate::process::{
    LogLimits, RunFiles, Stream,
    log_format::{self, MAX_LINE_BYTES},
};

/// Log of a run.
pub(super) struct Log {
    folder: PathBuf,
    limits: LogLimits,
    number: u64,
    file: File,
    size: u64,
    /// True if the last write stopped within a line.
    torn: bool,
}

impl Log {
    pub(super) fn create(folder: &Path, limits: LogLimits) -> io::Result<Self> {
        let folder = folder.to_owned();
        let file = open(&folder, 1)?;
        Ok(Self { folder, limits, number: 1, file, size: 0, torn: false })
    }

    /// Writes complete lines. A full disk must not stop the program: lines that cannot be written are dropped.
    pub(super) fn write(&mut self, lines: &[u8]) {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let more = line.len() as u64;
            if self.size > 0 && self.size + more > self.limits.bytes {
                self.rotate();
            }
            if self.torn && self.file.write_all(b"\n").is_ok() {
                self.torn = false;
            }
            if !self.torn && self.file.write_all(line).is_err() {
                self.torn = true;
            }
            self.size += more;
        }
    }

    /// Starts a new file and removes the oldest. Numbers only grow and files are not renamed, so that a reader keeps its place.
    fn rotate(&mut self) {
        let Ok(file) = open(&self.folder, self.number + 1) else { return };
        self.number += 1;
        self.file = file;
        self.size = 0;
        self.torn = false;
        if let Some(oldest) = self.number.checked_sub(self.limits.files.max(1)) {
            fs::remove_file(RunFiles(&self.folder).log(oldest)).ok();
        }
    }
}

fn open(folder: &Path, number: u64) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(RunFiles(folder).log(number))
}

/// Splitter of a stream into lines.
pub(super) struct Cutter {
    stream: Stream,
    /// Incomplete line; shorter than [`MAX_LINE_BYTES`].
    open: Vec<u8>,
}

impl Cutter {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, open: Vec::new() }
    }

    /// Appends the lines that end in `bytes` to `out`.
    pub(super) fn cut(&mut self, bytes: &[u8], time: Timestamp, out: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (mut text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            while self.open.len() + text.len() > MAX_LINE_BYTES {
                let (now, later) = text.split_at(MAX_LINE_BYTES - self.open.len());
                self.open.extend_from_slice(now);
                text = later;
                let whole = characters(&self.open);
                log_format::append(out, time, self.stream, true, &self.open[..whole]);
                self.open.drain(..whole);
            }
            self.open.extend_from_slice(text);
            if ends {
                log_format::append(out, time, self.stream, false, &self.open);
                self.open.clear();
            }
        }
    }

    /// Appends the last line, if it has no end.
    pub(super) fn finish(&mut self, time: Timestamp, out: &mut Vec<u8>) {
        if !self.open.is_empty() {
            log_format::append(out, time, self.stream, false, &self.open);
            self.open.clear();
        }
    }
}

/// Length of the prefix that ends between two characters.
fn characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Line;

    fn cut(pieces: &[&[u8]]) -> Vec<Line> {
        let (mut cutter, mut out) = (Cutter::new(Stream::Stdout), Vec::new());
        for piece in pieces {
            cutter.cut(piece, Timestamp::UNIX_EPOCH, &mut out);
        }
        cutter.finish(Timestamp::UNIX_EPOCH, &mut out);
        out.split_inclusive(|byte| *byte == b'\n')
            .map(|line| Line::parse(line.strip_suffix(b"\n").unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn chunks_are_joined_into_lines_and_the_last_needs_no_newline() {
        let texts: Vec<_> = cut(&[b"on", b"e\n\ntw", b"o"]).into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["one", "", "two"]);
    }

    #[test]
    fn a_long_line_is_cut_into_parts_between_characters() {
        let text = "ä".repeat(MAX_LINE_BYTES) + "x";
        let lines = cut(&[b"_", text.as_bytes(), b"\n"]);
        assert_eq!(lines.iter().map(|line| line.part).collect::<Vec<_>>(), [true, true, false]);
        let joined: String = lines.into_iter().map(|line| line.text).collect();
        assert_eq!(joined, format!("_{text}"));
    }

    #[test]
    fn a_line_of_the_longest_length_is_not_cut() {
        let text = "x".repeat(MAX_LINE_BYTES) + "\n";
        assert_eq!(cut(&[text.as_bytes()]).len(), 1);
    }
}
