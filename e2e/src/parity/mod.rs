//! Does the embedded API server answer as a real one does?
//!
//! A [`Script`] is data: requests, and what to keep of their answers for later requests. The
//! [`player`] sends it to a [`Target`], [`normalise`] takes out what differs from run to run
//! (uids, times, versions), and what is left is a [`Recording`]. Recordings of a real server are
//! committed; [`difference`] compares another server's recording with them.

pub mod accepted;
pub mod cleanup;
pub mod difference;
pub mod normalise;
pub mod player;
pub mod playing;
pub mod recording;
pub mod script;
pub mod target;
mod tokens;
mod variables;
mod watching;

pub use recording::Recording;
pub use script::Script;
pub use target::Target;

use std::path::PathBuf;

/// The folder with scripts, fixtures, recordings and accepted differences.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("parity")
}
