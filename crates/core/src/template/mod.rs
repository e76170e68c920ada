//! Score's provisioner files: parser, and evaluation of an entry for a resource.
//!
//! A file (`*.provisioners.yaml`) is a list of entries. An entry with a `template://` URI has Go templates, evaluated one
//! after the other, each rendering YAML: `init`, `state`, `shared`, `outputs`, `manifests`. Everything here is pure: random
//! values follow from a seed, so the same seed and inputs give the same result.
//!
//! The template language itself is the crate `orchestra-gotemplate`. It limits what a template may use.

mod decode;
mod entry;
mod error;
mod inputs;
mod manifest;
mod provision;
mod secret_ref;

pub use entry::{Entry, Templates, load};
pub use error::{EntryError, FieldError, FileFault, UnsupportedScheme};
pub use inputs::{Compose, Inputs, Port, Service};
pub use provision::{Cause, Failure, Given, render_text};
pub use secret_ref::{Segment, decode_secret_refs, encode_secret_ref};

#[cfg(test)]
mod tests;
