//! Software bill of materials in the `CycloneDX` format.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{
    build,
    digest::sha256,
    packages::{Id, Package},
    release::Release,
    rust_std::Notices,
    target::Target,
};

/// `CycloneDX` document of a program for a target.
pub(super) fn document(
    release: &Release,
    target: &Target,
    packages: &[Package],
    checksums: &BTreeMap<Id, String>,
) -> Result<String, String> {
    let Some((program, libraries)) = split(packages) else {
        return Err("the dependency tree lacks the program itself".to_owned());
    };
    let component = |package: &Package| component(package, checksums);
    let linked = of_toolchain(target, &build::rust_version()?, &Notices::load()?);
    let purls: BTreeMap<&Id, String> = packages.iter().map(|package| (&package.id, package.purl())).collect();
    let node = |package: &Package| {
        let mut needs: Vec<&str> =
            package.needs.iter().filter_map(|id| purls.get(id)).map(String::as_str).collect();
        if package.id == program.id {
            needs.extend(linked.iter().filter_map(|library| library["bom-ref"].as_str()));
        }
        json!({"ref": package.purl(), "dependsOn": needs})
    };
    let leaf = |library: &Json| json!({"ref": library["bom-ref"], "dependsOn": []});
    let components: Vec<Json> =
        libraries.iter().map(|package| component(package)).chain(linked.iter().cloned()).collect();
    let dependencies: Vec<Json> = packages.iter().map(node).chain(linked.iter().map(leaf)).collect();
    let mut document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": release.date(),
            "component": component(program),
            "properties": [
                {"name": "orchestra:commit", "value": release.commit},
                {"name": "orchestra:target", "value": target.triple},
            ],
        },
        "components": components,
        "dependencies": dependencies,
    });
    // The number follows from the content, as everything in a release does.
    document["serialNumber"] = json!(serial_number(&sha256(document.to_string().as_bytes())));
    Ok(format!("{document:#}\n"))
}

/// The program, and everything else.
fn split(packages: &[Package]) -> Option<(&Package, Vec<&Package>)> {
    let (program, libraries): (Vec<_>, Vec<_>) =
        packages.iter().partition(|package| package.id.0 == "orchestra");
    program.first().map(|program| (*program, libraries))
}

