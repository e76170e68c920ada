//! Packages that are linked into a program: its normal dependencies for one target and one set of features.
//!
//! Procedural macros are left out: they run in the compiler, and what they need depends on the machine that builds.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value as Json;

use super::contents::Contents;
use crate::root;

/// Name and version.
pub(super) type Id = (String, String);

/// Package of the dependency tree, with its metadata from cargo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) id: Id,
    /// SPDX expression.
    pub(super) licence: String,
    /// Licence file outside of the usual names, from the manifest.
    pub(super) licence_file: Option<String>,
    pub(super) folder: PathBuf,
    /// Part of this workspace.
    pub(super) ours: bool,
    pub(super) needs: BTreeSet<Id>,
}

impl Package {
    /// Package URL. Ours are not on crates.io, where their names may be those of other crates.
    pub(super) fn purl(&self) -> String {
        let (name, version) = &self.id;
        let kind = if self.ours { "generic" } else { "cargo" };
        // `+` of build metadata is percent-encoded in package URLs.
        format!("pkg:{kind}/{name}@{}", version.replace('+', "%2B"))
    }
}

/// Cargo's description of the workspace.
pub(super) struct Metadata(Json);

impl Metadata {
    pub(super) fn load(target: &str) -> Result<Self, String> {
        let text = cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform", target])?;
        serde_json::from_str(&text)
            .map(Self)
            .map_err(|error| format!("failed to read cargo metadata: {error}"))
    }

    /// Folder of build output.
    pub(super) fn target_directory(&self) -> PathBuf {
        PathBuf::from(self.0["target_directory"].as_str().unwrap_or("target"))
    }

    /// Address of the repository, if the manifest has one.
    pub(super) fn repository(&self) -> Option<&str> {
        let packages = self.0["packages"].as_array()?;
        packages.iter().find(|package| package["name"] == "orchestra")?["repository"].as_str()
    }

    /// Packages of the program, sorted by name and version.
    pub(super) fn packages(&self, target: &str, contents: Contents) -> Result<Vec<Package>, String> {
        let mut arguments = vec!["tree", "--locked", "--package", "orchestra", "--target", target];
        arguments.extend(["--edges", "normal,no-proc-macro", "--prefix", "depth", "--format", " {p}"]);
        arguments.extend(contents.cargo_arguments());
        let tree = read_tree(&cargo(&arguments)?)?;
        let mut known: BTreeMap<Id, &Json> = BTreeMap::new();
        for package in self.0["packages"].as_array().into_iter().flatten() {
            known.insert((text(&package["name"]), text(&package["version"])), package);
        }
        tree.into_iter()
            .map(|(id, needs)| match known.get(&id) {
                Some(package) => Ok(describe(id, package, needs)),
                None => Err(format!("cargo metadata lacks {} {}", id.0, id.1)),
            })
            .collect()
    }
}

fn describe(id: Id, package: &Json, needs: BTreeSet<Id>) -> Package {
    let manifest = text(&package["manifest_path"]);
    Package {
        id,
        licence: text(&package["license"]).replace('/', " OR "),
        licence_file: package["license_file"].as_str().map(str::to_owned),
        folder: Path::new(&manifest).parent().map(Path::to_path_buf).unwrap_or_default(),
        ours: package["source"].is_null(),
        needs,
    }
}

/// Dependencies of each package, from lines such as `2 anstyle v1.0.14`, where the number is the depth. Cargo prints the
/// dependencies of a package once, and marks the other occurrences.
fn read_tree(lines: &str) -> Result<BTreeMap<Id, BTreeSet<Id>>, String> {
    let mut tree: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut above: Vec<Id> = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (Some(depth), Some(name), Some(version)) = (
            words.next().and_then(|word| word.parse::<usize>().ok()),
            words.next(),
            words.next().and_then(|word| word.strip_prefix('v')),
        ) else {
            return Err(format!("failed to read a line of cargo tree: {line}"));
        };
        let id = (name.to_owned(), version.to_owned());
        above.truncate(depth);
        if let Some(parent) = above.last() {
            tree.entry(parent.clone()).or_default().insert(id.clone());
        }
        tree.entry(id.clone()).or_default();
        above.push(id);
    }
    Ok(tree)
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn cargo(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|error| format!("failed to run cargo {}: {error}", arguments[0]))?;
    if !output.status.success() {
        return Err(format!(
            "failed to run cargo {}: {}",
            arguments[0],
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_from_the_depth_of_lines() {
        let lines =
            "0 top v0.1.0 (/folder)\n1 left v1.0.0\n2 shared v2.0.0\n1 right v1.0.0\n2 shared v2.0.0 (*)\n";
        let tree = read_tree(lines).unwrap();
        let needs = |name: &str, version: &str| -> Vec<String> {
            tree[&(name.to_owned(), version.to_owned())].iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(needs("top", "0.1.0"), ["left", "right"]);
        assert_eq!(needs("left", "1.0.0"), ["shared"]);
        assert_eq!(needs("right", "1.0.0"), ["shared"]);
        assert!(needs("shared", "2.0.0").is_empty());
    }

    #[test]
    fn the_image_is_built_from_fewer_packages_than_the_tarball() {
        let target = "x86_64-unknown-linux-musl";
        let metadata = Metadata::load(target).unwrap();
        let all = metadata.packages(target, Contents::Full).unwrap();
        let image = metadata.packages(target, Contents::Cluster).unwrap();
        assert!(image.len() < all.len() && image.len() > 100, "{} of {}", image.len(), all.len());
        assert!(all.iter().any(|package| package.id.0 == "orchestra-drivers" && package.ours));
        for (other, why) in
            [("tempfile", "only tests need it"), ("serde_derive", "only the compiler needs it")]
        {
            assert!(!all.iter().any(|package| package.id.0 == other), "{other}: {why}");
        }
    }
}
