//! Data folder, locked by one process.

use std::{
    fs::{self, File, TryLockError},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
};

/// Data folder, locked by this process until the value is dropped or the process ends, even by a kill.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    lock: File,
}

/// Error of locking a data folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process holds the lock.
    #[error("the data folder {} is in use by process {holder}; stop that one, or choose another folder", .path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Process that holds the lock, if known.
        holder: String,
    },
    /// The folder cannot be created or opened.
    #[error("failed to open the data folder {}: {source}", .path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
}

impl Folder {
    /// Creates the folder if it is missing, for its owner only, and locks it.
    pub fn hold(path: &Path) -> Result<Self, FolderError> {
        let failed = |source| FolderError::Io { path: path.to_owned(), source };
        make(path).map_err(failed)?;
        let mut options = File::options();
        let mut lock = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join("lock"))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = lock.read_to_string(&mut holder);
                let holder = if holder.trim().is_empty() { "another" } else { holder.trim() }.to_owned();
                return Err(FolderError::InUse { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Only for the error message of a second process; the lock itself prevents it.
        lock.set_len(0).and_then(|()| lock.rewind()).map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { path: path.to_owned(), lock })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Folder {
    /// Unlocks explicitly: a process that is being started has a copy of the file until its `exec`, which would keep the
    /// lock.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

#[cfg(unix)]
fn make(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make(path: &Path) -> std::io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_gets_the_pid_of_the_lock_holder() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("data");
        let held = Folder::hold(&path).unwrap();
        let error = Folder::hold(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        drop(held);
        assert!(Folder::hold(&path).is_ok(), "an unlocked folder can be locked again");
    }

    #[test]
    fn a_copy_of_the_open_file_does_not_keep_the_lock() {
        let place = tempfile::tempdir().unwrap();
        let held = Folder::hold(place.path()).unwrap();
        let _copy = held.lock.try_clone().unwrap();
        drop(held);
        assert!(Folder::hold(place.path()).is_ok());
    }
}
