use std::{collections::BTreeMap, fs, io::Read};

use super::*;
use crate::{dist::contents::Contents, root};

fn files() -> BTreeMap<String, Vec<u8>> {
    let entries = layout(&Release::sample(), "amd64", b"program").unwrap();
    entries.into_iter().map(|entry| (entry.path, entry.content)).collect()
}

fn json(bytes: &[u8]) -> Json {
    serde_json::from_slice(bytes).unwrap()
}

/// The blob that a descriptor names, after a check of its size and digest.
fn blob<'a>(files: &'a BTreeMap<String, Vec<u8>>, descriptor: &Json) -> &'a [u8] {
    let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let content = &files[&format!("blobs/sha256/{digest}")];
    assert_eq!(
        (sha256(content).as_str(), content.len() as u64),
        (digest, descriptor["size"].as_u64().unwrap())
    );
    content
}

#[test]
fn digests_agree_with_blobs_from_the_index_down_to_the_program() {
    let files = files();
    assert_eq!(json(&files["oci-layout"]), json!({"imageLayoutVersion": "1.0.0"}));
    let index = json(&files["index.json"]);
    let manifest = json(blob(&files, &index["manifests"][0]));
    let config = json(blob(&files, &manifest["config"]));
    let mut layer = Vec::new();
    flate2::read::GzDecoder::new(blob(&files, &manifest["layers"][0])).read_to_end(&mut layer).unwrap();
    assert_eq!(config["rootfs"]["diff_ids"], json!([format!("sha256:{}", sha256(&layer))]));
    let mut archive = tar::Archive::new(layer.as_slice());
    let mut entry = archive.entries().unwrap().next().unwrap().unwrap();
    assert_eq!(
        (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap()),
        ("orchestra".into(), 0o755)
    );
    let mut program = Vec::new();
    entry.read_to_end(&mut program).unwrap();
    assert_eq!(program, b"program");
    assert_eq!(files.len(), 5, "a blob that nothing refers to");
}

#[test]
fn an_import_gives_the_image_its_name_and_platform() {
    let index = json(&files()["index.json"]);
    let reference = &index["manifests"][0];
    assert_eq!(reference["annotations"]["io.containerd.image.name"], "docker.io/library/orchestra:1.2.3");
    assert_eq!(reference["annotations"]["org.opencontainers.image.ref.name"], "1.2.3");
    assert_eq!(reference["platform"], json!({"architecture": "amd64", "os": "linux"}));
}

#[test]
fn the_image_is_the_one_that_the_dockerfile_builds() {
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let line = |instruction: &str| -> String {
        let lines: Vec<&str> = dockerfile.lines().filter_map(|line| line.strip_prefix(instruction)).collect();
        lines.last().unwrap_or_else(|| panic!("no {instruction}")).trim().to_owned()
    };
    let list = |instruction: &str| -> Json { serde_json::from_str(&line(instruction)).unwrap() };
    let config = &config(&Release::sample(), "amd64", "")["config"];
    assert_eq!(config["User"], line("USER"));
    assert!(config["ExposedPorts"].get(format!("{}/tcp", line("EXPOSE"))).is_some());
    assert_eq!((&config["Entrypoint"], &config["Cmd"]), (&list("ENTRYPOINT"), &list("CMD")));
    assert!(dockerfile.contains(&Contents::Cluster.cargo_arguments().join(" ")));
    assert!(dockerfile.contains("--profile dist"));
}
