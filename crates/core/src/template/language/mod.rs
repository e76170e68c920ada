//! The language of the templates: Go's `text/template` with the functions of sprig that provisioner files use.
//!
//! It is an interpreter of our own because results depend on what no crate keeps: the types that Go gives to values
//! (`indent` refuses what `add` gives), maps that are shared and can be changed, and the difference between nothing
//! and nil. What a template may use is bounded (`fault::Budget`), and so is how deep it may nest.
//!
//! `lexer` → `parser` → `tree`, carried out by `execute` with the functions of `functions` on the values of `value`.
//! Templates see no environment variables, no clock and no files.

mod arithmetic;
mod builtin;
mod collection;
mod execute;
pub(super) mod fault;
mod format;
mod functions;
mod json;
mod lexer;
mod literal;
pub(super) mod machine;
mod number;
mod parser;
mod text;
mod tree;
pub(super) mod value;

pub(super) use builtin::{port_record, service_record};
