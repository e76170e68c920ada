//! Outcome of the validation of a value.

use std::collections::HashSet;

use orchestra_cel::{CauseType, FieldError};

/// Findings, and the number of matches: if all alternatives fail, the one with the most matches is reported.
#[derive(Default)]
pub(super) struct ValidationOutcome {
    pub(super) findings: Vec<Finding>,
    pub(super) matches: u64,
    /// True if the value differs from the old one.
    pub(super) changed: bool,
}

/// Error at a path below the checked value.
pub(super) struct Finding {
    pub(super) cause: CauseType,
    /// Path; empty for the checked value itself.
    pub(super) place: String,
    pub(super) message: String,
}

impl ValidationOutcome {
    pub(super) fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn add(&mut self, error: FieldError) {
        self.findings.push(Finding { cause: error.cause, place: error.field, message: error.message });
    }

    pub(super) fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        for error in errors {
            self.add(error);
        }
    }

    /// Adds a finding without a path.
    pub(super) fn add_general(&mut self, text: &str) {
        let message = format!("Invalid value: \"\": {text}");
        self.findings.push(Finding { cause: CauseType::Invalid, place: String::new(), message });
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.matches += other.matches;
        self.changed |= other.changed;
    }

    /// The errors, each once, below `prefix`.
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
                errors.push(FieldError { cause: finding.cause, field, message: finding.message });
            }
        }
        errors
    }
}
