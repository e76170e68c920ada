//! The Score workload language, `score.dev/v1b1`, at specification 0.4.1.
//!
//! A Score file describes one workload in words that no runtime owns: containers, a service, and the resources it
//! depends on. This crate reads such files with the place of every value, says everything that is wrong with them
//! at once, and hands out a typed [`model`] of those that are right. It does no I/O: the caller reads files.
//!
//! ```
//! use orchestra_score::{Document, Source};
//!
//! let report = Document::parse(Source::new(
//!     "score.yaml",
//!     "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: nginx, env: {A: b}}}\n",
//! ))
//! .check();
//!
//! let error = report.errors().next().expect("`env` is not a field of Score");
//! assert_eq!(error.code.name(), "UNKNOWN_FIELD");
//! assert_eq!(error.pointer.as_str(), "/containers/main/env");
//! assert_eq!(error.hint, "environment variables are called `variables`: `variables: {LOG_LEVEL: debug}`");
//! ```
//!
//! # Where to look
//!
//! | module | what it knows |
//! |---|---|
//! | [`document`] | the way of a file: read, override, check |
//! | [`grammar`] | the language as data, and the JSON Schema printed from it |
//! | [`code`], [`diagnostic`] | the findings |
//! | [`model`], [`normalise`] | valid documents as types |
//! | [`placeholder`], [`expansion`] | `${…}`: lexing, segments; which fields are expanded, and to what |
//! | [`resource`], [`before`] | identity, sharing and order of resources; order of containers |
//! | [`overrides`], [`quantity`] | changes before reading; exact amounts |
//! | [`yaml`], [`node`], [`source`], [`mod@pointer`] | texts, values with places, addresses |

pub mod before;
pub mod code;
pub mod diagnostic;
pub mod document;
pub mod expansion;
pub mod grammar;
mod graph;
pub mod model;
mod nearest;
pub mod node;
pub mod normalise;
pub mod overrides;
pub mod placeholder;
pub mod pointer;
pub mod quantity;
pub mod resource;
pub mod source;
pub mod spec_version;
mod validate;
pub mod yaml;

pub use code::{Code, Layer};
pub use diagnostic::{Diagnostic, Severity};
pub use document::{Document, Report};
pub use grammar::json_schema;
pub use model::Workload;
pub use nearest::nearest;
pub use node::Node;
pub use pointer::Pointer;
pub use source::{Location, Source, SourceId, Span};
pub use spec_version::SpecVersion;
