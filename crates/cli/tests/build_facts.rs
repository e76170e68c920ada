//! Commit of optimised builds, as `build.rs` finds it.

use std::{fs, path::Path, process::Command};

#[allow(dead_code, reason = "`main` is for cargo")]
#[path = "../build.rs"]
mod build;

use build::Checkout;

/// Runs git, and panics if it fails.
fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let status = Command::new("git").current_dir(folder).args(identity).args(arguments).status().unwrap();
    assert!(status.success(), "git {arguments:?}");
}

/// Git repository with one committed source.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("vendor/orchestra/crates")).unwrap();
    fs::create_dir(folder.path().join("crates")).unwrap();
    fs::write(folder.path().join("crates/main.rs"), "fn main() {}").unwrap();
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "--message", "first"]);
    folder
}

#[test]
fn a_build_from_a_checkout_has_its_commit_and_date() {
    let folder = checkout();
    let checkout = Checkout::at(folder.path()).unwrap();
    assert_eq!(checkout.commit().unwrap().len(), 40);
    assert!(checkout.date().unwrap().parse::<u64>().is_ok());
    assert!(checkout.inputs().iter().any(|path| path.ends_with("logs/HEAD")));
}

#[test]
fn changed_sources_mark_the_commit_and_other_files_do_not() {
    let folder = checkout();
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    assert!(!Checkout::at(folder.path()).unwrap().commit().unwrap().ends_with("-dirty"));
    fs::write(folder.path().join("crates/new.rs"), "").unwrap();
    assert!(Checkout::at(folder.path()).unwrap().commit().unwrap().ends_with("-dirty"));
}

#[test]
fn sources_inside_of_another_repository_have_no_commit() {
    let folder = checkout();
    assert!(Checkout::at(&folder.path().join("vendor/orchestra")).is_none());
}
