//! What people and programs see.

pub(crate) mod json;
mod screen;

pub(crate) use screen::Screen;

use std::io::{self, Write};

/// A text without anything that would steer a terminal.
pub(crate) fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    if text.chars().any(char::is_control) {
        text.chars()
            .flat_map(|c| {
                if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
                    .chars()
                    .collect::<Vec<_>>()
            })
            .collect()
    } else {
        text.into()
    }
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
