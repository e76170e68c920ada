//! Lock of a run folder: held by its shim while it lives.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    thread,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use super::RunFiles;

/// Lock, held until it is dropped.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock; `None` if another shim has it. An observer takes it shared for a moment, which must not keep a shim from
    /// starting, so the two can be distinguished.
    pub(super) fn take(folder: &Path) -> io::Result<Option<Self>> {
        let path = RunFiles(folder).lock();
        let file = OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(path)?;
        loop {
            if attempt(&file, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(Some(Self { _file: file }));
            }
            if !attempt(&file, FlockOperation::NonBlockingLockShared)? {
                return Ok(None);
            }
            flock(&file, FlockOperation::Unlock)?;
            thread::yield_now();
        }
    }
}

/// True if a shim holds the lock of a folder.
pub(super) fn is_locked(folder: &Path) -> io::Result<bool> {
    match File::open(RunFiles(folder).lock()) {
        Ok(file) => Ok(!attempt(&file, FlockOperation::NonBlockingLockShared)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn attempt(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
