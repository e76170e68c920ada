//! The form of a line in a log.
//!
//! ```text
//! 2026-03-01T10:00:00.123456789Z stdout F the text
//! ```
//!
//! When it was read, from which stream, `F` for a full line or `P` for a part that the next line of the same stream
//! goes on with, and the text as it came, up to the end of the line. It is the form in which container runtimes keep
//! logs, so that their tools can read it.

use jiff::Timestamp;

/// Longer lines are cut into parts of at most so many bytes.
pub const LONGEST: usize = 16 * 1024;

/// Where a line was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// A line that was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it was read from the program.
    pub time: Timestamp,
    /// Where it was written to.
    pub stream: Stream,
    /// What was written, without the end of the line. Bytes that are no text are replaced.
    pub text: String,
    /// Whether the line was too long: the next line of the same stream goes on with it.
    pub part: bool,
}

/// Appends a line to what is going to be written.
pub(super) fn append(out: &mut Vec<u8>, time: Timestamp, stream: Stream, part: bool, text: &[u8]) {
    let tag = if part { 'P' } else { 'F' };
    out.extend_from_slice(format!("{time:.9} {} {tag} ", stream.name()).as_bytes());
    out.extend_from_slice(text);
    out.push(b'\n');
}

impl Line {
    /// Reads a line, without its end; `None` if it is none, such as one that a full disk cut off.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.splitn(4, |byte| *byte == b' ');
        let time = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let stream = match fields.next()? {
            b"stdout" => Stream::Stdout,
            b"stderr" => Stream::Stderr,
            _ => return None,
        };
        let part = match fields.next()? {
            b"F" => false,
            b"P" => true,
            _ => return None,
        };
        Some(Self { time, stream, text: String::from_utf8_lossy(fields.next()?).into_owned(), part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_with_its_spaces() {
        let time: Timestamp = "2026-03-01T10:00:00.5Z".parse().unwrap();
        let mut out = Vec::new();
        append(&mut out, time, Stream::Stderr, true, b"  two  words ");
        assert_eq!(out, b"2026-03-01T10:00:00.500000000Z stderr P   two  words \n");
        let line = Line::parse(out.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!(line, Line { time, stream: Stream::Stderr, text: "  two  words ".to_owned(), part: true });
    }

    #[test]
    fn what_is_cut_off_is_no_line() {
        assert_eq!(Line::parse(b"2026-03-01T10:00:00.500000000Z std"), None);
    }
}
