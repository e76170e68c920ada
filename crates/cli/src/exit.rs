//! Exit codes.

use std::{io, process::ExitCode};

use crate::error::CliError;

/// Exit code of a command; part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done, or the answer is yes.
    Success,
    /// 1: the answer is no, or the input is invalid.
    Failure,
    /// 2: invalid usage.
    Usage,
    /// 3: the platform cannot be reached.
    Unreachable,
    /// 4: another process holds the data folder. Only of the background process of `orchestra up`, which then tries again.
    DataFolderInUse,
}

impl Exit {
    /// Number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::DataFolderInUse => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Checks the result of writing output. A broken pipe (`| head`) is fine.
pub(crate) fn written(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Output(error)),
        _ => Ok(()),
    }
}
