//! Go's [`text/template`](https://pkg.go.dev/text/template) with the [sprig](https://masterminds.github.io/sprig/) functions
//! that Score's provisioner files use. Pure: no I/O, no clock, no environment variables.
//!
//! ```
//! use orchestra_gotemplate::{ErrorKind, Interpreter, Template};
//! use serde_json::json;
//!
//! let template = Template::parse("{{ range .ports }}{{ printf \"%05d\" . }}\n{{ end }}", &[])?;
//! let mut interpreter = Interpreter::new(b"seed of the random functions");
//! let root = interpreter.heap.value_from_json(&json!({"ports": [80, 8080]}));
//! assert_eq!(interpreter.render(&template, &root)?, "00080\n08080\n");
//!
//! let template = Template::parse("a\n{{ index .ports 9 }}", &[])?;
//! let error = interpreter.render(&template, &root).unwrap_err();
//! assert_eq!((error.line, error.kind), (2, ErrorKind::Execute));
//! # Ok::<(), orchestra_gotemplate::Error>(())
//! ```
//!
//! Results depend on details of Go that no existing crate reproduces: static types of values (`indent` rejects the `int64`
//! that `add` returns), shared mutable maps, and a missing value as opposed to nil.
//!
//! Templates are untrusted. [`Limits`] bound the work and the output of a render, and nesting is bounded when a template is
//! parsed, when it runs, and in values. Error messages never contain values, since those may be secret; the argument of
//! `fail` is the exception. Random functions are seeded: the same seed and data give the same output.
//!
//! `lexer` → `parser` → `template`; `execute` evaluates it with `functions` on values of `value`.

mod error;
mod execute;
mod format;
mod functions;
mod interpreter;
mod json;
mod lexer;
mod limits;
mod literal;
mod number;
mod parser;
mod random;
mod template;
#[cfg(test)]
mod tests;
mod value;

pub use error::{Error, ErrorKind, EvalError};
pub use functions::{Body, Function, Parameter};
pub use interpreter::Interpreter;
pub use limits::Limits;
pub use template::Template;
pub use value::{Field, Heap, ListKind, MapKind, MapType, Record, Time, Value, number_value};
