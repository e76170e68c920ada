//! Debian package: an `ar` archive of a format number, metadata and files.

use super::{
    archive::{self, Entry},
    release::Release,
    target::Target,
    templates::filled,
};

/// Package of a static program. `files` are those of the tarball, which go below `/usr`.
pub(super) fn package(release: &Release, target: &Target, files: &[Entry]) -> Result<Vec<u8>, String> {
    let data = data(release, files)?;
    let size: usize = data.iter().map(|entry| entry.content.len().div_ceil(1024)).sum();
    let control = control(release, target, size)?;
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", archive::tar_gz(&[Entry::file("control", control)], release.epoch)?),
        ("data.tar.gz", archive::tar_gz(&data, release.epoch)?),
    ];
    Ok(ar(&members, release.epoch))
}

/// Metadata of the package; `size` is in KiB.
fn control(release: &Release, target: &Target, size: usize) -> Result<String, String> {
    filled(
        "debian/control",
        &[
            ("VERSION", &version(&release.version)),
            ("ARCHITECTURE", target.architecture),
            ("INSTALLED_SIZE", &size.to_string()),
            ("REPOSITORY", &release.repository),
        ],
    )
}

/// Files as Debian's policy has them: compressed man pages and changelog, a copyright file.
fn data(release: &Release, files: &[Entry]) -> Result<Vec<Entry>, String> {
    const DOC: &str = "usr/share/doc/orchestra";
    let mut data = Vec::new();
    for file in files {
        let mut file = file.below("usr");
        if file.path.starts_with("usr/share/man/") {
            file = Entry::file(format!("{}.gz", file.path), archive::gzip(&file.content)?);
        } else if file.path == format!("{DOC}/CHANGELOG.md") {
            file = Entry::file(format!("{DOC}/changelog.gz"), archive::gzip(&file.content)?);
        } else if file.path.contains("/site-functions/") {
            file.path = file.path.replace("/site-functions/", "/vendor-completions/");
        } else if file.path == format!("{DOC}/LICENSE") {
            continue;
        }
        data.push(file);
    }
    let copyright = filled("debian/copyright", &[("REPOSITORY", &release.repository)])?;
    data.push(Entry::file(format!("{DOC}/copyright"), copyright));
    Ok(data)
}

/// Version in Debian's order, in which `~` stands before the end: `1.0.0-rc.1` is older than `1.0.0`.
fn version(semantic: &str) -> String {
    semantic.replacen('-', "~", 1)
}

/// The `ar` format with names of at most 15 characters.
fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let header = format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len());
        bytes.extend(header.bytes());
        bytes.extend(content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_an_archive_begin_at_even_offsets() {
        let bytes = ar(&[("odd", b"abc".to_vec()), ("even", b"abcd".to_vec())], 7);
        let text = String::from_utf8(bytes).unwrap();
        let header =
            |name: &str, size: u8| format!("{name:<16}7           0     0     100644  {size:<10}`\n");
        assert_eq!(text, format!("!<arch>\n{}abc\n{}abcd", header("odd", 3), header("even", 4)));
    }

    #[test]
    fn a_release_candidate_is_older_than_its_release() {
        assert_eq!(version("1.0.0-rc.1"), "1.0.0~rc.1");
        assert_eq!(version("1.0.0"), "1.0.0");
    }

    #[test]
    fn files_are_where_debian_expects_them() {
        let files = [
            Entry::program("bin/orchestra", "code"),
            Entry::file("share/man/man1/orchestra.1", "page"),
            Entry::file("share/zsh/site-functions/_orchestra", "script"),
            Entry::file("share/doc/orchestra/CHANGELOG.md", "changes"),
            Entry::file("share/doc/orchestra/LICENSE", "text"),
        ];
        let data = data(&Release::sample(), &files).unwrap();
        let paths: Vec<&str> = data.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "usr/bin/orchestra",
                "usr/share/man/man1/orchestra.1.gz",
                "usr/share/zsh/vendor-completions/_orchestra",
                "usr/share/doc/orchestra/changelog.gz",
                "usr/share/doc/orchestra/copyright",
            ]
        );
    }

    #[test]
    fn the_control_file_names_version_architecture_and_size() {
        let target = Target::parse("aarch64-unknown-linux-musl").unwrap();
        let control = control(&Release::sample(), &target, 42).unwrap();
        for line in ["Version: 1.2.3", "Architecture: arm64", "Installed-Size: 42"] {
            assert!(control.lines().any(|found| found == line), "{line} is not in\n{control}");
        }
    }

    #[test]
    fn a_package_has_its_format_first_and_the_same_bytes_each_time() {
        let target = Target::parse("x86_64-unknown-linux-musl").unwrap();
        let build =
            || package(&Release::sample(), &target, &[Entry::program("bin/orchestra", "code")]).unwrap();
        assert!(build().starts_with(b"!<arch>\ndebian-binary   "));
        assert_eq!(build(), build());
    }
}
