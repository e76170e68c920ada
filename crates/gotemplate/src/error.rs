//! Errors of parsing and rendering.

use thiserror::Error as ThisError;

/// Error of a template, with its position.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("line {line}: {message}")]
pub struct Error {
    /// Line in the template, from 1.
    pub line: usize,
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Message. Contains no values, except for [`ErrorKind::Fail`].
    pub message: String,
}

/// Kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Syntax error.
    Parse,
    /// Failed evaluation.
    Execute,
    /// Call of `fail`; the message is its argument.
    Fail,
}

/// Error of a call or an expression, without a position. The message must not contain values: they may be secret.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum EvalError {
    /// Failed evaluation.
    #[error("{0}")]
    Message(String),
    /// Call of `fail`, with its argument.
    #[error("{0}")]
    Fail(String),
}

impl EvalError {
    /// Error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Message(message.into())
    }
}
