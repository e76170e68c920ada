//! Volumes: folders of this machine. They go at once or not at all: a folder is first renamed away, so that whatever
//! happens, under its own name there never is half a volume.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use orchestra_core::provision::{Bound, Provision};
use serde_json::json;

use super::{
    bound,
    means::Id,
    params::{Params, broken},
};
use crate::{DriverError, process::things::Thing, random};

/// Where folders are that are being removed. No namespace has such a name.
const REMOVED: &str = ".removed";

/// Sizes are of the whole machine, and everything here may read and write.
pub(super) const PARAMS: &[&str] = &["accessMode", "size"];

pub(super) fn ensure(
    data: &Path,
    id: &Id,
    params: &Params,
) -> Result<(Provision, Option<Thing>), DriverError> {
    let folder = place(data, id).join("data");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(broken)?;
    let size = params.text("size")?;
    let note = size.map(|size| format!(" It is not limited to {size}, but by the disk.")).unwrap_or_default();
    let message = format!("Ready to use: the folder `{}`.{note}", folder.display());
    let outputs = [("source", json!(folder.to_string_lossy()))];
    Ok((Provision::Bound(Bound { message, ..bound(outputs) }), Some(Thing::Folder(folder))))
}

/// Removes a volume with all that is in it.
pub(super) fn remove(data: &Path, id: &Id) -> Result<(), DriverError> {
    let removed = root(data).join(REMOVED);
    let away = removed.join(String::from_utf8_lossy(&random::generate()?).as_ref());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&removed).map_err(broken)?;
    match fs::rename(place(data, id), away) {
        Ok(()) => {
            sweep(data);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(broken(error)),
    }
}

/// Removes what was renamed away, also before a crash.
pub(super) fn sweep(data: &Path) {
    let removed = root(data).join(REMOVED);
    tokio::task::spawn_blocking(move || {
        for entry in fs::read_dir(&removed).into_iter().flatten().flatten() {
            let gone = fs::remove_dir_all(entry.path()).or_else(|_| {
                // Programs may have made folders that nobody may change.
                open_up(&entry.path())?;
                fs::remove_dir_all(entry.path())
            });
            if let Err(error) = gone.or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            }) {
                tracing::warn!(folder = %entry.path().display(), %error, "what is left of a volume cannot be removed");
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

fn place(data: &Path, id: &Id) -> PathBuf {
    root(data).join(&id.0).join(&id.1)
}
