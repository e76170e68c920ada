//! File with the keys of a store.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Folder, StoreError, keyring::Keyring};

/// Default file, in the data folder.
const DEFAULT: &str = "pki/encryption.key";

/// File with the keys that encrypt Secrets at rest.
#[derive(Clone, Debug)]
pub struct KeyFile {
    path: PathBuf,
    /// True for the file of the data folder: made at the first start, and protected like the other keys there.
    is_own: bool,
}

impl KeyFile {
    /// File of a data folder.
    pub fn of_folder(folder: &Folder) -> Self {
        Self { path: folder.file(DEFAULT), is_own: true }
    }

    /// File of the operator, which must exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_own: false }
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keys in the file; `None` if there is none yet.
    pub(super) fn read(&self, folder: &Folder) -> Result<Option<Keyring>, StoreError> {
        let text = match self.check(folder).and_then(|()| fs::read(&self.path)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_own => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let make = format!(
                    "the file does not exist; restore it, or make one for a new data folder: (umask 077; openssl rand -base64 32 >{})",
                    self.path.display()
                );
                return Err(self.failed("read the encryption key", make));
            }
            Err(error) => return Err(self.failed("read the encryption key", error)),
        };
        let keys = Keyring::parse(&text).map_err(|error| {
            self.failed("read the encryption key", format!("{error}; restore the file from a backup"))
        })?;
        Ok(Some(keys))
    }

    /// Makes the file with a first key. It is on disk before anything is encrypted with it.
    pub(super) fn make(&self, folder: &Folder) -> Result<Keyring, StoreError> {
        let failed = |cause: io::Error| self.failed("make the encryption key", cause);
        let line = Keyring::new_line().map_err(|_| failed(io::Error::other("no random numbers")))?;
        let text = format!("# Keys of the Secrets in objects.redb: the first encrypts, all decrypt.\n{line}");
        write(&self.path, &text).map_err(failed)?;
        self.read(folder)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// Refuses a file that others can read, or revokes their access if it is our own.
    #[cfg(unix)]
    fn check(&self, folder: &Folder) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        const OTHERS: u32 = 0o077;
        let found = fs::metadata(&self.path)?;
        // The data folder belongs to the user of the platform.
        let user = fs::metadata(folder.path())?.uid();
        if found.uid() != user && found.uid() != 0 {
            return Err(io::Error::other(format!(
                "it belongs to the user with id {}, who could replace it; make it the property of the user with id {user}",
                found.uid()
            )));
        }
        if found.mode() & OTHERS == 0 {
            return Ok(());
        }
        if self.is_own {
            return fs::set_permissions(&self.path, fs::Permissions::from_mode(0o600));
        }
        Err(io::Error::other(format!(
            "other users have access to it (mode {:o}); run: chmod 600 {}",
            found.mode() & 0o777,
            self.path.display()
        )))
    }

    #[cfg(not(unix))]
    fn check(&self, _: &Folder) -> io::Result<()> {
        fs::metadata(&self.path).map(drop)
    }

    pub(super) fn failed(&self, action: &'static str, cause: impl std::fmt::Display) -> StoreError {
        StoreError { action, cause: format!("{}: {cause}", self.path.display()) }
    }
}

/// Writes a private file under another name and renames it: a crash leaves a complete file or none.
#[cfg(unix)]
fn write(path: &Path, text: &str) -> io::Result<()> {
    use std::{
        io::Write,
        os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    };
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft = path.with_added_extension("new");
    // A file left by a start that was killed; the data folder is locked by this process.
    let _ = fs::remove_file(&draft);
    let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)
}