fn component(package: &Package, checksums: &BTreeMap<Id, String>) -> Json {
    let (name, version) = &package.id;
    let mut component = json!({
        "type": if name == "orchestra" { "application" } else { "library" },
        "bom-ref": package.purl(),
        "name": name,
        "version": version,
        "purl": package.purl(),
        "licenses": [{"expression": package.licence}],
    });
    if let Some(sum) = checksums.get(&package.id) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

/// Libraries that the toolchain links into every program, and that are not packages of the dependency tree. The C library is part
/// of the Rust target, which does not name its version.
fn of_toolchain(target: &Target, rust: &str, notices: &Notices) -> Vec<Json> {
    // The toolchain does not say which of them it uses on this target.
    let packages = notices.packages.iter().map(|package| {
        json!({
            "type": "library",
            "name": package.name,
            "version": package.version,
            "scope": "optional",
            "purl": format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B")),
            "licenses": [{"expression": package.licence}],
        })
    });
    let mut libraries = vec![json!({
        "type": "library",
        "bom-ref": format!("pkg:generic/rust-std@{rust}"),
        "name": "rust-std",
        "version": rust,
        "purl": format!("pkg:generic/rust-std@{rust}"),
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
        "components": packages.collect::<Vec<_>>(),
    })];
    if target.is_static {
        libraries.push(json!({
            "type": "library",
            "bom-ref": "pkg:generic/musl",
            "name": "musl",
            "description": format!("C library of the Rust {rust} target {}", target.triple),
            "purl": "pkg:generic/musl",
            "licenses": [{"expression": "MIT"}],
        }));
    }
    libraries
}

/// UUID of version 8 (from content) in the form that the format requires.
fn serial_number(digest: &str) -> String {
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!("urn:uuid:{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// SHA-256 of packages as they were downloaded, from `Cargo.lock`.
pub(super) fn checksums(lock: &str) -> BTreeMap<Id, String> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""))?;
        line.strip_suffix('"').map(str::to_owned)
    };
    let read =
        |block: &str| Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?));
    lock.split("[[package]]").filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;
    use crate::{
        dist::{contents::Contents, packages::Metadata},
        root,
    };

    fn real() -> (Vec<Package>, Json) {
        let target = Target::parse("x86_64-unknown-linux-musl").unwrap();
        let metadata = Metadata::load(&target.triple).unwrap();
        let packages = metadata.packages(&target.triple, Contents::Full).unwrap();
        let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
        let text = document(&Release::sample(), &target, &packages, &checksums(&lock)).unwrap();
        assert_eq!(text, document(&Release::sample(), &target, &packages, &checksums(&lock)).unwrap());
        (packages, serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn each_dependency_is_listed_once_with_its_purl_licence_and_checksum() {
        let (packages, bom) = real();
        let components = bom["components"].as_array().unwrap();
        let purls: BTreeSet<&str> = components.iter().map(|c| c["purl"].as_str().unwrap()).collect();
        // Without the program, and with the two libraries of the toolchain.
        let count = packages.len() - 1 + 2;
        assert_eq!((components.len(), purls.len()), (count, count));
        for component in components {
            let name = component["name"].as_str().unwrap();
            let published = !name.starts_with("orchestra-") && !["rust-std", "musl"].contains(&name);
            let kind = if published { "pkg:cargo/" } else { "pkg:generic/" };
            assert!(component["purl"].as_str().unwrap().starts_with(kind), "{component}");
            assert!(!component["licenses"][0]["expression"].as_str().unwrap().is_empty(), "{component}");
            assert_eq!(!component["hashes"].is_null(), published, "{component}");
        }
        assert_eq!(
            bom["metadata"]["component"]["purl"],
            format!("pkg:generic/orchestra@{}", env!("CARGO_PKG_VERSION"))
        );
    }

    #[test]
    fn the_document_has_the_required_fields_of_its_schema() {
        let (_, bom) = real();
        assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&json!("CycloneDX"), &json!("1.5")));
        assert!(bom["version"].as_u64().is_some_and(|version| version >= 1));
        let number = bom["serialNumber"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
        assert_eq!(number.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(bom["metadata"]["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
        let components = bom["components"].as_array().unwrap();
        let nested = components.iter().filter_map(|component| component["components"].as_array()).flatten();
        for component in components.iter().chain(nested).chain([&bom["metadata"]["component"]]) {
            let kind = component["type"].as_str().unwrap();
            assert!(["application", "library"].contains(&kind), "{component}");
            assert!(component["name"].as_str().is_some_and(|name| !name.is_empty()), "{component}");
            // An expression excludes other entries.
            assert_eq!(component["licenses"].as_array().map(Vec::len), Some(1), "{component}");
            for hash in component["hashes"].as_array().into_iter().flatten() {
                let digits = hash["content"].as_str().unwrap();
                let is_hex = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                assert!(hash["alg"] == "SHA-256" && is_hex, "{component}");
            }
        }
        for node in bom["dependencies"].as_array().unwrap() {
            assert!(node["ref"].is_string() && node["dependsOn"].is_array(), "{node}");
        }
    }

    #[test]
    fn packages_of_the_standard_library_are_components_of_it() {
        let (_, bom) = real();
        let std = bom["components"].as_array().unwrap().iter().find(|library| library["name"] == "rust-std");
        let names: Vec<_> =
            std.unwrap()["components"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
        assert!(names.contains(&&json!("hashbrown")), "{names:?}");
    }

    #[test]
    fn every_reference_of_the_graph_leads_to_a_component() {
        let (packages, bom) = real();
        let mut known: BTreeSet<&str> = bom["components"]
            .as_array()
            .unwrap()
            .iter()
            .map(|component| component["bom-ref"].as_str().unwrap())
            .collect();
        known.insert(bom["metadata"]["component"]["bom-ref"].as_str().unwrap());
        let nodes = bom["dependencies"].as_array().unwrap();
        assert_eq!((nodes.len(), known.len()), (packages.len() + 2, packages.len() + 2));
        for node in nodes {
            assert!(known.contains(node["ref"].as_str().unwrap()), "{node}");
            for needed in node["dependsOn"].as_array().unwrap() {
                assert!(known.contains(needed.as_str().unwrap()), "{needed}");
            }
        }
    }

    #[test]
    fn the_serial_number_is_a_uuid_that_follows_from_the_content() {
        let number = serial_number("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
        assert_eq!(number, "urn:uuid:01234567-89ab-8def-8123-456789abcdef");
    }

    #[test]
    fn checksums_are_read_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        let id = ("a".to_owned(), "1.0.0".to_owned());
        assert_eq!(checksums(lock), BTreeMap::from([(id, "abc".to_owned())]));
    }
}
