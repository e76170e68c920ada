//! The installer and the documented command for the tarball, as users run them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use crate::{
    machine::Machine,
    release::{Release, TARGET, text},
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.to_string_lossy().into_owned()).collect()
}

fn succeeds(installed: &Output) {
    assert!(installed.status.success(), "{}", text(installed));
}

fn fails(refused: &Output, message: &str) {
    assert!(!refused.status.success() && text(refused).contains(message), "{}", text(refused));
}

/// Prefix with an earlier installation.
fn with_earlier(machine: &Machine) -> std::path::PathBuf {
    fs::create_dir_all(machine.prefix().join("bin")).unwrap();
    fs::create_dir_all(machine.prefix().join("share")).unwrap();
    fs::write(machine.prefix().join("bin/orchestra"), "earlier").unwrap();
    machine.prefix()
}

/// The earlier program is in place, alone.
fn is_untouched(prefix: &Path) {
    assert_eq!(fs::read_to_string(prefix.join("bin/orchestra")).unwrap(), "earlier");
    assert_eq!(names(&prefix.join("bin")), ["orchestra"]);
}

#[test]
fn the_installer_installs_for_all_users() {
    let release = Release::new();
    let machine = Machine::new(&release);
    succeeds(&machine.install());
    let program = machine.prefix().join("bin/orchestra");
    assert_eq!(text(&Command::new(&program).arg("up").output().unwrap()), "program up\n");
    assert_eq!(mode(&program), 0o755);
    for (path, expected) in [
        ("share/man/man1", 0o755),
        ("share/man/man1/orchestra-up.1", 0o644),
        ("share/bash-completion/completions/orchestra", 0o644),
        ("share/doc/orchestra/examples/hello/score.yaml", 0o644),
    ] {
        assert_eq!(mode(&machine.prefix().join(path)), expected, "{path}");
    }
    succeeds(&machine.install());
    assert_eq!(names(&machine.prefix().join("bin")), ["orchestra"]);
}

#[test]
fn a_release_is_downloaded_with_curl_or_wget() {
    for downloader in ["curl", "wget"] {
        let release = Release::new();
        let machine = Machine::new(&release).over_http();
        machine.lacks("curl");
        fails(&machine.install(), "neither curl nor wget is installed");
        machine.has(&[downloader]);
        succeeds(&machine.install());
        assert!(machine.prefix().join("bin/orchestra").exists(), "{downloader}");
    }
}

#[test]
fn a_download_that_fails_installs_nothing() {
    for downloader in ["curl", "wget"] {
        let release = Release::new();
        let machine = Machine::new(&release).over_http();
        machine.lacks("curl");
        machine.has(&[downloader]);
        fs::remove_file(release.tarball()).unwrap();
        fails(&machine.install(), "failed to download http://127.0.0.1:");
        assert!(!machine.prefix().exists(), "{downloader}");
    }
}

#[test]
fn the_checksum_is_verified_with_sha256sum_or_shasum() {
    let release = Release::new();
    let machine = Machine::new(&release);
    machine.lacks("sha256sum");
    fails(&machine.install(), "neither sha256sum nor shasum is installed");
    assert!(!machine.prefix().exists());
    machine.has(&["shasum"]);
    succeeds(&machine.install());
}

#[test]
fn the_build_is_that_of_the_machine_or_the_one_asked_for() {
    let release = Release::new();
    let machine = Machine::new(&release);
    let other = "has no build for aarch64-unknown-linux-musl, only: orchestra-";
    for (system, architecture, expected) in [
        ("Linux", "x86_64", None),
        ("Linux", "amd64", None),
        ("Linux", "aarch64", Some(other)),
        ("Linux", "arm64", Some(other)),
        ("Linux", "riscv64", Some("there is no build for riscv64, only for x86_64 and aarch64")),
        ("Darwin", "arm64", Some("there is no build for Darwin, only for Linux")),
    ] {
        machine.is(system, architecture);
        let installed = machine.install();
        match expected {
            None => succeeds(&installed),
            Some(message) => fails(&installed, message),
        }
    }
    succeeds(&machine.with_target(TARGET).install());
}

#[test]
fn a_modified_tarball_is_not_installed_even_with_matching_checksums() {
    let release = Release::new();
    let mut bytes = fs::read(release.tarball()).unwrap();
    bytes.push(0);
    fs::write(release.tarball(), bytes).unwrap();
    let sums = "cd \"$0\" && sha256sum *.tar.gz >SHA256SUMS";
    assert!(Command::new("sh").args(["-c", sums]).arg(release.files()).status().unwrap().success());
    let machine = Machine::new(&release);
    fails(&machine.install(), "checksum mismatch");
    assert!(!machine.prefix().exists());
}

#[test]
fn a_tarball_that_cannot_be_unpacked_installs_nothing() {
    let release = Release::new();
    let whole = fs::read(release.tarball()).unwrap();
    release.replace_tarball(&whole[..whole.len() / 2]);
    let machine = Machine::new(&release);
    fails(&machine.install(), "failed to unpack");
    assert!(!machine.prefix().exists());
}

#[test]
fn a_program_that_does_not_run_here_replaces_nothing() {
    let release = Release::new();
    release.replace_program("#!/bin/sh\nexit 1\n");
    let machine = Machine::new(&release);
    let prefix = with_earlier(&machine);
    fails(&machine.install(), "the build for x86_64-unknown-linux-musl does not run on this machine");
    is_untouched(&prefix);
    assert!(names(&prefix.join("share")).is_empty());
}

#[test]
fn an_installation_that_cannot_write_all_files_keeps_the_earlier_program() {
    let release = Release::new();
    let machine = Machine::new(&release);
    let prefix = with_earlier(&machine);
    fs::write(prefix.join("share/man"), "a file where a folder belongs").unwrap();
    fails(&machine.install(), "cannot write to");
    is_untouched(&prefix);
}

#[test]
fn the_documented_command_for_the_tarball_keeps_existing_folders_as_they_are() {
    let release = Release::new();
    let docs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/releases.md")).unwrap();
    let command = docs.split('`').find_map(|code| code.strip_prefix("sudo tar ")).unwrap();
    let prefix = release.folder().join("local");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::set_permissions(prefix.join("bin"), fs::Permissions::from_mode(0o2775)).unwrap();
    let command = command
        .replace("orchestra-VERSION-TARGET", &Release::name())
        .replace("/usr/local", prefix.to_str().unwrap());
    let unpacked = Command::new("tar").args(command.split(' ')).current_dir(release.files()).status();
    assert!(unpacked.unwrap().success(), "{command}");
    assert_eq!(mode(&prefix.join("bin")), 0o2775);
    assert_eq!(mode(&prefix.join("bin/orchestra")), 0o755);
}
