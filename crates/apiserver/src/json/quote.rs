//! Text in quotes, as Go's `%q` prints it in messages.

use std::fmt::Write as _;

/// The text in double quotes, with everything escaped that does not print.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        if c == '"' {
            out.push_str("\\\"");
        } else {
            push_escaped(&mut out, c);
        }
    }
    out.push('"');
    out
}

/// A byte in single quotes, read as Latin-1: how a syntax error names what it met.
pub(super) fn quote_byte(byte: u8) -> String {
    let mut out = String::from("'");
    match byte {
        b'\'' => out.push_str("\\'"),
        _ => push_escaped(&mut out, char::from(byte)),
    }
    out.push('\'');
    out
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0b' => out.push_str("\\v"),
        '\x00'..='\x1f' | '\x7f' => push_hex(out, 'x', 2, c),
        _ if is_printable(c) => out.push(c),
        '\0'..='\u{ffff}' => push_hex(out, 'u', 4, c),
        _ => push_hex(out, 'U', 8, c),
    }
}

fn push_hex(out: &mut String, letter: char, width: usize, c: char) {
    // Writing to a string cannot fail.
    let _ = write!(out, "\\{letter}{:0width$x}", u32::from(c));
}

/// Whether a character is shown as it is: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return c == ' ' || c.is_ascii_graphic();
    }
    // A mark is escaped only where a text starts with it, so it is looked at behind a letter.
    let mut buffer = String::from("a");
    buffer.push(c);
    buffer.escape_debug().count() == 2
}
