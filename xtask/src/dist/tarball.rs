//! Files that an installation consists of, arranged as below a prefix such as `/usr/local`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{archive::Entry, manual, release::Release};
use crate::root;

const DOC: &str = "share/doc/orchestra";

/// Files of an installation: program, completions, man pages, licences, bill of materials, examples.
pub(super) fn files(
    release: &Release,
    program: &[u8],
    licences: &str,
    sbom: &str,
) -> Result<Vec<Entry>, String> {
    let mut files = vec![
        Entry::program("bin/orchestra", program),
        Entry::file(format!("{DOC}/THIRD-PARTY-LICENCES.txt"), licences),
        Entry::file(format!("{DOC}/sbom.cdx.json"), sbom),
    ];
    for name in ["LICENSE", "CHANGELOG.md"] {
        files.push(Entry::file(format!("{DOC}/{name}"), read(&root().join(name))?));
    }
    for path in below(&root().join("examples"))? {
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        files.push(Entry::file(format!("{DOC}/{name}"), read(&path)?));
    }
    files.extend(manual::completions());
    files.extend(manual::man_pages(release)?);
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
}

/// All files below a folder.
fn below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("failed to read {}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            found.extend(below(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_has_program_completions_manual_licences_and_examples() {
        let files = files(&Release::sample(), b"code", "licences", "{}").unwrap();
        for (path, executable) in [
            ("bin/orchestra", true),
            ("share/bash-completion/completions/orchestra", false),
            ("share/man/man1/orchestra.1", false),
            ("share/doc/orchestra/LICENSE", false),
            ("share/doc/orchestra/THIRD-PARTY-LICENCES.txt", false),
            ("share/doc/orchestra/sbom.cdx.json", false),
            ("share/doc/orchestra/examples/hello/score.yaml", false),
        ] {
            let file = files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("no {path}"));
            assert_eq!(file.executable, executable, "{path}");
            assert!(!file.content.is_empty(), "{path}");
        }
    }
}
