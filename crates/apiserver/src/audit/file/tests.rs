use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn options(folder: &Path, max_files: usize) -> FileOptions {
    FileOptions { path: folder.join("audit.log"), max_bytes: 20, max_files }
}

/// Names and contents of the files of a folder.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

fn named(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn full_files_are_renamed_and_the_oldest_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = RotatedFile::open(options(folder.path(), 3)).unwrap();
    for line in [
        "first 10\n",
        "second 10\n",
        "third 10\n",
        "fourth 10\n",
        "fifth 10\n",
        "a line longer than a file\n",
    ] {
        file.write(line.as_bytes()).unwrap();
    }
    let expected = named(&[
        ("audit.log", "a line longer than a file\n"),
        ("audit.log.1", "fifth 10\n"),
        ("audit.log.2", "third 10\nfourth 10\n"),
    ]);
    assert_eq!(contents(folder.path()), expected);
    let mode = fs::metadata(folder.path().join("audit.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn one_file_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = RotatedFile::open(options(folder.path(), 1)).unwrap();
    for line in ["one of fifteen\n", "two of fifteen\n"] {
        file.write(line.as_bytes()).unwrap();
    }
    assert_eq!(contents(folder.path()), named(&[("audit.log", "two of fifteen\n")]));
}

#[test]
fn a_file_that_others_move_or_remove_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let mut file = RotatedFile::open(options(folder.path(), 3)).unwrap();
    file.write(b"1\n").unwrap();
    fs::rename(&path, folder.path().join("moved")).unwrap();
    file.write(b"2\n").unwrap();
    fs::remove_file(&path).unwrap();
    file.write(b"3\n").unwrap();
    assert_eq!(contents(folder.path()), named(&[("audit.log", "3\n"), ("moved", "1\n")]));
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    file.write(b"4\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "4\n");
}

#[test]
fn links_and_pipes_are_refused_also_later() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("audit.log"), folder.path().join("target"));
    fs::write(&target, "precious").unwrap();
    symlink(&target, &path).unwrap();
    let error = RotatedFile::open(options(folder.path(), 3)).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    fs::remove_file(&path).unwrap();
    let mut file = RotatedFile::open(options(folder.path(), 3)).unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&target, &path).unwrap();
    let (written, error) = file.write(b"1\n").unwrap_err();
    assert!(written == 0 && error.to_string().contains("symbolic link"), "{error}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    fs::remove_file(&path).unwrap();
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(RotatedFile::open(options(folder.path(), 3)).is_err());
}

#[test]
fn a_line_after_a_torn_one_begins_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("audit.log"), "{\"kind\":").unwrap();
    let mut file = RotatedFile::open(options(folder.path(), 3)).unwrap();
    file.write(b"{}\n").unwrap();
    file.write(b"[]\n").unwrap();
    assert_eq!(contents(folder.path()), named(&[("audit.log", "{\"kind\":\n{}\n[]\n")]));
}
