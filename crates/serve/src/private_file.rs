//! Files with mode 0600, replaced atomically.

use crate::ServeError;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const OTHER_USERS_MODE: u32 = 0o077;

/// Creates the folder, or revokes the access of other users to an existing one.
pub(crate) fn make_folder(path: &Path) -> Result<(), ServeError> {
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
        .and_then(|()| tighten(path, FOLDER_MODE))
        .map_err(failed("create the folder", path))
}

/// Content of the file, if it exists. Revokes the access of other users.
pub(crate) fn read(path: &Path) -> Result<Option<String>, ServeError> {
    match fs::read(path) {
        Ok(content) => {
            tighten(path, FILE_MODE).map_err(failed("protect", path))?;
            // A secret file is ASCII; whatever is not shows as damage to its reader.
            Ok(Some(String::from_utf8_lossy(&content).into_owned()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// Replaces the file atomically: after a crash it has either the old or the new content.
pub(crate) fn replace(path: &Path, content: &str) -> Result<(), ServeError> {
    let draft = path.with_added_extension("new");
    write_draft(&draft, content)
        .and_then(|()| fs::rename(&draft, path))
        .and_then(|()| path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all()))
        .map_err(failed("write", path))
}

/// Removes a temporary file of an earlier crash first, because the mode is only set on creation.
fn write_draft(draft: &Path, content: &str) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(draft)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

fn tighten(path: &Path, mode: u32) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    if permissions.mode() & OTHER_USERS_MODE != 0 {
        permissions.set_mode(mode);
        fs::set_permissions(path, permissions)?;
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ServeError {
    let path = path.to_owned();
    move |source| ServeError::File { action, path, source }
}
