//! Local bindings of claims: what the engine `process` has created, as the runtime `process` needs it. A binding is the folder
//! of a volume, the keys of a secret or the address of a route; outputs carry the same to authors.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::NamespacedName;

/// Local binding of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum LocalBinding {
    /// Folder that can be mounted.
    Folder(PathBuf),
    /// Keys of a Secret, each of which can be mounted as a file.
    Secret {
        /// Name of the Secret.
        name: String,
        /// Keys.
        keys: Vec<String>,
    },
    /// Address of the Workload.
    Route(String),
}

/// File of a binding, with its instance: claims come and go while the instance stays.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct BindingRecord {
    instance: String,
    /// In the file as `thing`.
    #[serde(rename = "thing")]
    binding: LocalBinding,
}

/// Suffix of the files.
const ENDING: &str = ".json";

/// Binding of a claim, if it is recorded.
pub(super) fn find(data: &Path, namespace: &str, claim: &str) -> io::Result<Option<LocalBinding>> {
    Ok(read(&path(data, namespace, claim))?.map(|record| record.binding))
}

/// Records the binding of an instance for exactly these claims.
pub(super) fn set(
    data: &Path,
    id: &NamespacedName,
    claims: &[String],
    binding: &LocalBinding,
) -> io::Result<()> {
    let (namespace, instance) = id;
    forget(data, id, |claim| !claims.iter().any(|kept| kept == claim))?;
    let record = BindingRecord { instance: instance.clone(), binding: binding.clone() };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder(data, namespace))?;
    for claim in claims {
        let path = path(data, namespace, claim);
        if read(&path).ok().flatten().as_ref() == Some(&record) {
            continue;
        }
        // Replaced atomically.
        let new = path.with_extension("new");
        let mut file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
    }
    Ok(())
}

/// Removes all bindings of an instance.
pub(super) fn clear(data: &Path, id: &NamespacedName) -> io::Result<()> {
    forget(data, id, |_| true)
}

/// Removes the bindings of an instance for certain claims.
fn forget(data: &Path, id: &NamespacedName, of: impl Fn(&str) -> bool) -> io::Result<()> {
    let (namespace, instance) = id;
    let entries = match fs::read_dir(folder(data, namespace)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let claim = path.file_name().and_then(|name| name.to_str()?.strip_suffix(ENDING));
        // A file that cannot be read belongs to no instance, and is replaced by its engine.
        let record = read(&path).ok().flatten();
        if claim.is_some_and(&of) && record.is_some_and(|record| record.instance == *instance) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<Option<BindingRecord>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn folder(data: &Path, namespace: &str) -> PathBuf {
    data.join("things").join(namespace)
}

fn path(data: &Path, namespace: &str, claim: &str) -> PathBuf {
    folder(data, namespace).join(format!("{claim}{ENDING}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(instance: &str) -> NamespacedName {
        ("default".to_owned(), instance.to_owned())
    }

    #[test]
    fn bindings_of_removed_claims_are_deleted_and_those_of_other_instances_stay() {
        let data = tempfile::tempdir().unwrap();
        let find = |claim: &str| find(data.path(), "default", claim).unwrap();
        let (one, other) =
            (LocalBinding::Folder("/one".into()), LocalBinding::Route("http://other".to_owned()));
        set(data.path(), &id("one"), &["first".to_owned(), "second".to_owned()], &one).unwrap();
        set(data.path(), &id("other"), &["third".to_owned()], &other).unwrap();
        assert_eq!(find("first"), Some(one.clone()));
        set(data.path(), &id("one"), &["second".to_owned()], &one).unwrap();
        assert_eq!((find("first"), find("second")), (None, Some(one)));
        clear(data.path(), &id("one")).unwrap();
        assert_eq!((find("second"), find("third")), (None, Some(other)));
    }

    #[test]
    fn partially_written_files_are_ignored() {
        let data = tempfile::tempdir().unwrap();
        let binding = LocalBinding::Folder("/one".into());
        set(data.path(), &id("one"), &["first".to_owned()], &binding).unwrap();
        fs::write(folder(data.path(), "default").join("first.new"), "{").unwrap();
        fs::write(path(data.path(), "default", "second"), "{").unwrap();
        set(data.path(), &id("one"), &["first".to_owned()], &binding).unwrap();
        assert_eq!(find(data.path(), "default", "first").unwrap(), Some(binding));
    }
}
