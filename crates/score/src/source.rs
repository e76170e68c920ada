//! Where text came from, and places inside it.
//!
//! A document can be put together from several texts: the Score file, an overrides file, values given on
//! the command line. Every value keeps the [`Span`] of the text it was written in, so that a finding points
//! at the line the user has to change, whichever file that is.

use std::fmt;

/// Index of a [`Source`] in the list a document was put together from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceId(pub u32);

/// A half-open range of bytes in one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Which text.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The point at which it starts, so that a finding about a whole block does not underline all of it.
    #[must_use]
    pub fn head(self) -> Self {
        Self { end: self.start, ..self }
    }
}

/// A place as people name it. Both numbers start at 1; columns count characters, not bytes.
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

/// A named text.
#[derive(Clone, Debug)]
pub struct Source {
    /// What to call it in messages: a path, `<stdin>`, or the option it was given with.
    pub name: String,
    /// The text itself.
    pub text: String,
    line_starts: Vec<usize>,
}

impl Source {
    /// Names a text and indexes its lines.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { name: name.into(), text, line_starts }
    }

    /// The line of a byte offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Line and column of a byte offset; an offset past the end is the end.
    pub fn location(&self, offset: usize) -> Location {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line(offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        Location { line, column: self.text[start..offset].chars().count() + 1 }
    }

    /// The text of a span, if it is one of this source.
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
    fn an_offset_inside_a_character_is_that_character() {
        let source = Source::new("x", "ñ");
        assert_eq!(source.location(1), Location { line: 1, column: 1 });
    }
}
