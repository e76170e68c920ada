//! Explanation of a decision, printed by `orchestra explain`.

use serde::Serialize;

use crate::{outputs::Gap, place, policy};

/// Explanation of a decision.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Mistakes in the document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// Settings of policies, with the policies they override.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<policy::Setting>,
    /// Violations of policies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<policy::Violation>,
    /// Violations of policies that are not enforced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audited: Vec<policy::Violation>,
    /// Choice of the placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<place::Explanation>,
    /// Missing values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Other remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Mistake in the document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// Code, the same as in `orchestra validate`.
    pub code: &'static str,
    /// JSON pointer.
    pub pointer: String,
    /// Message.
    pub message: String,
    /// Remedy.
    pub hint: String,
}

impl From<&orchestra_score::Diagnostic> for Mistake {
    fn from(diagnostic: &orchestra_score::Diagnostic) -> Self {
        Self {
            code: diagnostic.code.name(),
            pointer: diagnostic.pointer.as_str().to_owned(),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
        }
    }
}
