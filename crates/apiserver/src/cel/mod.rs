//! The rules of a CRD (`x-kubernetes-validations`), which are written in CEL.
//!
//! The promise is that a rule is evaluated as the real server does, or that the CRD is refused: a rule that is accepted
//! and then ignored, or means something else, is worse than none. So every expression is type-checked against the
//! schema, and only what [`FUNCTIONS`] lists is accepted.

mod check;
mod checker;
mod compare;
mod convert;
mod escape;
mod eval;
mod field_path;
mod format;
mod functions;
mod lexer;
mod lists;
mod parser;
mod pattern;
mod program;
mod ratchet;
mod resource;
mod rules;
mod strings;
mod syntax;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod url;
mod value;

pub use check::check_within;
pub use functions::FUNCTIONS;
pub use rules::{Rules, Verdict};

use crate::field_error::FieldError;
use crate::schema::Schema;

/// Checks the rules of one node of a schema that is in no list, or only in lists of type map. See [`check_within`].
pub fn check(schema: &Schema, at: &str) -> Vec<FieldError> {
    check_within(schema, at, None)
}
