//! Records of a shim: its identity, and the exit status of its program.
//!
//! Both are written to a new file, synced and renamed, so that a reader finds nothing or all of it, also after a power failure.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::RunFiles;

/// Run that was started, and its shim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Id of the run.
    pub run: String,
    /// Process id of the shim. Ids are reused: it identifies the shim only with the next two.
    pub shim: i32,
    /// Start time of the shim, in clock ticks since boot.
    pub shim_started: u64,
    /// Id of the boot that ids and ticks refer to.
    pub boot: String,
    /// Start time of the run.
    pub at: Timestamp,
    /// Process id of the program, once it has one; for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<i32>,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// Id of the run.
    pub run: String,
    /// Exit status.
    pub end: End,
    /// True if it was asked to stop before.
    pub stopped: bool,
    /// Time.
    pub at: Timestamp,
}

/// Exit status of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// Exit code.
    Code(i32),
    /// Killed by a signal.
    Signal(i32),
    /// Never started.
    NotStarted(NotStarted),
}

/// Reason why a program was not started. Its `Display` is a sentence for users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum NotStarted {
    /// There is no such program.
    #[error("`{program}`: command not found. Give its path, or a name that is in `PATH`.")]
    NotFound {
        /// As in the command.
        program: String,
    },
    /// The file is not executable.
    #[error("`{program}`: permission denied. Make the file executable (`chmod +x`).")]
    NotExecutable {
        /// As in the command.
        program: String,
    },
    /// The file is no program for this machine, or its interpreter does not exist.
    #[error(
        "`{program}`: exec format error. It must be a program for this machine, or begin with `#!` and an interpreter that exists."
    )]
    NotAProgram {
        /// As in the command.
        program: String,
    },
    /// The working directory cannot be entered.
    #[error("The working directory `{}` cannot be entered: no such directory.", directory.display())]
    NoDirectory {
        /// Working directory.
        directory: PathBuf,
    },
    /// A file or folder cannot be mounted.
    #[error("`{}` cannot be mounted: {why}.", target.display())]
    NotPlaced {
        /// Target of the mount.
        target: PathBuf,
        /// Reason.
        why: PlaceError,
    },
    /// Another error of the system.
    #[error("The program could not be started: {why}.")]
    Refused {
        /// Message of the system.
        why: String,
    },
}

/// Reason why a file or folder cannot be mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum PlaceError {
    /// The machine does not allow mount namespaces.
    #[error("this machine does not allow mount namespaces")]
    NotPermitted,
    /// The target is not a valid path.
    #[error("the target must be an absolute path below `/`, without `..`")]
    NoPlace,
    /// Two mounts have the same target.
    #[error("another file or volume has the same target")]
    Twice,
    /// The source does not exist.
    #[error("`{}` does not exist", wanted.display())]
    NoSource {
        /// Source.
        wanted: PathBuf,
    },
    /// The target is a folder, and a file must not hide it.
    #[error("a folder already exists there")]
    FolderThere,
    /// The target is a file, where a folder is needed.
    #[error("a file already exists there, where a folder is needed")]
    FileThere,
    /// Another error of the system.
    #[error("{why}")]
    Refused {
        /// Message of the system.
        why: String,
    },
}

impl Run {
    /// Reads the record of a folder; `None` if there is none.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        read(&RunFiles(folder).run())
    }

    /// Writes the record of a folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write(&RunFiles(folder).run(), self)
    }
}

impl Exit {
    /// Reads the record of a folder; `None` if there is none.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        read(&RunFiles(folder).exit())
    }

    /// Writes the record of a folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write(&RunFiles(folder).exit(), self)
    }
}

/// Reads a JSON file; `None` if it does not exist.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces a JSON file atomically.
pub(super) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let aside = path.with_extension("new");
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_data()?;
    fs::rename(&aside, path)
}
