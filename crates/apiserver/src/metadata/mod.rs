//! `metadata` of every object: types, rules of names, labels and owner references, allowed updates.

mod object_meta;
mod owners;
mod rules;
mod shape;
mod update;

pub(crate) use object_meta::{validate_embedded_meta, validate_labels, validate_object_meta};
pub(crate) use rules::{
    NameRule, dns1035_label, dns1123_label, dns1123_subdomain, label_value, qualified_name,
};
pub(crate) use shape::{MetaOf, decode_object_meta, parse_time};
pub(crate) use update::validate_object_meta_update;

#[cfg(test)]
mod tests;
