//! Container image as an OCI layout: one layer with the program and its licences, on an empty base, made without a
//! container engine.
//!
//! The same image as the `Dockerfile` builds, which lacks the licences of libraries. The archive of the layout is what `ctr images import`, `podman load` and
//! `skopeo copy oci-archive:…` read.

use std::fs;

use serde_json::{Value as Json, json};

use super::{
    archive::{self, Entry},
    digest::sha256,
    release::Release,
};
use crate::root;

/// Neither root nor a user of any node.
const USER: &str = "65532:65532";
/// Port of the orchestrator's server.
const PORT: &str = "8443/tcp";
const ENTRYPOINT: &[&str] = &["/orchestra"];
const CMD: &[&str] = &["serve", "--cluster"];

/// Folder of the licences.
const DOC: &str = "usr/share/doc/orchestra";

/// Image name as container engines complete it: manifests under `deploy` call it `orchestra:VERSION`.
const NAME: &str = "docker.io/library/orchestra";

/// Files of the layout.
pub(super) fn layout(
    release: &Release,
    architecture: &str,
    program: &[u8],
    licences: &str,
) -> Result<Vec<Entry>, String> {
    let licence =
        fs::read(root().join("LICENSE")).map_err(|error| format!("failed to read LICENSE: {error}"))?;
    let files = [
        Entry::program("orchestra", program),
        Entry::file(format!("{DOC}/LICENSE"), licence),
        Entry::file(format!("{DOC}/THIRD-PARTY-LICENCES.txt"), licences),
    ];
    let layer = archive::tar(&files, release.epoch)?;
    let diff_id = format!("sha256:{}", sha256(&layer));
    let layer = Blob::new("application/vnd.oci.image.layer.v1.tar+gzip", archive::gzip(&layer)?);
    let config = config(release, architecture, &diff_id).to_string();
    let config = Blob::new("application/vnd.oci.image.config.v1+json", config.into_bytes());
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor(),
        "layers": [layer.descriptor()],
        "annotations": labels(release),
    });
    let manifest = Blob::new("application/vnd.oci.image.manifest.v1+json", manifest.to_string().into_bytes());
    let mut reference = manifest.descriptor();
    reference["platform"] = json!({"architecture": architecture, "os": "linux"});
    reference["annotations"] = json!({
        "io.containerd.image.name": format!("{NAME}:{}", release.version),
        "org.opencontainers.image.ref.name": release.version,
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [reference],
    });
    Ok(vec![
        Entry::file("oci-layout", json!({"imageLayoutVersion": "1.0.0"}).to_string()),
        Entry::file("index.json", index.to_string()),
        layer.into_entry(),
        config.into_entry(),
        manifest.into_entry(),
    ])
}

fn config(release: &Release, architecture: &str, diff_id: &str) -> Json {
    json!({
        "created": release.date(),
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": USER,
            "ExposedPorts": {PORT: {}},
            "Entrypoint": ENTRYPOINT,
            "Cmd": CMD,
            "Labels": labels(release),
        },
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created": release.date(), "created_by": "cargo xtask dist"}],
    })
}

fn labels(release: &Release) -> Json {
    json!({
        "org.opencontainers.image.created": release.date(),
        "org.opencontainers.image.description": "Score Orchestrator: run Score workloads anywhere",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": release.commit,
        "org.opencontainers.image.source": release.repository,
        "org.opencontainers.image.title": "orchestra",
        "org.opencontainers.image.url": release.repository,
        "org.opencontainers.image.version": release.version,
    })
}

/// Content that others refer to by its digest.
struct Blob {
    media_type: &'static str,
    digest: String,
    content: Vec<u8>,
}

impl Blob {
    fn new(media_type: &'static str, content: Vec<u8>) -> Self {
        Self { media_type, digest: sha256(&content), content }
    }

    fn descriptor(&self) -> Json {
        json!({
            "mediaType": self.media_type,
            "digest": format!("sha256:{}", self.digest),
            "size": self.content.len(),
        })
    }

    fn into_entry(self) -> Entry {
        Entry::file(format!("blobs/sha256/{}", self.digest), self.content)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io::Read};

    use super::*;
    use crate::dist::contents::Contents;

    fn files() -> BTreeMap<String, Vec<u8>> {
        let entries = layout(&Release::sample(), "amd64", b"program", "licences").unwrap();
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
        let mut found = BTreeMap::new();
        for entry in tar::Archive::new(layer.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            let path = entry.path().unwrap().display().to_string();
            found.insert(path, (entry.header().mode().unwrap(), content));
        }
        assert_eq!(found["orchestra"], (0o755, b"program".to_vec()));
        assert_eq!(found["usr/share/doc/orchestra/THIRD-PARTY-LICENCES.txt"], (0o644, b"licences".to_vec()));
        assert!(
            found["usr/share/doc/orchestra/LICENSE"]
                .1
                .starts_with(b"                                 Apache License")
        );
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
            let lines: Vec<&str> =
                dockerfile.lines().filter_map(|line| line.strip_prefix(instruction)).collect();
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
}
