//! Files of a release that other programs read, checked by these programs where they are installed.

use std::{fs, io::ErrorKind, path::Path, process::Command};

use crate::release::{Release, text};

/// Output of a program, or nothing if this machine lacks it. It must succeed.
fn run(program: &str, arguments: &[&str], file: &Path) -> Option<String> {
    match Command::new(program).args(arguments).arg(file).output() {
        Ok(output) => {
            assert!(output.status.success(), "{program} {}: {}", file.display(), text(&output));
            Some(text(&output))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("{program}: {error}"),
    }
}

#[test]
fn the_formula_is_valid_ruby_and_has_what_homebrew_requires() {
    let release = Release::new();
    let formula = release.files().join("orchestra.rb");
    run("ruby", &["-c"], &formula);
    let formula = fs::read_to_string(formula).unwrap();
    let begins = |line: &&str| {
        let line = line.trim();
        ["class ", "def ", "if "].iter().any(|word| line.starts_with(word)) || line.ends_with(" do")
    };
    let ends = formula.lines().filter(|line| line.trim() == "end").count();
    assert_eq!(formula.lines().filter(begins).count(), ends, "{formula}");
    for required in ["class Orchestra < Formula", "  url \"", "  sha256 \"", "  homepage \"", "  license \""]
    {
        assert!(formula.contains(required), "{required} is not in\n{formula}");
    }
    assert!(!formula.contains("@VERSION@"), "{formula}");
}

#[test]
fn the_completion_of_fish_is_valid_and_completes_orchestra() {
    let release = Release::new();
    let unpacked =
        Command::new("tar").arg("-xzf").arg(release.tarball()).current_dir(release.folder()).status();
    assert!(unpacked.unwrap().success());
    let script =
        release.folder().join(Release::name()).join("share/fish/vendor_completions.d/orchestra.fish");
    run("fish", &["--no-execute"], &script);
    let script = fs::read_to_string(script).unwrap();
    let completes = script.lines().filter(|line| line.starts_with("complete -c orchestra ")).count();
    assert!(completes > 50, "{completes} completions");
    for line in script.lines().filter(|line| line.starts_with("complete ")) {
        let quotes = line.replace("\\'", "").matches('\'').count();
        assert_eq!(quotes % 2, 0, "{line}");
    }
}

#[test]
fn the_debian_package_is_named_after_its_fields() {
    let release = Release::new();
    let version = env!("CARGO_PKG_VERSION");
    let package = release.files().join(format!("orchestra_{version}_amd64.deb"));
    assert!(package.exists(), "{}", package.display());
    if let Some(fields) = run("dpkg-deb", &["--field"], &package) {
        // Debian orders pre-releases by `~`, which is no character of a release file.
        for field in [
            "Package: orchestra",
            "Architecture: amd64",
            &format!("Version: {}", version.replacen('-', "~", 1)),
        ] {
            assert!(fields.lines().any(|line| line == field), "{field} is not in\n{fields}");
        }
    }
}
