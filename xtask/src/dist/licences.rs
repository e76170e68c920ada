//! Licence texts of everything that is linked into a program, as its licences ask for.
//!
//! A package that ships no text gets the standard text of its licence from `deploy/dist/licences`; one that has neither
//! fails the release.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{packages::Package, rust_std::Notices, target::Target};
use crate::root;

/// Beginnings of the names of licence files, in upper case.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Folders of nothing that is linked.
const OTHER_FOLDERS: &[&str] = &["tests", "test", "benches", "examples", "fuzz", "target"];

/// Texts that the repository keeps.
const STORED: &str = "deploy/dist/licences";

/// Owner of the texts of the standard library.
const RUST_STD: &str = "The Rust standard library (MIT OR Apache-2.0)";

/// Licence texts, each once, with the packages that it belongs to.
type Texts = BTreeMap<String, BTreeSet<String>>;

/// The file of third-party licences of a program.
pub(super) fn document(packages: &[Package], target: &Target) -> Result<String, String> {
    let stored = |name: &str| fs::read_to_string(root().join(STORED).join(format!("{name}.txt"))).ok();
    let mut texts = collect(packages, &read_folder, &stored)?;
    // Linked into every Rust program, and no package of the dependency tree.
    let mut linked = vec![("rust-std", RUST_STD)];
    if target.is_static {
        linked.push(("musl", "musl libc (MIT)"));
    }
    for (name, owner) in linked {
        let text = stored(name).ok_or_else(|| format!("{STORED}/{name}.txt is missing"))?;
        texts.entry(normalised(&text)).or_default().insert(owner.to_owned());
    }
    let notices = Notices::load()?;
    for text in notices.own {
        texts.entry(normalised(&text)).or_default().insert(RUST_STD.to_owned());
    }
    for package in notices.packages {
        let (name, version, licence) = (package.name, package.version, package.licence);
        for text in package.texts {
            let owner = format!("{name} {version} ({licence}), for the Rust standard library");
            texts.entry(normalised(&text)).or_default().insert(owner);
        }
    }
    Ok(render(&texts))
}

/// Texts of all packages that are not ours. Lists every package without one.
fn collect(
    packages: &[Package],
    read: &dyn Fn(&Package) -> Result<Vec<String>, String>,
    stored: &dyn Fn(&str) -> Option<String>,
) -> Result<Texts, String> {
    let (mut texts, mut missing) = (Texts::new(), Vec::new());
    for package in packages.iter().filter(|package| !package.ours) {
        let (name, version) = &package.id;
        let owner = format!("{name} {version} ({})", package.licence);
        let mut found = read(package)?;
        if found.is_empty() {
            found = standard(&package.licence, stored).unwrap_or_default();
        }
        if found.is_empty() {
            missing.push(owner.clone());
        }
        for text in found {
            texts.entry(normalised(&text)).or_default().insert(owner.clone());
        }
    }
    if missing.is_empty() {
        Ok(texts)
    } else {
        Err(format!("no licence text for {}; add the standard text to {STORED}", missing.join(", ")))
    }
}

/// Licence files of a package: also those below its top folder, of code that it took over from elsewhere.
fn read_folder(package: &Package) -> Result<Vec<String>, String> {
    let mut paths = BTreeSet::new();
    find(&package.folder, false, &mut paths)?;
    paths.extend(package.licence_file.iter().map(|name| package.folder.join(name)));
    let read = |path: PathBuf| match fs::read(&path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(failed(&path, &error)),
    };
    paths.into_iter().map(read).collect()
}

