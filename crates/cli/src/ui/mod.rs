//! What people and programs see.

pub(crate) mod json;
mod screen;

pub(crate) use screen::Screen;

use std::io::{self, Write};

/// A text without anything that would steer a terminal or turn the direction of reading.
pub(crate) fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(steers) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.into()
}

/// A text of several lines, each of them [`printable`].
pub(crate) fn printable_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        shown.push_str(&printable(line));
        shown.push('\n');
    }
    shown
}

/// Control characters, separators of lines and marks of direction.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Says something about the work itself, beside the answer.
pub(crate) fn say(text: &str) {
    // Where standard error is closed, nobody listens.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says that a command cannot do its work.
pub(crate) fn complain(text: &str) {
    say(&format!("error: {text}"));
}
