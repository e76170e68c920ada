//! Software bill of materials in the `CycloneDX` format.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{
    digest::sha256,
    packages::{Id, Package, purl},
    release::Release,
};

/// `CycloneDX` document of a program for a target.
pub(super) fn document(
    release: &Release,
    triple: &str,
    packages: &[Package],
    checksums: &BTreeMap<Id, String>,
) -> Result<String, String> {
    let Some((program, libraries)) = split(packages) else {
        return Err("the dependency tree lacks the program itself".to_owned());
    };
    let component = |package: &Package| component(package, checksums);
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
                {"name": "orchestra:target", "value": triple},
            ],
        },
        "components": libraries.iter().map(|package| component(package)).collect::<Vec<_>>(),
        "dependencies": packages.iter().map(|package| json!({
            "ref": package.purl(),
            "dependsOn": package.needs.iter().map(purl).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
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

/// UUID of version 8 (from content) in the form that the format asks for.
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
        let triple = "x86_64-unknown-linux-musl";
        let packages = Metadata::load(triple).unwrap().packages(triple, Contents::Full).unwrap();
        let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
        let text = document(&Release::sample(), triple, &packages, &checksums(&lock)).unwrap();
        assert_eq!(text, document(&Release::sample(), triple, &packages, &checksums(&lock)).unwrap());
        (packages, serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn each_dependency_is_listed_once_with_its_purl_licence_and_checksum() {
        let (packages, bom) = real();
        let components = bom["components"].as_array().unwrap();
        let purls: BTreeSet<&str> = components.iter().map(|c| c["purl"].as_str().unwrap()).collect();
        assert_eq!((components.len(), purls.len()), (packages.len() - 1, packages.len() - 1));
        for component in components {
            assert!(component["purl"].as_str().unwrap().starts_with("pkg:cargo/"), "{component}");
            assert!(!component["licenses"][0]["expression"].as_str().unwrap().is_empty(), "{component}");
            let ours = component["name"].as_str().unwrap().starts_with("orchestra-");
            assert_eq!(component["hashes"].is_null(), ours, "{component}");
        }
        assert_eq!(
            bom["metadata"]["component"]["purl"],
            format!("pkg:cargo/orchestra@{}", env!("CARGO_PKG_VERSION"))
        );
    }

    #[test]
    fn every_reference_of_the_graph_leads_to_a_component() {
        let (packages, bom) = real();
        let known: BTreeSet<String> = packages.iter().map(Package::purl).collect();
        let nodes = bom["dependencies"].as_array().unwrap();
        assert_eq!(nodes.len(), known.len());
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
