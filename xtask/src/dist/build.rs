//! The program of a release: the `dist` profile, for one target, without a trace of the machine that built it.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    contents::Contents,
    packages::{Metadata, Package},
    release::Release,
    target::Target,
};
use crate::root;

/// Builds the program and reads it. `packages` are those that it is built from.
pub(super) fn program(
    release: &Release,
    target: &Target,
    contents: Contents,
    metadata: &Metadata,
    packages: &[Package],
) -> Result<Vec<u8>, String> {
    let output = metadata.target_directory();
    let folders = Folders::of(packages, &output, &target.triple)?;
    let mut command = Command::new(env!("CARGO"));
    for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if changes_the_program(&name) {
            command.env_remove(name);
        }
    }
    let status = command
        .args([
            "build",
            "--locked",
            "--profile",
            "dist",
            "--package",
            "orchestra",
            "--target",
            &target.triple,
        ])
        .args(contents.cargo_arguments())
        .current_dir(root())
        .env("CARGO_ENCODED_RUSTFLAGS", folders.remapping().join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0")
        .env("ORCHESTRA_COMMIT", &release.commit)
        .env("SOURCE_DATE_EPOCH", release.epoch.to_string())
        .status()
        .map_err(|error| format!("failed to run cargo build: {error}"))?;
    if !status.success() {
        return Err(format!("failed to build for {}", target.triple));
    }
    let path = output.join(&target.triple).join("dist/orchestra");
    let program = fs::read(&path).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
    folders.check(&program)?;
    Ok(program)
}

/// True for a variable of the environment with which the same sources give other bytes. Those that select the compilers and the
/// linker of a target remain: docs/releases.md says which.
fn changes_the_program(name: &str) -> bool {
    let is_rust = ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"].contains(&name);
    let is_cargo = ["CARGO_PROFILE_", "CARGO_BUILD_", "CARGO_ENCODED_", "CARGO_INCREMENTAL"]
        .iter()
        .any(|beginning| name.starts_with(beginning));
    // For each target there may be one: `TARGET_CFLAGS`, `CFLAGS_x86_64_unknown_linux_musl`.
    let is_flags = ["CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "ARFLAGS"].iter().any(|flags| {
        name == *flags || name.ends_with(&format!("_{flags}")) || name.starts_with(&format!("{flags}_"))
    });
    // Flags of one target: `CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS`.
    is_rust
        || is_flags
        || (is_cargo && !["CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_JOBS"].contains(&name))
        || name.ends_with("_RUSTFLAGS")
}

/// Folders of this machine that a compiler sees.
struct Folders(Vec<Folder>);

struct Folder {
    path: PathBuf,
    /// Its replacement in the program.
    replacement: String,
    /// Names in the folder that the compiler reads from. A path alone may be something else: `/orchestra` begins REST paths,
    /// and `/src` is part of most paths of sources.
    below: BTreeSet<String>,
}

impl Folders {
    fn of(packages: &[Package], output: &Path, triple: &str) -> Result<Self, String> {
        let folder = |path: &Path, replacement: &str, below: &[&str]| Folder {
            path: path.to_path_buf(),
            replacement: replacement.to_owned(),
            below: below.iter().map(|name| (*name).to_owned()).collect(),
        };
        let mut folders =
            vec![folder(&root(), "/orchestra", &["crates"]), folder(output, "/target", &[triple, "dist"])];
        // The registry's folder carries a hash of its address; a mirror or vendored sources give another.
        let mut sources: BTreeMap<&Path, BTreeSet<String>> = BTreeMap::new();
        for package in packages.iter().filter(|package| !package.ours) {
            if let (Some(parent), Some(name)) = (package.folder.parent(), package.folder.file_name()) {
                sources.entry(parent).or_default().insert(name.to_string_lossy().into_owned());
            }
        }
        folders
            .extend(sources.into_iter().map(|(path, below)| Folder { below, ..folder(path, "/cargo", &[]) }));
        // With the component rust-src, the compiler names its own sources by their place on this machine.
        let library = sysroot()?.join("lib/rustlib/src/rust");
        let facts = rustc(&["--version", "--verbose"])?;
        let commit = facts.lines().find_map(|line| line.strip_prefix("commit-hash: ")).unwrap_or("unknown");
        folders.push(folder(&library, &format!("/rustc/{commit}"), &["library"]));
        Ok(Self(folders))
    }

