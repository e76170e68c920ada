//! Detection of edited files.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Files, with the time and size of the last check.
#[derive(Debug)]
pub(super) struct WatchedFiles(BTreeMap<PathBuf, Stamp>);

/// Modification time and size; `None` if the file does not exist, as while an editor replaces it.
type Stamp = Option<(SystemTime, u64)>;

impl WatchedFiles {
    pub(super) fn new(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(files.into_iter().map(|file| (file.clone(), stamp(&file))).collect())
    }

    /// True if an existing file has changed since the last call.
    pub(super) fn have_changed(&mut self) -> bool {
        let mut changed = false;
        for (file, seen) in &mut self.0 {
            let now = stamp(file);
            changed |= now.is_some() && now != *seen;
            *seen = now.or(*seen);
        }
        changed
    }
}

fn stamp(file: &Path) -> Stamp {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_reported_once_and_a_missing_file_is_no_edit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("score.yaml");
        fs::write(&file, "one").unwrap();
        let mut files = WatchedFiles::new([file.clone()]);
        assert!(!files.have_changed());
        fs::remove_file(&file).unwrap();
        assert!(!files.have_changed());
        fs::write(&file, "three").unwrap();
        assert!(files.have_changed());
        assert!(!files.have_changed());
    }
}
