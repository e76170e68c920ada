//! Patches of objects: a list of operations (RFC 6902), and a partial object laid over the old one (RFC 7396).
//!
//! Both differ from their RFC in the ways of the library that the real server uses, since clients rely on them: a
//! `test` for null passes where nothing is, `replace` sets a field that was not there, and indices may be negative.

mod json_patch;
mod merge_patch;
mod operation;

use serde_json::{Value, json};

pub(crate) use json_patch::json_patch;
pub(crate) use merge_patch::merge_patch;

use crate::{
    field_error::FieldError,
    json::{encode, no_object},
};

/// Whether the fields of the patch itself are checked: not if the request asks for `fieldValidation=Ignore`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    /// `fieldValidation=Ignore`.
    Off,
    /// `Warn` and `Strict`; which one it is decides what becomes of [`Patched::notes`].
    On,
}

/// An object after a patch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Patched {
    /// The new object.
    pub value: Value,
    /// Fields of the patch that are unknown or stand twice. With `Warn` each one is a warning; with `Strict` they are
    /// joined with those of the object, and the answer is [`PatchError::strict`].
    pub notes: Vec<String>,
}

/// Why a patch is refused: the parts of the `Status` that answers it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct PatchError {
    /// The HTTP status.
    pub code: u16,
    /// The `reason` of the status.
    pub reason: &'static str,
    /// The `message` of the status.
    pub message: String,
    /// The causes in the `details` of the status, which are there, and empty, if this is an empty list.
    pub causes: Option<Vec<FieldError>>,
}

impl PatchError {
    /// The patch cannot be read.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self { code: 400, reason: "BadRequest", message: message.into(), causes: None }
    }

    /// The patch cannot be applied. The real server does not say why.
    pub(crate) fn rejected() -> Self {
        Self {
            code: 422,
            reason: "Invalid",
            message: "the server rejected our request due to an error in our request".to_owned(),
            causes: Some(Vec::new()),
        }
    }

    /// The patched document is no object of its kind.
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

    /// The patch, or the patched document, has fields that a strict request must not have.
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

    fn no_object(document: &Value) -> Self {
        Self::undecodable(document, &no_object(document))
    }
}

#[cfg(test)]
mod tests;
