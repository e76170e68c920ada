//! The Score workload language, `score.dev/v1b1`, at specification 0.4.1.
//!
//! A Score file describes one workload, independent of any runtime: containers, a service, and the resources it
//! depends on. This crate parses Score files with source spans, reports all diagnostics in one run, and returns a typed
//! [`model`] of valid files. It does no I/O: the caller reads files.
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
//! let error = report.errors().next().expect("`env` is an unknown field");
//! assert_eq!(error.code.name(), "UNKNOWN_FIELD");
//! assert_eq!(error.pointer.as_str(), "/containers/main/env");
//! assert_eq!(error.hint, "use `variables` for environment variables: `variables: {A: b}`");
//! ```
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`document`] | pipeline of a file: parse, override, validate |
//! | [`grammar`] | the language as data, and the JSON Schema generated from it |
//! | [`code`], [`diagnostic`] | diagnostics and their stable codes |
//! | [`model`], [`normalise`] | typed model of valid documents |
//! | [`placeholder`], [`expansion`] | `${…}`: lexer and segments; expanded fields and their scope |
//! | [`resource`], [`mod@start_order`] | identity, sharing and order of resources; start order of containers |
//! | [`overrides`], [`quantity`] | overrides; exact quantities |
//! | [`yaml`], [`node`], [`source`], [`mod@pointer`] | YAML parser, value tree with spans, sources, JSON pointers |

pub mod code;
pub mod diagnostic;
pub mod document;
pub mod expansion;
pub mod grammar;
mod graph;
pub mod model;
pub mod node;
pub mod normalise;
pub mod overrides;
pub mod placeholder;
pub mod pointer;
pub mod quantity;
pub mod resource;
pub mod source;
pub mod spec_version;
pub mod start_order;
mod suggest;
mod validate;
pub mod yaml;

pub use code::{Code, Layer};
pub use diagnostic::{Diagnostic, Severity};
pub use document::{Document, Report};
pub use grammar::json_schema;
pub use model::Workload;
pub use node::Node;
pub use pointer::Pointer;
pub use source::{Location, Source, SourceId, Span};
pub use spec_version::SpecVersion;
pub use suggest::suggest;
