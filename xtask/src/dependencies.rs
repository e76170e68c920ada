//! Checks of dependencies: layers, purity and licences. A pure crate cannot import I/O.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value as Json;

use crate::root;

/// Workspace crates, and the workspace crates that each may use. A new crate needs an entry.
const LAYERS: &[(&str, &[&str])] = &[
    ("orchestra-score", &[]),
    ("orchestra-api", &["orchestra-score"]),
    ("orchestra-re2", &[]),
    ("orchestra-gotemplate", &["orchestra-re2"]),
    ("orchestra-core", &["orchestra-api", "orchestra-gotemplate", "orchestra-score"]),
    ("orchestra-drivers", &["orchestra-api", "orchestra-core", "orchestra-score"]),
    ("orchestra-controllers", &["orchestra-api", "orchestra-core", "orchestra-drivers"]),
    ("orchestra-cel", &["orchestra-re2"]),
    ("orchestra-limits", &[]),
    ("orchestra-apiserver", &["orchestra-cel", "orchestra-limits", "orchestra-re2"]),
    ("orchestra-serve", &["orchestra-limits"]),
    (
        "orchestra-server",
        &["orchestra-api", "orchestra-core", "orchestra-drivers", "orchestra-limits", "orchestra-score"],
    ),
    (
        "orchestra",
        &[
            "orchestra-api",
            "orchestra-apiserver",
            "orchestra-controllers",
            "orchestra-core",
            "orchestra-drivers",
            "orchestra-limits",
            "orchestra-score",
            "orchestra-serve",
            "orchestra-server",
        ],
    ),
    ("orchestra-score-fuzz", &["orchestra-score"]),
    ("orchestra-testkit", &["orchestra-api", "orchestra-apiserver", "orchestra-core", "orchestra-drivers"]),
    (
        "orchestra-e2e",
        &[
            "orchestra-api",
            "orchestra-apiserver",
            "orchestra-controllers",
            "orchestra-drivers",
            "orchestra-serve",
            "orchestra-testkit",
        ],
    ),
    (
        "xtask",
        &[
            "orchestra",
            "orchestra-api",
            "orchestra-apiserver",
            "orchestra-cel",
            "orchestra-controllers",
            "orchestra-score",
            "orchestra-testkit",
        ],
    ),
];

/// Pure crates, and dependencies that they must not have, even transitively.
const PURE: &[&str] = &[
    "orchestra-score",
    "orchestra-re2",
    "orchestra-gotemplate",
    "orchestra-api",
    "orchestra-core",
    "orchestra-cel",
];
const IMPURE: &[&str] =
    &["kube-client", "kube-runtime", "tokio", "async-std", "reqwest", "hyper", "axum", "ureq", "rand"];

