//! Licence texts of everything that is linked into a program, as its licences ask for.
//!
//! A package that ships no text gets the standard text of its licence from `deploy/dist/licences`; one that has neither
//! fails the release.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{packages::Package, target::Target};
use crate::root;

/// Beginnings of the names of licence files, in upper case.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Texts that the repository keeps.
const STORED: &str = "deploy/dist/licences";

/// Licence texts, each once, with the packages that it belongs to.
type Texts = BTreeMap<String, BTreeSet<String>>;

/// The file of third-party licences of a program.
pub(super) fn document(packages: &[Package], target: &Target) -> Result<String, String> {
    let stored = |name: &str| fs::read_to_string(root().join(STORED).join(format!("{name}.txt"))).ok();
    let mut texts = collect(packages, &read_folder, &stored)?;
    // Linked into every Rust program, and no package of the dependency tree.
    let mut linked = vec![("rust-std", "The Rust standard library (MIT OR Apache-2.0)")];
    if target.is_static {
        linked.push(("musl", "musl libc (MIT)"));
    }
    for (name, owner) in linked {
        let text = stored(name).ok_or_else(|| format!("{STORED}/{name}.txt is missing"))?;
        texts.entry(normalised(&text)).or_default().insert(owner.to_owned());
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

/// Licence files of a package.
fn read_folder(package: &Package) -> Result<Vec<String>, String> {
    let failed = |path: &Path, error: std::io::Error| format!("failed to read {}: {error}", path.display());
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(&package.folder).map_err(|error| failed(&package.folder, error))? {
        let entry = entry.map_err(|error| failed(&package.folder, error))?;
        if is_licence(&entry.file_name().to_string_lossy()) && entry.path().is_file() {
            paths.insert(entry.path());
        }
    }
    paths.extend(package.licence_file.iter().map(|name| package.folder.join(name)));
    let read = |path: PathBuf| match fs::read(&path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(failed(&path, error)),
    };
    paths.into_iter().map(read).collect()
}

fn is_licence(name: &str) -> bool {
    let is_source = Path::new(name).extension().is_some_and(|extension| extension == "rs");
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
mod tests;
