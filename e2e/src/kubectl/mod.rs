//! Comparison of kubectl's output on the embedded API server and on a real one.
//!
//! A [`Script`] is a list of shell commands. A [`Session`] runs them against a server, [`normalise`] removes values that
//! differ between runs (UIDs, times, versions), and the result is a [`Recording`]. Recordings of a real server are
//! committed; [`difference`] compares those of other servers with them.

pub mod difference;
pub mod normalise;
pub mod recording;
pub mod script;
pub mod session;

pub use recording::Recording;
pub use script::Script;
pub use session::Session;

use std::{
    io,
    path::{Path, PathBuf},
};

/// Folder of scripts and recordings.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("kubectl")
}

/// Error of a script.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a folder cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// Line of a script or recording outside of a command.
    #[error("{0}:{1}: a command starts with `$ `")]
    NoCommand(PathBuf, usize),
    /// A program cannot be started.
    #[error("cannot run {0}: {1}")]
    Start(String, io::Error),
    /// Setup or cleanup of a script failed.
    #[error("`kubectl {0}` failed: {1}")]
    Kubectl(String, String),
}

impl Error {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File(path.to_owned(), error)
    }
}
