//! Build facts for `orchestra version`: commit, commit date, target and compiler.
//!
//! `ORCHESTRA_COMMIT` and `SOURCE_DATE_EPOCH` win, as a release sets them. Otherwise git answers, for optimised builds only:
//! a development build that names its commit would be rebuilt after each one. A build outside of git has no commit.

#![allow(clippy::print_stdout, reason = "cargo reads it")]

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["ORCHESTRA_COMMIT", "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    // Cargo calls every profile that inherits from `release` by that name.
    let optimised = given("PROFILE").is_some_and(|profile| profile == "release");
    let git = |arguments: &[&str]| if optimised { answer("git", arguments) } else { None };
    let commit = given("ORCHESTRA_COMMIT").or_else(|| git(&["rev-parse", "HEAD"]));
    let date = given("SOURCE_DATE_EPOCH").or_else(|| git(&["show", "--no-patch", "--format=%ct", "HEAD"]));
    let compiler = given("RUSTC").and_then(|rustc| answer(&rustc, &["--version"]));
    // Each commit and checkout adds a line to this file.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
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

/// An environment variable that is set and not empty.
fn given(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The first line that a command prints, if it succeeds.
fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().filter(|line| output.status.success() && !line.is_empty()).map(str::to_owned)
}
