//! Which objects a list or a watch is about: selectors over labels and over fields.

mod fields;
mod label_parser;
mod labels;

pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;
