//! Findings: what is wrong, where, and what to write instead.

use crate::{
    code::{Code, Layer},
    pointer::{Path, Pointer},
    source::Span,
};

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The document cannot be used.
    Error,
    /// The document can be used, but something in it is probably not what was meant.
    Warning,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it weighs.
    pub severity: Severity,
    /// The stable name of this kind of finding.
    pub code: Code,
    /// The value it is about. A missing field is named as if it were there.
    pub pointer: Pointer,
    /// The text to underline, where there is a text.
    pub span: Option<Span>,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to write instead, in a sentence.
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

    /// Whether the document cannot be used because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// A text in quotes, cut to what fits into a sentence.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{}…\"", text[..end].escape_debug()),
        None => format!("\"{}\"", text.escape_debug()),
    }
}

/// Collects findings and keeps their number within bounds: a hostile document must not turn into an endless
/// report, nor cost the time to word one.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Diagnostic>,
    errors: Tally,
    warnings: Tally,
}

/// How many findings of one severity there are, and how many of them are only counted.
#[derive(Debug, Default)]
struct Tally {
    kept: usize,
    bytes: usize,
    dropped: usize,
}

impl Findings {
    /// How many findings of each severity are kept: more than a person will read.
    pub const MAX: usize = 1000;
    /// The same bound for their text.
    pub const MAX_BYTES: usize = 4 * 1024 * 1024;

    /// Adds a finding, or counts it when there are too many already.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.has_room(diagnostic.severity) {
            let tally = self.tally(diagnostic.severity);
            tally.kept += 1;
            tally.bytes +=
                diagnostic.pointer.as_str().len() + diagnostic.message.len() + diagnostic.hint.len();
            self.list.push(diagnostic);
        } else {
            self.tally(diagnostic.severity).dropped += 1;
        }
    }

    /// Adds a finding whose message and hint are worded only if it is kept.
    pub fn report(
        &mut self,
        severity: Severity,
        code: Code,
        path: &Path<'_>,
        span: Option<Span>,
        word: impl FnOnce() -> (String, String),
    ) {
        if self.has_room(severity) {
            let (message, hint) = word();
            self.push(Diagnostic { severity, code, pointer: path.pointer(), span, message, hint });
        } else {
            self.tally(severity).dropped += 1;
        }
    }

    fn tally(&mut self, severity: Severity) -> &mut Tally {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        }
    }

    /// Whether a finding of this severity would be kept.
    pub fn has_room(&self, severity: Severity) -> bool {
        let tally = match severity {
            Severity::Error => &self.errors,
            Severity::Warning => &self.warnings,
        };
        tally.kept < Self::MAX && tally.bytes < Self::MAX_BYTES
    }

    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.errors.kept + self.errors.dropped > 0
    }

    /// Whether any finding is an error of another kind than this.
    pub fn has_errors_besides(&self, code: Code) -> bool {
        self.errors.dropped > 0 || self.list.iter().any(|d| d.is_error() && d.code != code)
    }

    /// Whether a layer may have an error.
    pub fn has_errors_in(&self, layer: Layer) -> bool {
        self.errors.dropped > 0 || self.list.iter().any(|d| d.is_error() && d.code.layer() == layer)
    }

    /// Adds all findings of another collection, except those of a code that does not matter here.
    pub fn extend_without(&mut self, code: Code, mut other: Self) {
        other.list.retain(|diagnostic| diagnostic.code != code);
        self.extend(other);
    }

    /// Adds all findings of another collection.
    pub fn extend(&mut self, other: Self) {
        self.errors.dropped += other.errors.dropped;
        self.warnings.dropped += other.warnings.dropped;
        other.list.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// The findings in the order of the text; those without a place come first.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| d.span.map(|span| (span.source.0, span.start)));
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
                        "{dropped} more {noun}{} not shown here",
                        if dropped == 1 { " is" } else { "s are" }
                    ),
                    hint: "mend the ones above and validate again".to_owned(),
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
        assert_eq!(sorted.last().unwrap().message, "1000 more warnings are not shown here");
    }

    #[test]
    fn an_error_that_is_only_counted_is_still_an_error() {
        let mut findings = Findings::default();
        let long = "x".repeat(Findings::MAX_BYTES);
        findings.push(Diagnostic::error(Code::ResourceHigh, Pointer::root(), None, long, "h"));
        findings.report(Severity::Error, Code::InvalidBase64, &Path::Root, None, || unreachable!("no room"));
        let sorted = findings.into_sorted();
        assert_eq!(sorted.last().unwrap().message, "1 more error is not shown here");
    }
}
