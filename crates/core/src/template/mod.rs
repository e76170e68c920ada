//! Score's provisioner files: what they say, and what one entry gives for one resource.
//!
//! A file (`*.provisioners.yaml`) is a list of entries. An entry with a `template://` address holds Go templates,
//! evaluated one after the other, each giving YAML: `init`, `state`, `shared`, `outputs`, `manifests`. Everything here
//! is pure: random values follow from a seed, so that the same seed and inputs give the same result.
//!
//! `language` is the template language itself; it is bounded, so that no template can hang or exhaust the platform.

mod decode;
mod entry;
mod inputs;
mod language;
mod manifest;
mod provision;
mod random;
mod secret_ref;

pub use entry::{Entry, FileFault, Templates, load};
pub use inputs::{Compose, Inputs, Port, Service};
pub use provision::{Cause, Failure, Given, render_text};
pub use secret_ref::{Segment, decode_secret_refs, encode_secret_ref};

#[cfg(test)]
mod tests;
