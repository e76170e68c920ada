//! Go's `strconv.Quote`.

use std::fmt::Write as _;

/// Bytes in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// `strconv.Quote`.
pub(crate) fn quote(text: &str, mark: char) -> String {
    quote_with(text, mark, is_printable)
}

/// `strconv.QuoteToASCII`.
pub(super) fn quote_to_ascii(text: &str, mark: char) -> String {
    quote_with(text, mark, |c| c.is_ascii())
}

fn quote_with(text: &str, mark: char, is_plain: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(mark);
    for c in text.chars() {
        match c {
            c if c == mark || c == '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if is_plain(c) => out.push(c),
            c => {
                let _ = match u32::from(c) {
                    code @ ..0x10000 => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(mark);
    out
}

/// `strconv.IsPrint`.
pub(super) fn is_printable(c: char) -> bool {
    // `escape_debug` escapes a combining character only at the start, and quotes; Go's function does neither.
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    !['a', c].iter().collect::<String>().escape_debug().any(|c| c == '\\')
}
