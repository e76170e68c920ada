//! Identity of a release: version, commit and date. Every time stamp in its files is the date of the commit.

use std::{path::Path, process::Command};

use crate::root;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) version: String,
    pub(super) commit: String,
    /// Commit date, in seconds since 1970.
    pub(super) epoch: u64,
    /// Address of the repository, whose releases are downloaded.
    pub(super) repository: String,
}

impl Release {
    /// The release of the commit that is checked out. Uncommitted changes are refused unless allowed.
    pub(super) fn of_checkout(repository: String, allow_dirty: bool) -> Result<Self, String> {
        let mut commit = git(&["rev-parse", "HEAD"])?;
        if !git(&["status", "--porcelain"])?.is_empty() {
            if !allow_dirty {
                return Err("uncommitted changes; commit them, or use --allow-dirty".to_owned());
            }
            commit.push_str("-dirty");
        }
        let epoch = git(&["show", "--no-patch", "--format=%ct", "HEAD"])?;
        let epoch = epoch.parse().map_err(|_| format!("failed to read the commit date {epoch:?}"))?;
        Ok(Self { version: env!("CARGO_PKG_VERSION").to_owned(), commit, epoch, repository })
    }

    /// Commit date in UTC, such as `2026-03-21T09:00:00Z`.
    pub(super) fn date(&self) -> String {
        let seconds = i64::try_from(self.epoch).unwrap_or_default();
        jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
    }

    /// Fails unless the tag is the one of this version.
    pub(super) fn check_tag(&self, tag: &str) -> Result<(), String> {
        let expected = format!("v{}", self.version);
        if tag == expected {
            return Ok(());
        }
        Err(format!("tag {tag} does not match the workspace version; expected {expected}"))
    }

    #[cfg(test)]
    pub(super) fn sample() -> Self {
        Self {
            version: "1.2.3".to_owned(),
            commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            epoch: 1_774_083_600,
            repository: "https://example.org/orchestra".to_owned(),
        }
    }
}

/// Address of a repository, without a slash at the end. It goes into scripts, so only plain characters are accepted.
pub(super) fn repository(url: &str) -> Result<String, String> {
    let url = url.trim_end_matches('/');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/".contains(&byte);
    match url.strip_prefix("https://") {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') && rest.bytes().all(is_plain) => {
            Ok(url.to_owned())
        }
        _ => Err(format!("{url} is not a plain https:// URL; use one such as https://example.org/orchestra")),
    }
}

fn git(arguments: &[&str]) -> Result<String, String> {
    git_in(&root(), arguments)
}

/// Output of a git command in a folder.
pub(super) fn git_in(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("failed to run git: {error}"))?;
    if !output.status.success() {
        let cause = String::from_utf8_lossy(&output.stderr);
        return Err(format!("failed to run git {}: {}", arguments[0], cause.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_must_be_the_version_with_a_v() {
        assert_eq!(Release::sample().check_tag("v1.2.3"), Ok(()));
        for tag in ["1.2.3", "v1.2.4", "v1.2.3-rc.1"] {
            let error = Release::sample().check_tag(tag).unwrap_err();
            assert!(error.ends_with("expected v1.2.3"), "{error}");
        }
    }

    #[test]
    fn a_repository_is_a_plain_https_url() {
        assert_eq!(
            repository("https://example.org:8443/a/b/"),
            Ok("https://example.org:8443/a/b".to_owned())
        );
        for url in [
            "",
            "https://",
            "https:///a",
            "http://example.org/a",
            "git@example.org:a",
            "https://example.org/a b",
            "https://example.org/$(id)",
            "https://example.org/#{id}",
            "https://example.org/'a",
            "https://example.org/a\nb",
        ] {
            assert!(repository(url).is_err(), "{url}");
        }
    }

    #[test]
    fn the_date_is_that_of_the_commit_in_utc() {
        assert_eq!(Release::sample().date(), "2026-03-21T09:00:00Z");
    }
}
