//! Does kubectl print the same with the embedded API server as with a real one?
//!
//! A [`Script`] is a list of shell commands. [`Session`] runs them one after another against a
//! server, [`normalise`] takes out what differs from run to run (uids, times, versions), and what
//! is left is a [`Recording`]. Recordings of a real server are committed; [`difference`] shows
//! where another server's recording is not like them.

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

/// The folder with scripts and recordings.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("kubectl")
}

/// Why scripts cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a folder cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// A line of a script or of a recording that belongs to no command.
    #[error("{0}:{1}: a command starts with `$ `")]
    NoCommand(PathBuf, usize),
    /// A program cannot be started.
    #[error("cannot run {0}: {1}")]
    Start(String, io::Error),
    /// The preparation of a script, or the removal of what it made, fails.
    #[error("`kubectl {0}` fails: {1}")]
    Kubectl(String, String),
}

impl Error {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File(path.to_owned(), error)
    }
}
