//! Patches of objects: JSON patch (RFC 6902), merge patch (RFC 7396), and strategic merge patch of built-in kinds.
//!
//! The first two differ from their RFC as the library of a real server does, since clients rely on it: a `test` for null passes
//! on an absent field, `replace` sets an absent field, and indices may be negative.

mod json_patch;
mod merge_patch;
mod operation;
mod strategic;

use orchestra_cel::FieldError;
use serde_json::{Value, json};

pub(crate) use json_patch::json_patch;
pub(crate) use merge_patch::merge_patch;
pub(crate) use strategic::strategic_merge_patch;

use crate::json::{encode, no_object};

/// Field validation of the patch itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    /// `fieldValidation=Ignore`.
    Off,
    /// `Warn` and `Strict`, which differ in the use of [`Patched::notes`].
    On,
}

/// An object after a patch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Patched {
    /// The new object.
    pub value: Value,
    /// Unknown and duplicate fields of the patch. With `Warn` each one is a warning; with `Strict` they are joined with
    /// those of the object to a [`PatchError::strict`].
    pub notes: Vec<String>,
}

/// Error of a patch: the parts of its `Status`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct PatchError {
    /// The HTTP status.
    pub code: u16,
    /// The `reason` of the status.
    pub reason: &'static str,
    /// The `message` of the status.
    pub message: String,
    /// Causes in the `details` of the status; an empty list makes empty details.
    pub causes: Option<Vec<FieldError>>,
}

impl PatchError {
    /// The patch cannot be read.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self { code: 400, reason: "BadRequest", message: message.into(), causes: None }
    }

    /// The patch cannot be applied. The real server gives no reason.
    pub(crate) fn rejected() -> Self {
        Self {
            code: 422,
            reason: "Invalid",
            message: "the server rejected our request due to an error in our request".to_owned(),
            causes: Some(Vec::new()),
        }
    }

    /// The patched document is not a valid object.
    pub(crate) fn undecodable(document: &Value, problem: &str) -> Self {
        let text = String::from_utf8_lossy(&encode(document)).into_owned();
        let cause = FieldError::invalid("patch", &json!(text), problem);
        Self {
            code: 422,
            reason: "Invalid",
            message: format!(" \"\" is invalid: {cause}"),
            causes: Some(vec![cause]),
        }
    }

    /// The patch or the patched document has unknown or duplicate fields.
    pub(crate) fn strict(document: &Value, problems: &[String]) -> Self {
        Self::undecodable(document, &format!("strict decoding error: {}", problems.join(", ")))
    }

    fn too_many_operations(count: usize, limit: usize) -> Self {
        Self {
            code: 413,
            reason: "RequestEntityTooLarge",
            message: format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {count}"
            ),
            causes: None,
        }
    }

    /// The patch does not fit the object. The real server gives no reason.
    fn internal(message: impl Into<String>) -> Self {
        Self { code: 500, reason: "", message: message.into(), causes: None }
    }

    fn no_object(document: &Value) -> Self {
        Self::undecodable(document, &no_object(document))
    }
}

#[cfg(test)]
mod tests;
