//! Files that an installation consists of, arranged as below a prefix such as `/usr/local`.

use std::{fs, path::Path};

use super::{
    archive::Entry,
    manual,
    release::{Release, git_in},
};
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
    files.extend(examples(&root())?);
    files.extend(manual::completions());
    files.extend(manual::man_pages(release)?);
    Ok(files)
}

/// Examples that git tracks: other files in their folder are not part of a release.
fn examples(root: &Path) -> Result<Vec<Entry>, String> {
    let names = git_in(root, &["ls-files", "examples"])?;
    names.lines().map(|name| Ok(Entry::file(format!("{DOC}/{name}"), read(&root.join(name))?))).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
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

    #[test]
    fn files_that_git_does_not_track_are_not_part_of_a_release() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("examples")).unwrap();
        for name in ["score.yaml", ".env"] {
            fs::write(root.path().join("examples").join(name), "text").unwrap();
        }
        git_in(root.path(), &["init", "--quiet"]).unwrap();
        git_in(root.path(), &["add", "examples/score.yaml"]).unwrap();
        let paths: Vec<_> = examples(root.path()).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["share/doc/orchestra/examples/score.yaml"]);
    }
}
