//! Container image as an OCI layout: one layer with the program, on an empty base, made without a container engine.
//!
//! The same image as the `Dockerfile` builds. The archive of the layout is what `ctr images import`, `podman load` and
//! `skopeo copy oci-archive:…` read.

use serde_json::{Value as Json, json};

use super::{
    archive::{self, Entry},
    digest::sha256,
    release::Release,
};

/// Neither root nor a user of any node.
const USER: &str = "65532:65532";
/// Port of the orchestrator's server.
const PORT: &str = "8443/tcp";
const ENTRYPOINT: &[&str] = &["/orchestra"];
const CMD: &[&str] = &["serve", "--cluster"];

/// Image name as container engines complete it: manifests under `deploy` call it `orchestra:VERSION`.
const NAME: &str = "docker.io/library/orchestra";

/// Files of the layout.
pub(super) fn layout(release: &Release, architecture: &str, program: &[u8]) -> Result<Vec<Entry>, String> {
    let layer = archive::tar(&[Entry::program("orchestra", program)], release.epoch)?;
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
mod tests;
