//! Volumes: folders of this machine. They are deleted atomically: a folder is renamed first, so that no partial volume is ever
//! found under its name.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use orchestra_core::provision::{Bound, Provision};
use serde_json::json;

use super::{
    bound,
    params::{Params, unavailable},
};
use crate::{DriverError, NamespacedName, process::local_bindings::LocalBinding, random};

/// Folder of volumes that are being deleted. No namespace has such a name.
const REMOVED: &str = ".removed";

/// Accepted and not enforced: the disk limits the size, and all programs may write.
pub(super) const PARAMS: &[&str] = &["accessMode", "size"];

pub(super) fn ensure(
    data: &Path,
    id: &NamespacedName,
    params: &Params,
) -> Result<(Provision, Option<LocalBinding>), DriverError> {
    let folder = place(data, id).join("data");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unavailable)?;
    let size = params.text("size")?;
    let note =
        size.map(|size| format!(" Its size is limited by the disk, not to {size}.")).unwrap_or_default();
    let message = format!("Ready to use: the folder `{}`.{note}", folder.display());
    let outputs = [("source", json!(folder.to_string_lossy()))];
    Ok((Provision::Bound(Bound { message, ..bound(outputs) }), Some(LocalBinding::Folder(folder))))
}

/// Deletes a volume with its data.
pub(super) fn remove(data: &Path, id: &NamespacedName) -> Result<(), DriverError> {
    let removed = root(data).join(REMOVED);
    let away = removed.join(String::from_utf8_lossy(&random::generate()?).as_ref());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&removed).map_err(unavailable)?;
    match fs::rename(place(data, id), away) {
        Ok(()) => {
            purge(data);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unavailable(error)),
    }
}

/// Deletes renamed volumes, also those of before a crash.
pub(super) fn purge(data: &Path) {
    let removed = root(data).join(REMOVED);
    tokio::task::spawn_blocking(move || {
        for entry in fs::read_dir(&removed).into_iter().flatten().flatten() {
            let gone = fs::remove_dir_all(entry.path()).or_else(|_| {
                // Programs may have created read-only folders.
                open_up(&entry.path())?;
                fs::remove_dir_all(entry.path())
            });
            if let Err(error) = gone.or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            }) {
                tracing::warn!(folder = %entry.path().display(), %error, "a deleted volume cannot be removed from disk");
            }
        }
    });
}

fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

fn root(data: &Path) -> PathBuf {
    data.join("instances")
}

fn place(data: &Path, id: &NamespacedName) -> PathBuf {
    root(data).join(&id.0).join(&id.1)
}
