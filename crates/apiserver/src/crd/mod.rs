//! `CustomResourceDefinition`: what a definition must look like before its kind can be served. A definition that is
//! good here must be good in production and the other way round, so rules, order and texts are those of the real
//! server.

mod approval;
mod decode;
mod default_values;
mod definition;
mod field_path;
mod fill;
mod go_form;
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

pub(crate) mod conditions;
mod judge;
pub(crate) mod order;
pub(crate) mod rivals;
mod unknown;

pub(crate) use self::judge::{born, mistakes, read, remember_storage};
