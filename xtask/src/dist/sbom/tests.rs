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
