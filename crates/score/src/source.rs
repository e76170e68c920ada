//! Sources and spans.
//!
//! A document can have several sources: the Score file, an overrides file, command line options. Every value keeps
//! the [`Span`] of its source, so that a diagnostic points at the line to change, in the right file.

use std::fmt;

/// Index of a [`Source`] in the sources of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceId(pub u32);

/// Half-open byte range in one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Source.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Empty span at the start, so that a diagnostic about a block does not underline all of it.
    #[must_use]
    pub fn head(self) -> Self {
        Self { end: self.start, ..self }
    }
}

/// Line and column, from 1; columns count characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Named source text.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name in messages: a path, `<stdin>`, or a command line option.
    pub name: String,
    /// Text.
    pub text: String,
    line_starts: Vec<usize>,
}

impl Source {
    /// Source with a line index.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { name: name.into(), text, line_starts }
    }

    /// Line of a byte offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Line and column of a byte offset, clamped to the end. A byte order mark is no character.
    pub fn location(&self, offset: usize) -> Location {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line(offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        Location { line, column: self.text[start..offset].trim_start_matches('\u{feff}').chars().count() + 1 }
    }

    /// Replaces the text of a span with asterisks; offsets and lines stay the same.
    pub(crate) fn mask(&mut self, span: Span) {
        let range = span.start as usize..span.end as usize;
        let Some(text) = self.text.get(range.clone()) else { return };
        let masked: String = text
            .bytes()
            .map(|byte| if matches!(byte, b'\n' | b'\r' | b' ') { byte as char } else { '*' })
            .collect();
        self.text.replace_range(range, &masked);
    }

    /// Text of a span of this source.
    pub fn slice(&self, span: Span) -> Option<&str> {
        self.text.get(span.start as usize..span.end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_count_characters_from_one() {
        let source = Source::new("x", "añb\ncd\n");
        assert_eq!(source.location(0), Location { line: 1, column: 1 });
        assert_eq!(source.location(3), Location { line: 1, column: 3 });
        assert_eq!(source.location(5), Location { line: 2, column: 1 });
        assert_eq!(source.location(999), Location { line: 3, column: 1 });
    }

    #[test]
    fn a_byte_order_mark_is_not_counted() {
        assert_eq!(Source::new("x", "\u{feff}a").location(3), Location { line: 1, column: 1 });
    }

    #[test]
    fn an_offset_inside_a_character_is_that_character() {
        let source = Source::new("x", "ñ");
        assert_eq!(source.location(1), Location { line: 1, column: 1 });
    }
}