    /// Compiler flags; of several that match, the compiler takes the last.
    fn remapping(&self) -> Vec<String> {
        let flag =
            |folder: &Folder| format!("--remap-path-prefix={}={}", folder.path.display(), folder.replacement);
        self.0.iter().map(flag).collect()
    }

    /// Fails if the program contains the path of a source: another machine would build other bytes.
    fn check(&self, program: &[u8]) -> Result<(), String> {
        // A folder that has the name of its replacement looks the same on every machine.
        let replaced = self.0.iter().filter(|folder| folder.path != Path::new(&folder.replacement));
        for folder in replaced {
            let prefix = format!("{}/", folder.path.display());
            if occurrences(program, prefix.as_bytes()).any(|rest| starts_below(rest, &folder.below)) {
                let path = folder.path.display();
                return Err(format!("not reproducible: the program contains paths below {path}"));
            }
        }
        Ok(())
    }
}

/// Remainder after each occurrence of a text.
fn occurrences<'a>(program: &'a [u8], text: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    (0..program.len()).filter_map(move |at| program[at..].strip_prefix(text))
}

/// True if a text begins with one of the names and a slash.
fn starts_below(text: &[u8], names: &BTreeSet<String>) -> bool {
    let end = text.iter().position(|byte| *byte == b'/');
    end.and_then(|end| str::from_utf8(&text[..end]).ok()).is_some_and(|name| names.contains(name))
}

/// Version of the compiler, such as `1.95.0`.
pub(super) fn rust_version() -> Result<String, String> {
    let text = rustc(&["--version"])?;
    text.split(' ')
        .nth(1)
        .map(str::to_owned)
        .ok_or_else(|| format!("failed to read the version {text:?} of rustc"))
}

/// Folder of the toolchain.
pub(super) fn sysroot() -> Result<PathBuf, String> {
    Ok(PathBuf::from(rustc(&["--print", "sysroot"])?))
}

fn rustc(arguments: &[&str]) -> Result<String, String> {
    let program = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|error| format!("failed to run rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &str, replacement: &str, below: &str) -> Folder {
        Folder { path: path.into(), replacement: replacement.into(), below: [below.to_owned()].into() }
    }

    fn folders() -> Folders {
        Folders(vec![
            folder("/home/me/orchestra", "/orchestra", "crates"),
            folder("/home/me/cargo", "/cargo", "serde-1.0.0"),
        ])
    }

    #[test]
    fn flags_and_wrappers_of_the_environment_do_not_reach_the_program() {
        for name in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_BUILD_RUSTC_WRAPPER",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS",
            "CARGO_PROFILE_DIST_OPT_LEVEL",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
            "CFLAGS",
            "TARGET_CFLAGS",
            "CFLAGS_x86_64_unknown_linux_musl",
            "x86_64_unknown_linux_musl_CFLAGS",
            "CXXFLAGS",
            "LDFLAGS",
        ] {
            assert!(changes_the_program(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "RUSTC",
            "RUSTUP_TOOLCHAIN",
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET_DIR",
            "CC_aarch64_unknown_linux_musl",
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER",
        ] {
            assert!(!changes_the_program(name), "{name}");
        }
    }

    #[test]
    fn folders_of_the_machine_are_replaced_by_fixed_names() {
        assert_eq!(
            folders().remapping(),
            [
                "--remap-path-prefix=/home/me/orchestra=/orchestra",
                "--remap-path-prefix=/home/me/cargo=/cargo"
            ]
        );
    }

    #[test]
    fn a_program_that_contains_a_path_of_the_machine_is_refused() {
        assert_eq!(folders().check(b"code /cargo/serde-1.0.0/src/lib.rs code"), Ok(()));
        let error = folders().check(b"code /home/me/cargo/serde-1.0.0/src/lib.rs code").unwrap_err();
        assert_eq!(error, "not reproducible: the program contains paths below /home/me/cargo");
    }

    #[test]
    fn a_checkout_may_be_in_any_folder() {
        let program =
            b"/cargo/serde-1.0.0/src/lib.rs /orchestra/v1 /orchestra/crates/cli/src/main.rs /src/crates.md";
        for checkout in ["/src", "/orchestra", "/orchestra/crate", "/crates", "/home/me"] {
            assert_eq!(
                Folders(vec![folder(checkout, "/orchestra", "crates")]).check(program),
                Ok(()),
                "{checkout}"
            );
        }
        let error =
            Folders(vec![folder("/src", "/orchestra", "crates")]).check(b"x/src/crates/cli/src/main.rs");
        assert!(error.is_err(), "a source that was not renamed");
    }
}
