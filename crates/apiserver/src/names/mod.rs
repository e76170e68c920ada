//! Names, labels and the rest of what every object carries in its `metadata`: what they may look like, and what the
//! server says if they do not.

mod metadata;
mod owners;
mod rules;
mod shape;
mod time;
mod update;

pub(crate) use metadata::validate_object_meta;
pub(crate) use rules::{NameRule, label_value, qualified_name};
pub(crate) use shape::{MetaOf, decode_object_meta};
pub(crate) use time::utc;
pub(crate) use update::validate_object_meta_update;

#[cfg(test)]
mod tests;
