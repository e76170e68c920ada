//! Label selectors and field selectors.

mod fields;
mod label_parser;
mod labels;

pub(crate) use fields::{FieldRequirement, FieldSelector};
pub(crate) use labels::LabelSelector;
