//! `CustomResourceDefinition`: validation before a kind is served. A definition that is valid here is valid on a real
//! cluster and the other way round, so rules and their order are those of a real server.

mod approval;
mod decode;
mod default_values;
mod definition;
mod fill;
mod kind_names;
mod list_types;
mod openapi;
mod reader;
mod rule_texts;
mod rules;
mod status_root;
mod structural;
#[cfg(test)]
mod tests;
mod unsupported;
mod validation;
mod versions;
mod warnings;

pub(crate) use self::decode::decode;
pub(crate) use self::fill::fill_defaults;
pub(crate) use self::rules::{RulePlace, RuleTask};
pub(crate) use self::validation::validate;
pub(crate) use self::warnings::warnings;

mod admit;
pub(crate) mod conditions;
pub(crate) mod name_conflicts;
pub(crate) mod order;
mod unknown;

pub(crate) use self::admit::{errors, on_create, read, record_stored_version};
