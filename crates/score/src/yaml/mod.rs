//! Reading and writing YAML (of which JSON is a part).

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

/// How large a text may be. Hostile input ends in a finding, never in a hang or in memory growth.
pub mod limits {
    /// Bytes of one text; the same that the API takes as a request body.
    pub const BYTES: usize = 3 * 1024 * 1024;
    /// Levels of nesting.
    pub const DEPTH: usize = 100;
    /// Keys and values in a document, with aliases counted as often as they are used.
    pub const VALUES: usize = 250_000;
    /// Bytes of one key, or of the name of the workload: as long as a path can be.
    pub const KEY: usize = 4096;
    /// A long text counts as one value for each so many bytes.
    pub const BYTES_PER_VALUE: usize = 64;
}

/// Reads the first document of a text.
///
/// The node is there whenever the shape of the document is clear, even if there are errors in it, so that
/// everything that is wrong can be said at once.
pub fn parse(source: &Source, id: SourceId) -> (Option<Node>, Findings) {
    read(source, id, false)
}

/// As [`parse`], for text that is not a Score document: a key that is a number, a boolean or null is kept as it is
/// written (null as an empty text), beside the finding, and `!!float 1` is a float.
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
            format!("the text is longer than {} bytes", limits::BYTES),
            "split the workload, or move large content into files of its own",
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
            "there is no document in this text",
            "start with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample",
        ));
    }
    (node, findings)
}

/// What usually leads to a syntax error at this place.
fn syntax_hint(text: &str, at: usize) -> &'static str {
    let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let line = &text[line_start..line_end];
    let indent = &line[..line.len() - line.trim_start().len()];
    let value = line.split_once(": ").map_or("", |(_, value)| value.trim());
    // Enough lines above to see what was left open there.
    let above: Vec<&str> = text[..line_start].lines().rev().take(5).collect();
    let count = |c: char| above.iter().chain([&line]).map(|line| line.matches(c).count()).sum::<usize>();
    let previous = above.iter().find(|line| !line.trim().is_empty()).map_or("", |line| line.trim());
    let unquoted = |line: &str| line.matches('"').count() % 2 == 1 || line.matches('\'').count() % 2 == 1;
    let in_flow = |line: &str| line.find("${").is_some_and(|at| line[..at].contains(['{', '[']));
    let next_starts_with_tab = text[line_end..].trim_start_matches(['\n', '\r']).starts_with('\t');
    if indent.contains('\t') || next_starts_with_tab {
        "indent with spaces; YAML does not allow tabs there"
    } else if in_flow(line) || in_flow(previous) {
        "inside `{…}` and `[…]` a placeholder needs quotes: \"${…}\""
    } else if line.contains("{{") || line.contains("{%") {
        "this looks like a template that has not been rendered; validate the result"
    } else if text.trim_start().starts_with(['{', '[']) {
        "check the commas, quotes and brackets of this line and the one above"
    } else if count('[') > count(']') || count('{') > count('}') {
        "close the bracket that is opened here or above"
    } else if unquoted(line) || unquoted(previous) {
        "close the quotes"
    } else if value.contains(": ") || value.ends_with(':') {
        "put the value in quotes: it contains a colon followed by a space"
    } else if value.starts_with(['@', '`', '%', '&', '*', '!', '|', '>', ',']) {
        "put the value in quotes if it is meant as plain text"
    } else if !previous.is_empty() && !previous.contains(':') && !previous.starts_with(['-', '#']) {
        "check the line above: a key ends with `: `"
    } else {
        "check the indentation of this line and the one above, and that every key ends with `: `"
    }
}

#[cfg(test)]
mod tests;
