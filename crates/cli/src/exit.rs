//! How a command ends.

use std::{io, process::ExitCode};

/// The exit codes; they are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done, or the answer is yes.
    Yes,
    /// 1: the answer is no, or the input is bad.
    No,
    /// 2: the command was not used as it must be.
    Usage,
    /// 3: the platform cannot be reached.
    Unreachable,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
        })
    }
}

/// How a command ends once its answer is written. A reader that goes away early (`| head`) has what it wanted.
pub(crate) fn after_writing(written: io::Result<()>, exit: Exit) -> Exit {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            crate::ui::complain(&format!("failed to write the answer: {error}"));
            Exit::No
        }
        _ => exit,
    }
}
