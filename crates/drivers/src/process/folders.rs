//! Where Workloads come from. `image: .` stands for the folder of the Score file, and a resource of type `environment` for
//! the shell in which it was applied: both are known only on the machine where that was. They are noted beside the
//! platform's data, readable by its user alone, and never in the object.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The name of the file.
const FILE: &str = "folders.json";

/// Where a Workload comes from. The values of variables may be secret.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// The folder of its Score file.
    pub folder: PathBuf,
    /// Where programs are looked for in the shell in which it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The variables that it asks for, as far as its author's shell or the file `.env` has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Home").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Where a Workload comes from.
pub fn find(data: &Path, namespace: &str, name: &str) -> io::Result<Option<Home>> {
    Ok(read(data)?.remove(&key(namespace, name)))
}

/// Notes where a Workload comes from. Answers whether that is new.
pub fn note(data: &Path, namespace: &str, name: &str, home: Home) -> io::Result<bool> {
    change(data, |all| {
        all.insert(key(namespace, name), home);
    })
}

/// Forgets where a Workload comes from.
pub fn forget(data: &Path, namespace: &str, name: &str) -> io::Result<()> {
    change(data, |all| {
        all.remove(&key(namespace, name));
    })
    .map(drop)
}

/// Forgets where Workloads come from that do not exist.
pub fn forget_others(data: &Path, existing: &BTreeSet<(String, String)>) -> io::Result<()> {
    let kept: BTreeSet<String> = existing.iter().map(|(namespace, name)| key(namespace, name)).collect();
    change(data, |all| all.retain(|key, _| kept.contains(key))).map(drop)
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

fn read(data: &Path) -> io::Result<BTreeMap<String, Home>> {
    match fs::read(data.join(FILE)) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error),
    }
}

/// One at a time, and as a whole: several commands may note something at once.
fn change(data: &Path, edit: impl FnOnce(&mut BTreeMap<String, Home>)) -> io::Result<bool> {
    let open = |name: &str| {
        File::options().write(true).create(true).truncate(false).mode(0o600).open(data.join(name))
    };
    let lock = open("folders.lock")?;
    lock.lock()?;
    let mut all = read(data)?;
    let before = all.clone();
    edit(&mut all);
    if all == before {
        return Ok(false);
    }
    let mut file = open("folders.new")?;
    file.set_len(0)?;
    file.write_all(&serde_json::to_vec_pretty(&all)?)?;
    file.sync_all()?;
    fs::rename(data.join("folders.new"), data.join(FILE))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(folder: &str) -> Home {
        Home { folder: folder.into(), ..Home::default() }
    }

    #[test]
    fn a_home_is_known_until_it_is_forgotten() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(find(data.path(), "default", "hello").unwrap(), None);
        assert!(note(data.path(), "default", "hello", home("/here")).unwrap());
        assert!(!note(data.path(), "default", "hello", home("/here")).unwrap());
        assert!(note(data.path(), "default", "other", home("/there")).unwrap());
        assert_eq!(find(data.path(), "default", "hello").unwrap(), Some(home("/here")));
        forget(data.path(), "default", "hello").unwrap();
        assert_eq!(find(data.path(), "default", "hello").unwrap(), None);
        assert_eq!(find(data.path(), "default", "other").unwrap(), Some(home("/there")));
        forget_others(data.path(), &[("default".to_owned(), "hello".to_owned())].into()).unwrap();
        assert_eq!(find(data.path(), "default", "other").unwrap(), None);
    }

    #[test]
    fn only_the_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let data = tempfile::tempdir().unwrap();
        note(data.path(), "default", "hello", home("/here")).unwrap();
        let mode = fs::metadata(data.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
