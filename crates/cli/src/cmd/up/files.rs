//! Whether files were edited since they were last read.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Files, as they were last seen.
#[derive(Debug)]
pub(super) struct Files(BTreeMap<PathBuf, Stamp>);

/// What changes with an edit; nothing if the file is not there, as between the two steps of an editor that saves.
type Stamp = Option<(SystemTime, u64)>;

impl Files {
    /// Takes note of files as they are.
    pub(super) fn see(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(files.into_iter().map(|file| (file.clone(), stamp(&file))).collect())
    }

    /// Whether one of them has changed since it was last asked, and is there.
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
    fn an_edit_is_seen_once_and_a_file_that_is_away_for_a_moment_is_no_edit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("score.yaml");
        fs::write(&file, "one").unwrap();
        let mut files = Files::see([file.clone()]);
        assert!(!files.have_changed());
        fs::remove_file(&file).unwrap();
        assert!(!files.have_changed());
        fs::write(&file, "three").unwrap();
        assert!(files.have_changed());
        assert!(!files.have_changed());
    }
}
