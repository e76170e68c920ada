//! What checking a value against a node brings to light.

use std::collections::HashSet;

use crate::field_error::{FieldError, Mistake};

/// Findings, and how much was right: of several alternatives that all fail, the one with the most matches is reported.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) findings: Vec<Finding>,
    pub(super) matches: u64,
    /// Something in here differs from the old object.
    pub(super) changed: bool,
}

/// Something wrong at a place inside the checked value.
pub(super) struct Finding {
    pub(super) mistake: Mistake,
    /// Where; empty for what concerns the checked value as a whole.
    pub(super) place: String,
    pub(super) message: String,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn add(&mut self, error: FieldError) {
        self.findings.push(Finding { mistake: error.mistake, place: error.field, message: error.message });
    }

    pub(super) fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        for error in errors {
            self.add(error);
        }
    }

    /// Adds a finding that has no place of its own.
    pub(super) fn add_general(&mut self, text: &str) {
        let message = format!("Invalid value: \"\": {text}");
        self.findings.push(Finding { mistake: Mistake::Invalid, place: String::new(), message });
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.matches += other.matches;
        self.changed |= other.changed;
    }

    /// The mistakes, each once, below `prefix`.
    pub(super) fn into_errors(self, prefix: &str) -> Vec<FieldError> {
        let mut seen = HashSet::new();
        let mut errors = Vec::new();
        for finding in self.findings {
            let place = finding.place.strip_prefix('.').unwrap_or(&finding.place);
            let field = match (prefix, place) {
                ("", "") => "<nil>".to_owned(),
                ("", place) => place.to_owned(),
                (prefix, "") => prefix.to_owned(),
                (prefix, place) => format!("{prefix}.{place}"),
            };
            if seen.insert((field.clone(), finding.message.clone())) {
                errors.push(FieldError { mistake: finding.mistake, field, message: finding.message });
            }
        }
        errors
    }
}
