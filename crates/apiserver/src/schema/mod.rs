//! Operations on the structural schema of a kind: pruning, defaulting and validation.
//!
//! A [`Schema`] comes from `openAPIV3Schema` of a CRD, or from the table of built-in kinds. Field ownership, CEL rules
//! and `OpenAPI` use the same structure.

mod checker;
mod defaults;
pub(crate) mod embedded;
pub(crate) mod formats;
mod lists;
pub(crate) mod node;
mod number_checks;
mod outcome;
pub(crate) mod path;
mod prune;
mod ratchet;
mod scale;
#[cfg(test)]
mod tests;
mod validate;

pub(crate) use orchestra_cel::{Additional, Part, Rule, Schema};

pub(crate) use self::checker::Checker;
pub(crate) use self::prune::prune;
pub(crate) use self::scale::ScalePaths;
pub(crate) use self::validate::validate_value;
