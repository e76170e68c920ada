//! Warnings about JSON files that YAML parsers accept, but JSON parsers do not.

use crate::{
    code::Code,
    diagnostic::{Diagnostic, Findings},
    pointer::Pointer,
    source::{Source, SourceId, Span},
};

/// Warns about the first trailing comma.
pub(super) fn check(source: &Source, id: SourceId, findings: &mut Findings) {
    let Some(at) = trailing_comma(&source.text) else { return };
    let narrow = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    findings.push(Diagnostic::warning(
        Code::InvalidSyntax,
        Pointer::root(),
        Some(Span { source: id, start: narrow(at), end: narrow(at + 1) }),
        "invalid JSON: trailing comma",
        "remove the comma after the last item; YAML allows it, JSON does not",
    ));
}

/// Offset of a comma before a closing bracket, outside of strings.
fn trailing_comma(text: &str) -> Option<usize> {
    let mut comma = None;
    let mut in_string = false;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if in_string {
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        match c {
            '}' | ']' if comma.is_some() => return comma,
            ',' => comma = Some(at),
            c if c.is_whitespace() => {}
            c => {
                comma = None;
                in_string = c == '"';
            }
        }
    }
    None
}

/// Offset of a comment in a line of JSON, outside of strings.
pub(super) fn comment(line: &str) -> Option<usize> {
    let mut in_string = false;
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        if in_string {
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
        } else if line[at..].starts_with("//") || line[at..].starts_with("/*") {
            return Some(at);
        } else {
            in_string = c == '"';
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailing_comma_is_found_outside_of_strings() {
        assert_eq!(trailing_comma("{\"a\": [1, 2,\n]}"), Some(11));
        assert_eq!(trailing_comma(r#"{"a": ",}", "b": "\\",}"#), Some(21));
        assert_eq!(trailing_comma(r#"{"a": ",}", "b": "\",}"}"#), None);
    }

    #[test]
    fn a_comment_is_found_outside_of_strings() {
        assert_eq!(comment(r#""image": "https://x" // test"#), Some(21));
        assert_eq!(comment(r#""image": "https://x""#), None);
    }
}
