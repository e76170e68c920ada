//! What is wrong with a YAML text, in the words of the real server as far as they are known.

use granit_parser::{ErrorKind, ScanError};

use super::decode::DecodeError;

/// An error of YAML itself.
pub(super) fn refused(problem: &str) -> DecodeError {
    DecodeError::Yaml(format!("yaml: {problem}"))
}

/// An error in the syntax of a text.
pub(super) fn syntax_error(error: &ScanError, text: &str) -> DecodeError {
    let info = error.info();
    let (is_token_wrong, problem) = match error.kind() {
        ErrorKind::UnknownAnchor => {
            let at = error.marker().byte_offset().unwrap_or(text.len());
            return refused(&format!("unknown anchor '{}' referenced", anchor_name(text, at)));
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::UnexpectedEofBlockMapping => {
            (true, "did not find expected key")
        }
        ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::UnexpectedEofBlockSequence => {
            (true, "did not find expected '-' indicator")
        }
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnclosedFlowCollection { open: '{' } => (true, "did not find expected ',' or '}'"),
        ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnclosedFlowCollection { .. } => (true, "did not find expected ',' or ']'"),
        ErrorKind::ExpectedNodeContent => (true, "did not find expected node content"),
        ErrorKind::ExpectedDocumentStart => (true, "did not find expected <document start>"),
        ErrorKind::UnexpectedCharacter { .. } => (false, "found character that cannot start any token"),
        ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
            (false, "found a tab character that violates indentation")
        }
        ErrorKind::UnclosedQuotedScalar => (false, "found unexpected end of stream"),
        ErrorKind::RecursionLimitExceeded => (false, "exceeded max depth"),
        _ => (false, info.as_str()),
    };
    // The first line is never named, and a wrong token is placed on the line before its own.
    let is_at_end = matches!(
        error.kind(),
        ErrorKind::UnexpectedEofBlockMapping
            | ErrorKind::UnexpectedEofBlockSequence
            | ErrorKind::UnexpectedEofFlowMapping
            | ErrorKind::UnexpectedEofFlowSequence
            | ErrorKind::UnclosedFlowCollection { .. }
    );
    let lines_before =
        if is_at_end { text.matches('\n').count() } else { error.marker().line().saturating_sub(1) };
    if lines_before == 0 {
        return refused(problem);
    }
    refused(&format!("line {}: {problem}", lines_before + usize::from(!is_token_wrong)))
}

/// The name of the anchor that is used at this place.
pub(super) fn anchor_name(text: &str, at: usize) -> &str {
    let name = text.get(at..).unwrap_or_default().trim_start_matches('*');
    name.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))).next().unwrap_or_default()
}

/// Whether a YAML text may hold the character at all.
pub(super) fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}
