//! Archives whose bytes follow from their contents: sorted entries, one time stamp, no owners, a fixed compression level.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// File of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Path from the root of the archive, with `/` between folders.
    pub(super) path: String,
    pub(super) content: Vec<u8>,
    pub(super) executable: bool,
}

impl Entry {
    pub(super) fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), executable: false }
    }

    pub(super) fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { executable: true, ..Self::file(path, content) }
    }

    /// The same file in a folder.
    pub(super) fn below(&self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self.clone() }
    }
}

/// Uncompressed tar archive of the files and the folders above them.
pub(super) fn tar(entries: &[Entry], epoch: u64) -> Result<Vec<u8>, String> {
    let mut files = BTreeMap::new();
    let mut folders = BTreeSet::new();
    for entry in entries {
        if files.insert(entry.path.as_str(), entry).is_some() {
            return Err(format!("duplicate path {} in an archive", entry.path));
        }
        folders.extend(entry.path.match_indices('/').map(|(end, _)| &entry.path[..=end]));
    }
    // A folder ends with a slash, and so sorts before its entries.
    let paths: BTreeSet<&str> = files.keys().copied().chain(folders).collect();
    let mut builder = Builder::new(Vec::new());
    for path in paths {
        let (kind, content, mode) = match files.get(path) {
            Some(entry) if entry.executable => (EntryType::Regular, entry.content.as_slice(), 0o755),
            Some(entry) => (EntryType::Regular, entry.content.as_slice(), 0o644),
            None => (EntryType::Directory, [].as_slice(), 0o755),
        };
        let mut header = Header::new_ustar();
        header.set_path(path).map_err(|error| format!("failed to archive {path}: {error}"))?;
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(epoch);
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, content).map_err(|error| format!("failed to archive {path}: {error}"))?;
    }
    builder.into_inner().map_err(|error| format!("failed to end an archive: {error}"))
}

/// gzip without a name and without a time stamp.
pub(super) fn gzip(content: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder
        .write_all(content)
        .and_then(|()| encoder.finish())
        .map_err(|error| format!("failed to compress: {error}"))
}

/// Compressed tar archive.
pub(super) fn tar_gz(entries: &[Entry], epoch: u64) -> Result<Vec<u8>, String> {
    gzip(&tar(entries, epoch)?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn entries() -> Vec<Entry> {
        vec![
            Entry::file("a/share/text", "text"),
            Entry::program("a/bin/program", "code"),
            Entry::file("b", ""),
        ]
    }

    #[test]
    fn the_order_in_which_files_are_given_does_not_change_a_byte() {
        let reversed: Vec<Entry> = entries().into_iter().rev().collect();
        assert_eq!(tar_gz(&entries(), 1_700_000_000), tar_gz(&reversed, 1_700_000_000));
    }

    #[test]
    fn entries_are_sorted_have_no_owner_and_one_time_stamp() {
        let bytes = tar(&entries(), 1_700_000_000).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            let header = entry.header();
            assert_eq!(
                (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()),
                (0, 0, 1_700_000_000)
            );
            assert_eq!((header.username().unwrap(), header.groupname().unwrap()), (Some(""), Some("")));
            let path = entry.path().unwrap().display().to_string();
            found.push(format!("{path} {:o} {content}", entry.header().mode().unwrap()));
        }
        assert_eq!(
            found,
            [
                "a/ 755 ",
                "a/bin/ 755 ",
                "a/bin/program 755 code",
                "a/share/ 755 ",
                "a/share/text 644 text",
                "b 644 "
            ]
        );
    }

    #[test]
    fn a_path_that_occurs_twice_is_refused() {
        let twice = [Entry::file("a", "1"), Entry::file("a", "2")];
        assert_eq!(tar(&twice, 0), Err("duplicate path a in an archive".to_owned()));
    }

    #[test]
    fn compressed_files_name_neither_a_time_nor_a_machine() {
        let bytes = gzip(b"text").unwrap();
        // Flags, time stamp (4 bytes), level, operating system (255: unknown).
        assert_eq!(bytes[3..10], [0, 0, 0, 0, 0, 2, 255]);
    }
}
