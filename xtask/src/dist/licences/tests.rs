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
        assert!(collected(&[package("bare", licence)]).unwrap().contains_key("Standard text"), "{licence}");
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
    for name in ["LICENSE", "LICENSE-MIT", "license.md", "Copying", "NOTICE", "UNLICENSE", "LICENCE.txt"] {
        assert!(is_licence(name), "{name}");
    }
    for name in ["license.rs", "README.md", "src"] {
        assert!(!is_licence(name), "{name}");
    }
}

#[test]
fn every_dependency_of_the_program_has_a_licence_text() {
    for triple in ["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"] {
        let target = Target::parse(triple).unwrap();
        let packages = Metadata::load(triple).unwrap().packages(triple, Contents::Full).unwrap();
        let document = document(&packages, &target).unwrap();
        for package in packages.iter().filter(|package| !package.ours) {
            let line = format!("\n{} {} ({})\n", package.id.0, package.id.1, package.licence);
            assert!(document.contains(&line), "{line}");
        }
        assert_eq!(document.contains("\nmusl libc (MIT)\n"), target.is_static);
        assert!(document.contains("\nThe Rust standard library"));
    }
}
