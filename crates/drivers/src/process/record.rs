//! What a shim writes down: who it is, and how it ended.
//!
//! Both are written aside, synced and moved into place, so that a reader finds either nothing or all of it, after a
//! loss of power too.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::Files;

/// A run that was started, and the shim that looks after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Which run.
    pub run: String,
    /// The number of the shim's process. Numbers are used again: it says nothing without the next two.
    pub shim: i32,
    /// When that process was started, in ticks of the kernel since the machine was.
    pub shim_started: u64,
    /// Since which start of the machine numbers and ticks count.
    pub boot: String,
    /// When the run began.
    pub at: Timestamp,
    /// The number of the program's process, once it has one; only to be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<i32>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// Which run.
    pub run: String,
    /// How.
    pub end: End,
    /// Whether it was asked to stop before.
    pub stopped: bool,
    /// When.
    pub at: Timestamp,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It never began.
    NotStarted(NotStarted),
}

/// Why a program never began. Its `Display` is a sentence for users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum NotStarted {
    /// There is no such program.
    #[error("The program `{program}` was not found: give its path, or a name that is in a folder of `PATH`.")]
    NotFound {
        /// As it was asked for.
        program: String,
    },
    /// The file is there and may not be executed.
    #[error("The program `{program}` may not be executed: give the file the right to be executed.")]
    NotExecutable {
        /// As it was asked for.
        program: String,
    },
    /// The file is there and cannot be executed on this machine, or what its first line names is not there.
    #[error(
        "The program `{program}` cannot be executed on this machine: it must be a program for it, or begin with a line that names an interpreter which is there."
    )]
    NotAProgram {
        /// As it was asked for.
        program: String,
    },
    /// It cannot start where it is to start.
    #[error("The directory `{}` in which the program starts cannot be entered: it must be a folder that is there.", directory.display())]
    NoDirectory {
        /// Where it was to start.
        directory: PathBuf,
    },
    /// A file or folder cannot be put at its target.
    #[error("`{}` cannot be provided: {why}.", target.display())]
    NotPlaced {
        /// Where it was to be.
        target: PathBuf,
        /// Why not.
        why: Misplaced,
    },
    /// Anything else that the machine refused.
    #[error("The program could not be started: {why}.")]
    Refused {
        /// In the words of the machine.
        why: String,
    },
}

/// Why a file or folder cannot be put at its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum Misplaced {
    /// The machine does not let us give the program a view of its own.
    #[error("this machine does not allow programs a view of their own on its files")]
    NotPermitted,
    /// The target is no place.
    #[error("the target must be an absolute path below `/`, without `..`")]
    NoPlace,
    /// Two things have one target.
    #[error("something else has the same target")]
    Twice,
    /// What is to be put there does not exist.
    #[error("`{}` is not there", wanted.display())]
    NoSource {
        /// What was to be put there.
        wanted: PathBuf,
    },
    /// A folder is there already, and a file must not hide it.
    #[error("a folder is there already")]
    FolderThere,
    /// A file is there already, where a folder is needed.
    #[error("a file is there already, where a folder is needed")]
    FileThere,
    /// Anything else that the machine refused.
    #[error("{why}")]
    Refused {
        /// In the words of the machine.
        why: String,
    },
}

impl Run {
    /// What is noted in a folder; `None` if nothing is.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        read(&Files(folder).run())
    }

    /// Notes it in a folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write(&Files(folder).run(), self)
    }
}

impl Exit {
    /// What is noted in a folder; `None` if nothing is.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        read(&Files(folder).exit())
    }

    /// Notes it in a folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write(&Files(folder).exit(), self)
    }
}

/// What is written in a file; `None` if it is not there.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file, as a whole or not at all.
pub(super) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let aside = path.with_extension("new");
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_data()?;
    fs::rename(&aside, path)
}
