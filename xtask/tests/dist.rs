//! `cargo xtask dist` as a release engineer runs it, and its installer as users do, around a program that is a script.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

fn dist(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["dist", "--allow-dirty"])
        .args(arguments)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Release in a folder, beside an empty prefix.
struct Release(TempDir);

impl Release {
    fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "#!/bin/sh\necho \"program $*\"\n").unwrap();
        let (program, out) = (program.to_str().unwrap(), folder.path().join("release"));
        let made = dist(&["--program", program, "--image-program", program, "--out", out.to_str().unwrap()]);
        assert!(made.status.success(), "{}", text(&made));
        Self(folder)
    }

    fn files(&self) -> PathBuf {
        self.0.path().join("release")
    }

    fn tarball(&self) -> PathBuf {
        let is_tarball = |path: &PathBuf| path.to_string_lossy().ends_with(".tar.gz");
        fs::read_dir(self.files()).unwrap().map(|entry| entry.unwrap().path()).find(is_tarball).unwrap()
    }

    fn prefix(&self) -> PathBuf {
        self.0.path().join("prefix")
    }

    /// Runs the installer as a user whose files are private.
    fn install(&self) -> Output {
        Command::new("sh")
            .args(["-c", "umask 077; sh \"$0/install.sh\""])
            .arg(self.files())
            .env("ORCHESTRA_BASE_URL", format!("file://{}", self.files().display()))
            .env("PREFIX", self.prefix())
            .output()
            .unwrap()
    }
}

#[test]
fn the_installer_installs_for_all_users() {
    let release = Release::make();
    let installed = release.install();
    assert!(installed.status.success(), "{}", text(&installed));
    let program = release.prefix().join("bin/orchestra");
    assert_eq!(text(&Command::new(&program).arg("up").output().unwrap()), "program up\n");
    assert_eq!(mode(&program), 0o755);
    for (path, expected) in [
        ("share/man/man1", 0o755),
        ("share/man/man1/orchestra-up.1", 0o644),
        ("share/bash-completion/completions/orchestra", 0o644),
        ("share/doc/orchestra/examples/hello/score.yaml", 0o644),
    ] {
        assert_eq!(mode(&release.prefix().join(path)), expected, "{path}");
    }
    assert!(release.install().status.success(), "once more");
}

#[test]
fn a_modified_tarball_is_not_installed_even_with_matching_checksums() {
    let release = Release::make();
    let mut bytes = fs::read(release.tarball()).unwrap();
    bytes.push(0);
    fs::write(release.tarball(), bytes).unwrap();
    let sums = "cd \"$0\" && sha256sum *.tar.gz >SHA256SUMS";
    assert!(Command::new("sh").args(["-c", sums]).arg(release.files()).status().unwrap().success());
    let refused = release.install();
    assert!(!refused.status.success() && text(&refused).contains("checksum mismatch"), "{}", text(&refused));
    assert!(!release.prefix().exists());
}

#[test]
fn a_program_that_does_not_run_here_replaces_nothing() {
    let release = Release::make();
    assert!(release.install().status.success());
    let program = release.prefix().join("bin/orchestra");
    fs::write(&program, "earlier").unwrap();
    // Temporary location of the new program.
    fs::create_dir(release.prefix().join("bin/.orchestra.new")).unwrap();
    assert!(!release.install().status.success());
    assert_eq!(fs::read_to_string(&program).unwrap(), "earlier");
}

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
