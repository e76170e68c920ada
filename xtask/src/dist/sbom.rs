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
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
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
mod tests;
