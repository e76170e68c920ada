//! The program of a release: the `dist` profile, for one target, without a trace of the machine that built it.

use std::{
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
    let folders = Folders::of(packages, &output)?;
    let status = Command::new(env!("CARGO"))
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
        .env_remove("RUSTFLAGS")
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

/// Folders of this machine that a compiler sees, and what takes their place in the program.
struct Folders(Vec<(PathBuf, String)>);

impl Folders {
    fn of(packages: &[Package], output: &Path) -> Result<Self, String> {
        let mut folders =
            vec![(root(), "/orchestra".to_owned()), (output.to_path_buf(), "/target".to_owned())];
        // The registry's folder carries a hash of its address; a mirror or vendored sources give another.
        let mut sources: Vec<PathBuf> = packages
            .iter()
            .filter(|package| !package.ours)
            .filter_map(|package| package.folder.parent().map(Path::to_path_buf))
            .collect();
        sources.sort_unstable();
        sources.dedup();
        folders.extend(sources.into_iter().map(|folder| (folder, "/cargo".to_owned())));
        // With the component rust-src, the compiler names its own sources by their place on this machine.
        let library = Path::new(&rustc(&["--print", "sysroot"])?).join("lib/rustlib/src/rust");
        let facts = rustc(&["--version", "--verbose"])?;
        let commit = facts.lines().find_map(|line| line.strip_prefix("commit-hash: ")).unwrap_or("unknown");
        folders.push((library, format!("/rustc/{commit}")));
        Ok(Self(folders))
    }

    /// Compiler flags; of several that match, the compiler takes the last.
    fn remapping(&self) -> Vec<String> {
        let flag = |(from, to): &(PathBuf, String)| format!("--remap-path-prefix={}={to}", from.display());
        self.0.iter().map(flag).collect()
    }

    /// Fails if the program contains the name of a folder: another machine would build other bytes.
    fn check(&self, program: &[u8]) -> Result<(), String> {
        let contains = |text: &str| program.windows(text.len()).any(|part| part == text.as_bytes());
        match self.0.iter().map(|(folder, _)| folder.display().to_string()).find(|folder| contains(folder)) {
            Some(folder) => Err(format!("not reproducible: the program contains the path {folder}")),
            None => Ok(()),
        }
    }
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

    fn folders() -> Folders {
        Folders(vec![
            ("/home/me/orchestra".into(), "/orchestra".into()),
            ("/home/me/cargo".into(), "/cargo".into()),
        ])
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
        assert_eq!(folders().check(b"code /cargo/serde code"), Ok(()));
        let error = folders().check(b"code /home/me/cargo/serde code").unwrap_err();
        assert_eq!(error, "not reproducible: the program contains the path /home/me/cargo");
    }
}
