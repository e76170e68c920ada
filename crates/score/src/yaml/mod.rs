//! YAML (and JSON) parser and writer.

mod compose;
mod emit;
mod scalar;

pub use emit::to_yaml;

use crate::{
    code::Code,
    diagnostic::{Diagnostic, Findings},
    node::Node,
    pointer::Pointer,
    source::{Source, SourceId, Span},
};

/// Limits of the parser. Hostile input ends in a diagnostic, never in a hang or unbounded memory.
pub mod limits {
    /// Bytes of one source; the same as a request body of the API.
    pub const BYTES: usize = 3 * 1024 * 1024;
    /// Nesting depth.
    pub const DEPTH: usize = 100;
    /// Keys and values of a document, counting every use of an alias.
    pub const VALUES: usize = 250_000;
    /// Bytes of one key, or of the workload name: the length of a path (`PATH_MAX`).
    pub const KEY: usize = 4096;
    /// Bytes of a long scalar that count as one value.
    pub const BYTES_PER_VALUE: usize = 64;
}

/// Parses the first document of a source.
///
/// Returns a node even with errors, unless the syntax is invalid, so that all diagnostics are reported at once.
pub fn parse(source: &Source, id: SourceId) -> (Option<Node>, Findings) {
    read(source, id, false)
}

/// As [`parse`], for YAML that is not a Score document: non-string scalar keys are kept as written (null as the empty
/// string) in addition to the diagnostic, and `!!float 1` is a float.
pub fn parse_any(source: &Source, id: SourceId) -> (Option<Node>, Findings) {
    read(source, id, true)
}

fn read(source: &Source, id: SourceId, any: bool) -> (Option<Node>, Findings) {
    let mut findings = Findings::default();
    if source.text.len() > limits::BYTES {
        findings.push(Diagnostic::error(
            Code::LimitExceeded,
            Pointer::root(),
            None,
            format!("file too large: more than {} bytes", limits::BYTES),
            "split the workload, or move large file contents into the image or a volume",
        ));
        return (None, findings);
    }
    let (node, found) = compose::compose(source, id, any);
    findings.extend(found);
    if node.is_none() && !findings.has_errors() {
        findings.push(Diagnostic::error(
            Code::EmptyDocument,
            Pointer::root(),
            Some(Span { source: id, start: 0, end: 0 }),
            "empty document: the file contains no YAML",
            "start with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample",
        ));
    }
    (node, findings)
}

const TAB_CAUSE: &str = "tab character in indentation";
const STRUCTURE_CAUSE: &str = "wrong indentation, or missing `:` after a key";
const SPECIAL_CHARACTER_HINT: &str = "quote the value: its first character has a special meaning in YAML";
const TAB_HINT: &str = "indent with spaces; YAML does not allow tabs for indentation";

/// Likely cause of a syntax error, unless the error of the parser is clear, and a hint.
fn syntax_cause(text: &str, at: usize) -> (Option<&'static str>, &'static str) {
    let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let line = &text[line_start..line_end];
    let indent = &line[..line.len() - line.trim_start().len()];
    let value = line.split_once(": ").map_or("", |(_, value)| value.trim());
    // A few lines above, to find what is unclosed.
    let above: Vec<&str> = text[..line_start].lines().rev().take(5).collect();
    let count = |c: char| above.iter().chain([&line]).map(|line| line.matches(c).count()).sum::<usize>();
    let previous = above.iter().find(|line| !line.trim().is_empty()).map_or("", |line| line.trim());
    let unclosed = |line: &str| line.matches('"').count() % 2 == 1 || line.matches('\'').count() % 2 == 1;
    let in_flow = |line: &str| line.find("${").is_some_and(|at| line[..at].contains(['{', '[']));
    let next_starts_with_tab = text[line_end..].trim_start_matches(['\n', '\r']).starts_with('\t');
    if indent.contains('\t') || next_starts_with_tab {
        (Some(TAB_CAUSE), TAB_HINT)
    } else if in_flow(line) || in_flow(previous) {
        (Some("unquoted placeholder inside `{…}` or `[…]`"), "quote the placeholder: \"${…}\"")
    } else if line.contains("{{") || line.contains("{%") {
        (Some("unrendered template"), "render the Helm or Go template first, and validate the result")
    } else if text.trim_start().starts_with(['{', '[']) {
        (None, "check the commas, quotes and brackets of this line and the one above")
    } else if count('[') > count(']') || count('{') > count('}') {
        (Some("unclosed bracket"), "close the bracket that is opened here or above")
    } else if unclosed(line) || unclosed(previous) {
        (Some("unclosed quote"), "close the quotes")
    } else if value.contains(": ") || value.ends_with(':') {
        (None, "quote the value: it contains a colon followed by a space")
    } else if value.starts_with(['@', '`', '%', '&', '*', '!', '|', '>', ',']) {
        (None, SPECIAL_CHARACTER_HINT)
    } else if !previous.is_empty() && !previous.contains(':') && !previous.starts_with(['-', '#']) {
        (Some("missing `:` after a key"), "check the line above: a key ends with `: `")
    } else {
        (
            Some(STRUCTURE_CAUSE),
            "check the indentation of this line and the one above, and that every key ends with `: `",
        )
    }
}

#[cfg(test)]
mod tests;
