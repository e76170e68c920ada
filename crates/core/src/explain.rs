//! Why a decision is as it is: what `orchestra explain` prints, step by step.

use serde::Serialize;

use crate::{outputs::Gap, place, policy};

/// Why a decision is as it is.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Mistakes in the document: code, pointer, and what to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// What each policy set, and who was overridden.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<policy::Setting>,
    /// What policies forbid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<policy::Violation>,
    /// What policies would forbid, if they were enforced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audited: Vec<policy::Violation>,
    /// How the place was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<place::Explanation>,
    /// Values that are not known yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// What else is worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A mistake in the document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// Its code, as `orchestra validate` gives it.
    pub code: &'static str,
    /// The place in the document.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
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