/// Licences that are compatible with Apache-2.0.
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // Root certificates, which are data; only tests use them.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "NCSA",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Fails if a rule is violated.
pub(crate) fn check() -> Result<(), String> {
    let graph = Graph::load()?;
    let problems = [graph.layers(), purity()?, graph.licences()].concat();
    if problems.is_empty() {
        println!("{} packages: layers, purity and licences are in order", graph.licence.len());
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

struct Graph {
    /// Packages of the workspace.
    ours: BTreeSet<String>,
    /// Dependencies of each package, without those of its tests.
    needs: BTreeMap<String, BTreeSet<String>>,
    /// Name and version of each package with its licence, by package id: two versions of a crate are two packages.
    licence: BTreeMap<String, (String, String)>,
}

impl Graph {
    fn load() -> Result<Self, String> {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
            .current_dir(root())
            .output()
            .map_err(|error| format!("failed to run cargo metadata: {error}"))?;
        if !output.status.success() {
            return Err(format!("failed to run cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
        }
        serde_json::from_slice(&output.stdout)
            .map(|metadata| Self::of_metadata(&metadata))
            .map_err(|error| format!("failed to read cargo metadata: {error}"))
    }

    fn of_metadata(metadata: &Json) -> Self {
        let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let packages = list(&metadata["packages"]);
        let names: BTreeMap<String, String> =
            packages.iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
        let name_of = |id: &Json| names.get(&text(id)).cloned().unwrap_or_default();
        let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let normal = list(&node["deps"])
                .iter()
                .filter(|dep| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()))
                .map(|dep| name_of(&dep["pkg"]))
                .collect::<Vec<_>>();
            needs.entry(name_of(&node["id"])).or_default().extend(normal);
        }
        let licence = |package: &Json| {
            let title = format!("{} {}", text(&package["name"]), text(&package["version"]));
            (text(&package["id"]), (title, text(&package["license"])))
        };
        Self {
            ours: list(&metadata["workspace_members"]).iter().map(name_of).collect(),
            needs,
            licence: packages.iter().map(licence).collect(),
        }
    }

    fn needs(&self, name: &str) -> impl Iterator<Item = &String> {
        self.needs.get(name).into_iter().flatten()
    }

    fn layers(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for name in &self.ours {
            let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| layer == name) else {
                problems.push(format!("{name} has no line in LAYERS"));
                continue;
            };
            for used in self.needs(name).filter(|used| self.ours.contains(*used)) {
                if !allowed.contains(&used.as_str()) {
                    problems.push(format!("{name} must not use {used}"));
                }
            }
        }
        problems
    }

    fn licences(&self) -> Vec<String> {
        self.licence
            .values()
            .filter(|(_, licence)| !is_allowed(licence))
            .map(|(title, licence)| format!("{title} is under `{licence}`, which is not on the list"))
            .collect()
    }
}

/// Violations of purity.
fn purity() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for pure in PURE {
        problems.extend(impurities(pure, &reach(pure)?));
    }
    Ok(problems)
}

/// Forbidden dependencies of a pure crate.
fn impurities(pure: &str, reach: &BTreeSet<String>) -> Vec<String> {
    // Languages may not use the types of Kubernetes either.
    let is_language =
        matches!(pure, "orchestra-score" | "orchestra-re2" | "orchestra-gotemplate" | "orchestra-cel");
    let kubernetes: &[&str] = if is_language { &["kube", "k8s-openapi"] } else { &[] };
    let found = IMPURE.iter().chain(kubernetes).filter(|impure| reach.contains(**impure));
    found.map(|impure| format!("{pure} is pure and must not reach {impure}")).collect()
}

/// Transitive dependencies of a package, without features that other workspace crates enable.
fn reach(package: &str) -> Result<BTreeSet<String>, String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--package",
            package,
        ])
        .current_dir(root())
        .output()
        .map_err(|error| format!("failed to run cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(format!("failed to run cargo tree: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(ToOwned::to_owned).collect())
}

/// True if the listed licences satisfy an SPDX expression.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    expression.split(" AND ").all(|part| {
        part.split(" OR ").any(|licence| LICENCES.contains(&licence.trim_matches(['(', ')', ' '])))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn crates_depend_only_on_allowed_crates() {
        let graph = Graph::load().unwrap();
        assert!(graph.ours.contains("orchestra-score") && reach("orchestra").unwrap().len() > 10);
        assert_eq!([graph.layers(), purity().unwrap(), graph.licences()].concat(), Vec::<String>::new());
    }

    #[test]
    fn an_impure_dependency_of_a_pure_crate_is_found() {
        let reach = BTreeSet::from(["harmless", "kube", "tokio"].map(ToOwned::to_owned));
        assert_eq!(impurities("orchestra-core", &reach), ["orchestra-core is pure and must not reach tokio"]);
        assert_eq!(impurities("orchestra-score", &reach).len(), 2);
    }

    #[test]
    fn each_version_of_a_crate_needs_an_allowed_licence() {
        let package = |version: &str, licence: &str| json!({"id": format!("registry#a@{version}"), "name": "a", "version": version, "license": licence});
        let graph =
            Graph::of_metadata(&json!({"packages": [package("1.0.0", "GPL-3.0"), package("2.0.0", "MIT")]}));
        assert_eq!(graph.licences(), ["a 1.0.0 is under `GPL-3.0`, which is not on the list"]);
    }

    #[test]
    fn licence_expressions_are_evaluated() {
        for (expression, allowed) in [
            ("MIT", true),
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0 OR MIT", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR MIT", true),
            ("GPL-3.0-only", false),
            ("MIT AND GPL-3.0-only", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression), allowed, "{expression}");
        }
    }
}
