//! Diagnostics of the validator, and their bounded collection.

use std::collections::HashSet;

use crate::{
    code::{Code, Layer},
    pointer::{Path, Pointer},
    source::Span,
};

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The document is invalid.
    Error,
    /// The document is valid, but probably not what the author meant.
    Warning,
}

/// One diagnostic: what is wrong, where, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Stable code.
    pub code: Code,
    /// JSON pointer of the value. A missing field is addressed as if it existed.
    pub pointer: Pointer,
    /// Source range to underline; none for values that were not parsed from text.
    pub span: Option<Span>,
    /// Fault, with the term that users search for.
    pub message: String,
    /// Remedy.
    pub hint: String,
}

impl Diagnostic {
    /// An error.
    pub fn error(
        code: Code,
        pointer: Pointer,
        span: Option<Span>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Error, code, pointer, span, message: message.into(), hint: hint.into() }
    }

    /// A warning.
    pub fn warning(
        code: Code,
        pointer: Pointer,
        span: Option<Span>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, pointer, span, message, hint) }
    }

    /// True for errors.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Longest part of a value shown in a message: it fits on a line.
const MAX_QUOTED_CHARS: usize = 80;

/// Value in double quotes, escaped and truncated.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("\"{}…\"", text[..end].escape_debug()),
        None => format!("\"{}\"", text.escape_debug()),
    }
}

/// Key or field name in backticks, with control characters escaped, truncated.
pub(crate) fn backticked(name: &str) -> String {
    let mut shown = String::from("`");
    for (index, c) in name.chars().enumerate() {
        match c {
            _ if index == MAX_QUOTED_CHARS => {
                shown.push('…');
                break;
            }
            '"' | '\'' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown.push('`');
    shown
}

/// Bounded collection of diagnostics: a hostile document cannot produce an endless report.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Diagnostic>,
    errors: Counters,
    warnings: Counters,
}

/// Counters of one severity.
#[derive(Debug, Default)]
struct Counters {
    kept: usize,
    bytes: usize,
    dropped: usize,
}

impl Findings {
    /// Most diagnostics kept per severity: more than a person reads.
    pub const MAX: usize = 1000;
    /// Most bytes of text kept per severity.
    pub const MAX_BYTES: usize = 4 * 1024 * 1024;

    /// Adds a diagnostic; only counts it beyond the limit.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.has_room(diagnostic.severity) {
            let counters = self.counters(diagnostic.severity);
            counters.kept += 1;
            counters.bytes +=
                diagnostic.pointer.as_str().len() + diagnostic.message.len() + diagnostic.hint.len();
            self.list.push(diagnostic);
        } else {
            self.counters(diagnostic.severity).dropped += 1;
        }
    }

    /// Adds a diagnostic whose message and hint are built only if it is kept.
    pub fn report(
        &mut self,
        severity: Severity,
        code: Code,
        path: &Path<'_>,
        span: Option<Span>,
        describe: impl FnOnce() -> (String, String),
    ) {
        if self.has_room(severity) {
            let (message, hint) = describe();
            self.push(Diagnostic { severity, code, pointer: path.pointer(), span, message, hint });
        } else {
            self.counters(severity).dropped += 1;
        }
    }

    fn counters(&mut self, severity: Severity) -> &mut Counters {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        }
    }

    /// True while diagnostics of this severity are kept.
    pub fn has_room(&self, severity: Severity) -> bool {
        let counters = match severity {
            Severity::Error => &self.errors,
            Severity::Warning => &self.warnings,
        };
        counters.kept < Self::MAX && counters.bytes < Self::MAX_BYTES
    }

    /// True if there is an error.
    pub fn has_errors(&self) -> bool {
        self.errors.kept + self.errors.dropped > 0
    }

    /// True if there is a diagnostic with this code.
    pub fn has(&self, code: Code) -> bool {
        self.list.iter().any(|d| d.code == code)
    }

    /// True if there is an error with another code.
    pub fn has_errors_besides(&self, code: Code) -> bool {
        self.errors.dropped > 0 || self.list.iter().any(|d| d.is_error() && d.code != code)
    }

    /// True if a layer may have an error.
    pub fn has_errors_in(&self, layer: Layer) -> bool {
        self.errors.dropped > 0 || self.list.iter().any(|d| d.is_error() && d.code.layer() == layer)
    }

    /// Adds all diagnostics of another collection, except those with `code`.
    pub fn extend_without(&mut self, code: Code, mut other: Self) {
        other.list.retain(|diagnostic| diagnostic.code != code);
        self.extend(other);
    }

    /// Adds all diagnostics of another collection.
    pub fn extend(&mut self, other: Self) {
        self.errors.dropped += other.errors.dropped;
        self.warnings.dropped += other.warnings.dropped;
        other.list.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// Diagnostics in source order; those without a span come first.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| d.span.map(|span| (span.source.0, span.start)));
        // A mistake under an anchor is one mistake, whatever the number of its aliases.
        let mut seen = HashSet::new();
        self.list.retain(|d| d.span.is_none_or(|span| seen.insert((d.code, span, d.message.clone()))));
        for (severity, dropped, noun) in [
            (Severity::Error, self.errors.dropped, "error"),
            (Severity::Warning, self.warnings.dropped, "warning"),
        ] {
            if dropped > 0 {
                self.list.push(Diagnostic {
                    severity,
                    code: Code::LimitExceeded,
                    pointer: Pointer::root(),
                    span: None,
                    message: format!(
                        "too many {noun}s: {dropped} more {} not shown",
                        if dropped == 1 { "is" } else { "are" }
                    ),
                    hint: "fix those above and validate again".to_owned(),
                });
            }
        }
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_warnings_do_not_hide_an_error() {
        let mut findings = Findings::default();
        let warning = || Diagnostic::warning(Code::ResourceHigh, Pointer::root(), None, "m", "h");
        (0..2 * Findings::MAX).for_each(|_| findings.push(warning()));
        assert!(!findings.has_errors());
        findings.push(Diagnostic::error(Code::InvalidBase64, Pointer::root(), None, "m", "h"));
        assert!(findings.has_errors());
        let sorted = findings.into_sorted();
        assert_eq!(sorted.len(), Findings::MAX + 2);
        assert_eq!(sorted.iter().filter(|d| d.is_error()).count(), 1);
        assert_eq!(sorted.last().unwrap().message, "too many warnings: 1000 more are not shown");
    }

    #[test]
    fn an_error_that_is_only_counted_is_still_an_error() {
        let mut findings = Findings::default();
        let long = "x".repeat(Findings::MAX_BYTES);
        findings.push(Diagnostic::error(Code::ResourceHigh, Pointer::root(), None, long, "h"));
        findings.report(Severity::Error, Code::InvalidBase64, &Path::Root, None, || unreachable!("no room"));
        let sorted = findings.into_sorted();
        assert_eq!(sorted.last().unwrap().message, "too many errors: 1 more is not shown");
    }
}
