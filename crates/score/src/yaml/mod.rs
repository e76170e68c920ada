//! YAML (and JSON) parser and writer.

mod compose;
mod emit;
mod foreign;
mod json;
mod scalar;
mod syntax;

pub use emit::to_yaml;
pub(crate) use foreign::foreign_text;

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

/// True for a plain scalar that is a string, not a number, a boolean or another type.
pub(crate) fn is_text(plain: &str) -> bool {
    scalar::resolve(plain) == scalar::Scalar::Text
}

/// True for the name of a JSON file.
fn is_json_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"))
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
    if !any && node.is_some() && is_json_file(&source.name) {
        json::check(source, id, &mut findings);
    }
    if node.is_none() && !findings.has_errors() {
        let (message, hint) = if findings.has(Code::ExtraDocument) {
            (
                "empty document: the first of several YAML documents is empty",
                "remove the `---` above the Score document",
            )
        } else {
            (
                "empty document: the file contains no YAML",
                "start with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample",
            )
        };
        let span = Some(Span { source: id, start: 0, end: 0 });
        findings.push(Diagnostic::error(Code::EmptyDocument, Pointer::root(), span, message, hint));
    }
    (node, findings)
}

#[cfg(test)]
mod tests;
