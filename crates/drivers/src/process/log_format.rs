//! Format of a log line.
//!
//! ```text
//! 2026-03-01T10:00:00.123456789Z stdout F the text
//! ```
//!
//! The fields are the time of the read, the stream, `F` for a full line or `P` for a part that the next line of the same stream
//! continues, and the text. It is the format of container runtimes (CRI), so their tools can read it.

use jiff::Timestamp;

/// Longer lines are split into parts of this size, as container runtimes do.
pub const MAX_LINE_BYTES: usize = 16 * 1024;

/// Output stream.
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

/// Log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Time of the read.
    pub time: Timestamp,
    /// Output stream.
    pub stream: Stream,
    /// Text, without the line end. Invalid UTF-8 is replaced.
    pub text: String,
    /// True if the next line of the same stream continues this one.
    pub part: bool,
}

/// Appends a line to a buffer.
pub(super) fn append(out: &mut Vec<u8>, time: Timestamp, stream: Stream, part: bool, text: &[u8]) {
    let tag = if part { 'P' } else { 'F' };
    out.extend_from_slice(format!("{time:.9} {} {tag} ", stream.name()).as_bytes());
    out.extend_from_slice(text);
    out.push(b'\n');
}

impl Line {
    /// Parses a line; `None` if it is malformed, such as one that a full disk cut off.
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
    fn a_line_round_trips_with_its_whitespace() {
        let time: Timestamp = "2026-03-01T10:00:00.5Z".parse().unwrap();
        let mut out = Vec::new();
        append(&mut out, time, Stream::Stderr, true, b"  two  words ");
        assert_eq!(out, b"2026-03-01T10:00:00.500000000Z stderr P   two  words \n");
        let line = Line::parse(out.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!(line, Line { time, stream: Stream::Stderr, text: "  two  words ".to_owned(), part: true });
    }

    #[test]
    fn a_truncated_line_is_ignored() {
        assert_eq!(Line::parse(b"2026-03-01T10:00:00.500000000Z std"), None);
    }
}
