//! Build facts for `orchestra version`: commit, commit date, target and compiler.
//!
//! `ORCHESTRA_COMMIT` and `SOURCE_DATE_EPOCH` of a release take precedence over git, which is used for optimised builds only:
//! a development build with its commit would be rebuilt after each one. A build outside git has no commit.

#![allow(clippy::print_stdout, reason = "cargo reads it")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Sources of the program, relative to the workspace.
const SOURCES: [&str; 4] = ["Cargo.lock", "Cargo.toml", "crates", "deploy"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["ORCHESTRA_COMMIT", "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    // Cargo calls every profile that inherits from `release` by that name.
    let optimised = given("PROFILE").is_some_and(|profile| profile == "release");
    let workspace = given("CARGO_MANIFEST_DIR").map(|folder| Path::new(&folder).join("../.."));
    let checkout = workspace.filter(|_| optimised).and_then(|folder| Checkout::at(&folder));
    let commit = given("ORCHESTRA_COMMIT").or_else(|| checkout.as_ref()?.commit());
    let date = given("SOURCE_DATE_EPOCH").or_else(|| checkout.as_ref()?.date());
    let compiler = given("RUSTC").and_then(|rustc| answer(&mut Command::new(rustc), &["--version"]));
    for path in checkout.iter().flat_map(Checkout::inputs) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for (name, value) in [
        ("ORCHESTRA_BUILD_COMMIT", commit),
        ("ORCHESTRA_BUILD_EPOCH", date),
        ("ORCHESTRA_BUILD_TARGET", given("TARGET")),
        ("ORCHESTRA_BUILD_RUSTC", compiler),
    ] {
        println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
    }
}

/// Git checkout of the workspace.
pub(crate) struct Checkout(PathBuf);

impl Checkout {
    /// Checkout with this top folder. `None` for sources inside another repository, whose commits are not theirs.
    pub(crate) fn at(workspace: &Path) -> Option<Self> {
        let checkout = Self(fs::canonicalize(workspace).ok()?);
        let top = fs::canonicalize(checkout.git(&["rev-parse", "--show-toplevel"])?).ok()?;
        (top == checkout.0).then_some(checkout)
    }

    /// Commit, with `-dirty` if the sources differ from it.
    pub(crate) fn commit(&self) -> Option<String> {
        let commit = self.git(&["rev-parse", "HEAD"])?;
        let status = [&["status", "--porcelain", "--"], SOURCES.as_slice()].concat();
        Some(if self.git(&status).is_some() { commit + "-dirty" } else { commit })
    }

    /// Commit date, in seconds since 1970.
    pub(crate) fn date(&self) -> Option<String> {
        self.git(&["show", "--no-patch", "--format=%ct", "HEAD"])
    }

    /// Files and folders that commit and date depend on.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        // Each commit and checkout adds a line to this file.
        let log = self.git(&["rev-parse", "--git-path", "logs/HEAD"]).map(|log| self.0.join(log));
        SOURCES.iter().map(|path| self.0.join(path)).chain(log).filter(|path| path.exists()).collect()
    }

    fn git(&self, arguments: &[&str]) -> Option<String> {
        answer(Command::new("git").current_dir(&self.0), arguments)
    }
}

/// Environment variable, unless it is empty.
fn given(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// First line of output of a successful command.
fn answer(program: &mut Command, arguments: &[&str]) -> Option<String> {
    let output = program.args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().filter(|line| output.status.success() && !line.is_empty()).map(str::to_owned)
}
