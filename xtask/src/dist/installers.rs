//! Files that download and install a tarball: the shell script and the Homebrew formula.

use super::{
    archive::Entry,
    digest::{sha256, sums},
    release::Release,
    target::Target,
    templates::filled,
};

/// Name of a tarball without its extension, and of the folder in it.
pub(super) fn tarball_name(release: &Release, target: &Target) -> String {
    format!("orchestra-{}-{}", release.version, target.triple)
}

/// `install.sh` of this version. It contains the checksums: what it downloads is as trustworthy as the script itself.
pub(super) fn script(release: &Release, tarballs: &[(&Target, &Entry)]) -> Result<Entry, String> {
    let tarballs: Vec<Entry> = tarballs.iter().map(|(_, tarball)| (*tarball).clone()).collect();
    let checksums = sums(&tarballs);
    let values = [
        ("VERSION", release.version.as_str()),
        ("REPOSITORY", &release.repository),
        ("CHECKSUMS", checksums.trim_end()),
    ];
    Ok(Entry::program("install.sh", filled("install.sh", &values)?))
}

/// Homebrew formula of the static tarballs, if there are any.
pub(super) fn formula(release: &Release, tarballs: &[(&Target, &Entry)]) -> Result<Option<Entry>, String> {
    let downloads: Vec<String> = tarballs
        .iter()
        .filter(|(target, _)| target.is_static)
        .map(|(target, tarball)| download(release, target, tarball))
        .collect();
    if downloads.is_empty() {
        return Ok(None);
    }
    let values = [
        ("VERSION", release.version.as_str()),
        ("REPOSITORY", &release.repository),
        ("DOWNLOADS", &downloads.join("\n\n")),
    ];
    Ok(Some(Entry::file("orchestra.rb", filled("orchestra.rb", &values)?)))
}

/// Block of the formula for one architecture.
fn download(release: &Release, target: &Target, tarball: &Entry) -> String {
    let block = if target.architecture == "arm64" { "on_arm" } else { "on_intel" };
    format!(
        "  {block} do\n    url \"{}/releases/download/v{}/{}\"\n    sha256 \"{}\"\n  end",
        release.repository,
        release.version,
        tarball.path,
        sha256(&tarball.content)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_downloads_this_version_from_the_repository_with_its_checksums() {
        let target = Target::parse("x86_64-unknown-linux-musl").unwrap();
        let script =
            script(&Release::sample(), &[(&target, &Entry::file("orchestra.tar.gz", "abc"))]).unwrap();
        let text = String::from_utf8(script.content).unwrap();
        assert!(script.executable && text.starts_with("#!/bin/sh\n"));
        let checksum = format!("\n{}  orchestra.tar.gz\n", sha256(b"abc"));
        for line in ["\nversion='1.2.3'\n", "\nrepository='https://example.org/orchestra'\n", &checksum] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn the_formula_has_url_and_checksum_of_each_static_tarball() {
        let [intel, arm, other] =
            ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "x86_64-unknown-linux-gnu"]
                .map(|triple| Target::parse(triple).unwrap());
        let tarball = Entry::file("orchestra.tar.gz", "abc");
        let tarballs = [(&intel, &tarball), (&arm, &tarball), (&other, &tarball)];
        let formula = formula(&Release::sample(), &tarballs).unwrap().unwrap();
        let text = String::from_utf8(formula.content).unwrap();
        assert_eq!(
            text.matches("https://example.org/orchestra/releases/download/v1.2.3/orchestra.tar.gz").count(),
            2
        );
        assert_eq!(text.matches(&sha256(b"abc")).count(), 2);
        assert!(text.contains("on_intel do") && text.contains("on_arm do"), "{text}");
    }

    #[test]
    fn there_is_no_formula_without_a_static_tarball() {
        let target = Target::parse("x86_64-unknown-linux-gnu").unwrap();
        let tarballs = [(&target, &Entry::file("orchestra.tar.gz", "abc"))];
        assert_eq!(formula(&Release::sample(), &tarballs), Ok(None));
    }
}
