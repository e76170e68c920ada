//! Validation rules of CRDs (`x-kubernetes-validations`): a type checker and evaluator of CEL over structural schemas.
//!
//! A rule is evaluated as a real kube-apiserver evaluates it, or its CRD is refused: a rule that is accepted and then
//! ignored, or means something else, is worse than none. Every expression is type-checked against the [`Schema`], and only
//! the functions in [`FUNCTIONS`] are accepted.
//!
//! The crate also has what rules share with schema validation: timestamps and durations ([`time`]), URLs ([`Url`]) and the
//! [`FieldError`] that both report.

mod check;
mod checker;
mod compare;
mod convert;
mod escape;
mod eval;
mod field_error;
mod field_path;
mod format;
mod functions;
mod lexer;
mod lists;
mod parser;
mod program;
mod ratchet;
mod resource;
mod rules;
mod schema;
mod strings;
mod syntax;
#[cfg(test)]
mod tests;
pub mod time;
mod types;
mod url;
mod value;

pub use check::check_within;
pub use field_error::{CauseType, FieldError};
pub use field_path::{FieldPath, resolve_field_path};
pub use functions::FUNCTIONS;
pub use rules::{Rules, Verdict};
pub use schema::{Additional, Part, Rule, Schema};
pub use url::{Url, UrlProblem};
