//! SHA-256 of release files.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::archive::Entry;

/// SHA-256 as 64 hexadecimal digits.
pub(super) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Checksums in the format that `sha256sum --check` reads, sorted by name.
pub(super) fn sums(files: &[Entry]) -> String {
    let mut lines: Vec<(&str, String)> =
        files.iter().map(|file| (file.path.as_str(), sha256(&file.content))).collect();
    lines.sort_unstable();
    let lines: Vec<String> = lines.into_iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_sha256sum() {
        let files = [Entry::file("b", "abc"), Entry::file("a", "")];
        assert_eq!(
            sums(&files),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n\
             ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
        );
    }
}