/// Adds the licence files below a folder. All files are licences `among_licences`, as in the `LICENSES` of the REUSE layout.
fn find(folder: &Path, among_licences: bool, found: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let entry = entry.map_err(|error| failed(folder, &error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(|error| failed(folder, &error))?;
        if kind.is_dir() {
            if !name.starts_with('.') && !OTHER_FOLDERS.contains(&name.as_str()) {
                let is_collection = ["LICENSES", "LICENCES"].contains(&name.to_uppercase().as_str());
                find(&entry.path(), is_collection, found)?;
            }
        } else if (among_licences || is_licence(&name)) && entry.path().is_file() {
            found.insert(entry.path());
        }
    }
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("failed to read {}: {error}", path.display())
}

fn is_licence(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    let is_source =
        extension.is_some_and(|extension| ["rs", "c", "h", "py", "sh", "toml"].contains(&extension));
    let name = name.to_uppercase();
    !is_source && NAMES.iter().any(|beginning| name.starts_with(beginning))
}

/// Standard texts that satisfy an SPDX expression: of alternatives the first that is stored.
fn standard(expression: &str, stored: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let alternatives =
        |part: &str| part.split(" OR ").find_map(|licence| stored(licence.trim_matches(['(', ')', ' '])));
    expression.split(" AND ").map(alternatives).collect()
}

/// The text without differences that do not show: line ends, space at the end of lines, empty lines around it.
fn normalised(text: &str) -> String {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

fn render(texts: &Texts) -> String {
    // Sorted by packages, as readers look for those.
    let mut sections: Vec<_> = texts.iter().map(|(text, owners)| (owners, text)).collect();
    sections.sort_unstable();
    let rule = "=".repeat(80);
    let title = "Licences of the third-party software in orchestra\n".to_owned();
    let section = |(owners, text): (&BTreeSet<String>, &String)| {
        let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
        format!("\n{rule}\n{}\n{rule}\n\n{text}\n", owners.join("\n"))
    };
    let parts: Vec<String> = std::iter::once(title).chain(sections.into_iter().map(section)).collect();
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::{contents::Contents, packages::Metadata};

    fn package(name: &str, licence: &str) -> Package {
        Package {
            id: (name.to_owned(), "1.0.0".to_owned()),
            licence: licence.to_owned(),
            licence_file: None,
            folder: name.into(),
            ours: false,
            needs: BTreeSet::new(),
        }
    }

    /// Only `shipped` ships a text; only the text of MIT is stored.
    fn collected(packages: &[Package]) -> Result<Texts, String> {
        let read = |package: &Package| {
            Ok(if package.id.0.starts_with("shipped") { vec!["Own text \r\n".to_owned()] } else { vec![] })
        };
        collect(packages, &read, &|name| (name == "MIT").then(|| "Standard text".to_owned()))
    }

    #[test]
    fn equal_texts_are_kept_once_with_all_their_packages() {
        let texts = collected(&[package("shipped-a", "MIT"), package("shipped-b", "MIT")]).unwrap();
        let owners: Vec<_> = texts["Own text"].iter().map(String::as_str).collect();
        assert_eq!((texts.len(), owners), (1, vec!["shipped-a 1.0.0 (MIT)", "shipped-b 1.0.0 (MIT)"]));
    }

    #[test]
    fn a_package_without_a_text_gets_the_standard_text_of_its_licence() {
        for licence in ["MIT", "Zlib OR MIT", "(Zlib OR MIT) AND MIT"] {
            assert!(
                collected(&[package("bare", licence)]).unwrap().contains_key("Standard text"),
                "{licence}"
            );
        }
    }

    #[test]
    fn packages_without_any_text_are_all_listed() {
        let error =
            collected(&[package("one", "Zlib"), package("two", "MIT AND Zlib"), package("shipped", "Zlib")]);
        assert_eq!(
            error.unwrap_err(),
            "no licence text for one 1.0.0 (Zlib), two 1.0.0 (MIT AND Zlib); \
             add the standard text to deploy/dist/licences"
        );
    }

    #[test]
    fn files_with_the_usual_names_are_licences_and_source_is_not() {
        for name in ["LICENSE", "LICENSE-MIT", "license.md", "Copying", "NOTICE", "UNLICENSE", "LICENCE.txt"]
        {
            assert!(is_licence(name), "{name}");
        }
        for name in ["license.rs", "README.md", "src"] {
            assert!(!is_licence(name), "{name}");
        }
    }

    #[test]
    fn licences_of_code_that_a_package_took_over_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "LICENSE-MIT",
            "src/polyfill/once_cell/LICENSE-APACHE",
            "third_party/fiat/LICENSE",
            "src/license.rs",
            "LICENSES/Zlib.txt",
            "tests/data/LICENSE",
            "examples/COPYING",
            ".github/COPYRIGHT",
            "src/Licenses.h",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).unwrap();
        }
        let package = Package { folder: folder.path().to_owned(), ..package("a", "MIT") };
        assert_eq!(
            read_folder(&package).unwrap(),
            [
                "LICENSE-MIT",
                "LICENSES/Zlib.txt",
                "src/polyfill/once_cell/LICENSE-APACHE",
                "third_party/fiat/LICENSE"
            ]
        );
    }

    #[test]
    fn every_dependency_of_the_program_has_a_licence_text() {
        for (triple, contents) in [
            ("x86_64-unknown-linux-musl", Contents::Full),
            ("x86_64-unknown-linux-musl", Contents::Cluster),
            ("aarch64-unknown-linux-musl", Contents::Full),
            ("x86_64-unknown-linux-gnu", Contents::Full),
        ] {
            let target = Target::parse(triple).unwrap();
            let packages = Metadata::load(triple).unwrap().packages(triple, contents).unwrap();
            let document = document(&packages, &target).unwrap();
            for package in packages.iter().filter(|package| !package.ours) {
                let line = format!("\n{} {} ({})\n", package.id.0, package.id.1, package.licence);
                assert!(document.contains(&line), "{line}");
            }
            assert_eq!(document.contains("\nmusl libc (MIT)\n"), target.is_static);
            assert!(document.contains("\nThe Rust standard library"));
            for text in
                ["UNICODE LICENSE V3", "\nhashbrown ", "the fiat-crypto authors", "Mathijs van de Nes"]
            {
                assert!(document.contains(text), "{text}");
            }
        }
    }
}
