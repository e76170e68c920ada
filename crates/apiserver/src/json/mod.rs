//! Bodies of requests and answers: JSON and YAML in, JSON and YAML out.
//!
//! Clients compare what they sent with what they get back, and show the server's words when a body is refused. So the
//! numbers, the escapes and the messages here are those of the Go libraries that the real server is built from.

mod decode;
mod encode;
mod number;
mod quote;
mod reader;
mod yaml;
mod yaml_encode;
mod yaml_errors;
mod yaml_scalar;
mod yaml_style;
mod yaml_tree;

pub(crate) use decode::{DecodeError, Duplicates, decode, summary};
pub(crate) use encode::{encode, encode_into, encode_pretty, text};
pub(crate) use quote::{is_printable, quote};
pub(crate) use reader::{Place, Reader, Step, kind_of, no_object};
pub(crate) use yaml::decode_yaml;
pub(crate) use yaml_encode::encode_yaml;

/// Levels of nesting that a body may have. Everything behind the decoder may recurse over values.
pub(crate) const MAX_DEPTH: usize = 128;

#[cfg(test)]
mod tests;
