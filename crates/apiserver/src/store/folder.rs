//! The data folder: one process holds it, and says so.

use std::{
    fs::{self, File, TryLockError},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
};

/// A data folder that this process holds. It is free again when the value is dropped or the process ends, however it
/// ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

/// Why a data folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process has it.
    #[error("the data folder {} is in use by process {holder}; stop that one, or choose another folder", .path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The process, as far as it can be told.
        holder: String,
    },
    /// It cannot be made or opened.
    #[error("failed to open the data folder {}: {source}", .path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Folder {
    /// Makes the folder if need be, for its owner alone, and takes hold of it.
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
        // For whoever comes second; the lock itself is what counts.
        lock.set_len(0).and_then(|()| lock.rewind()).map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
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
    fn the_second_process_is_told_which_one_has_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("data");
        let held = Folder::hold(&path).unwrap();
        let error = Folder::hold(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        drop(held);
        assert!(Folder::hold(&path).is_ok(), "a folder that was let go can be held again");
    }
}
