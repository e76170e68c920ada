//! What people and programs see.

pub(crate) mod json;
mod screen;

pub(crate) use screen::Screen;

use std::io::{self, Write};

/// Says something about the work itself, beside the answer.
pub(crate) fn say(text: &str) {
    // Where standard error is closed, nobody listens.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says that a command cannot do its work.
pub(crate) fn complain(text: &str) {
    say(&format!("error: {text}"));
}
