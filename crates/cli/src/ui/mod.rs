//! Output for people and programs.

pub(crate) mod json;
mod screen;

pub(crate) use screen::Screen;

use std::io::{self, Write};

use crate::error::CliError;

/// Text with terminal control characters escaped.
pub(crate) fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(is_control) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.into()
}

/// Text of several lines, each of them [`printable`].
pub(crate) fn printable_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        shown.push_str(&printable(line));
        shown.push('\n');
    }
    shown
}

/// True for control characters, line separators and bidirectional formatting characters.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Prints to standard output. A broken pipe is fine.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    crate::exit::written(io::stdout().lock().write_all(text.as_bytes()))
}

/// Prints a line of progress to standard error.
pub(crate) fn print_status(text: &str) {
    // Standard error may be closed.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an error to standard error, unless its diagnostics are printed already.
pub(crate) fn print_error(error: &CliError) {
    if !matches!(error, CliError::InvalidFiles) {
        print_status(&format!("error: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_control_a_terminal_or_the_direction_of_text_are_escaped() {
        for c in [
            '\u{7}', '\u{1b}', '\u{9b}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}',
            '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}',
        ] {
            assert_eq!(printable(&format!("a{c}b")), format!("a{}b", c.escape_default()));
        }
        assert_eq!(printable("ü日本 שלום\u{200d}"), "ü日本 שלום\u{200d}", "other characters stay");
    }
}
