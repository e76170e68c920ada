//! Comparison of the embedded API server with a real one.
//!
//! A [`Script`] is a list of requests, and of values to save from their responses. The [`player`] sends it to a
//! [`Target`], [`normalise`] removes values that differ between runs (UIDs, times, versions), and the result is a
//! [`Recording`]. Recordings of a real server are committed; [`difference`] compares other servers with them: codes,
//! headers, reasons, causes, field paths and objects, and texts that clients match on (the private module `wording`).

pub mod accepted;
pub mod cleanup;
pub mod difference;
pub mod normalise;
pub mod player;
pub mod playing;
pub mod protobuf;
pub mod recording;
pub mod script;
pub mod target;
mod tokens;
mod variables;
mod watching;
pub(crate) mod wording;

pub use recording::Recording;
pub use script::Script;
pub use target::Target;

use std::path::PathBuf;

/// Folder of scripts, fixtures, recordings and accepted differences.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("parity")
}
