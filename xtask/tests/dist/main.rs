//! `cargo xtask dist` as a release engineer runs it, and its files as users install them, around a program that is a script.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod files;
mod installer;
mod machine;
mod release;
mod repository;

use release::{dist, text};

#[test]
fn a_tagged_release_names_its_repository() {
    let tag = concat!("v", env!("CARGO_PKG_VERSION"));
    // Nothing is built, whatever happens.
    let nothing = ["--program", "/nowhere", "--image-program", "/nowhere", "--tag", tag];
    let error = text(&dist(&nothing));
    assert!(error.contains("use --repository"), "{error}");
    let error =
        text(&dist(&[nothing.as_slice(), &["--repository", "http://example.org/orchestra"]].concat()));
    assert!(error.contains("is not a plain https:// URL"), "{error}");
}
