//! Serving certificate of all processes: from files, or self-issued and stored in a Secret, so that all processes share one
//! authority.

use std::{path::Path, time::SystemTime};

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use orchestra_api::SYSTEM_NAMESPACE;
use orchestra_serve::CertBundle;

use super::SERVING_SECRET;
use crate::cmd::ServeError;

/// Keys of the Secret.
const AUTHORITY: &str = "authority.pem";
const CERTIFICATE: &str = "serving.pem";
/// Write attempts: processes that start together conflict with each other.
const MAX_WRITE_ATTEMPTS: usize = 10;

/// Serving certificate, as PEM.
pub(super) struct Certificate {
    /// Certificate chain.
    pub(super) chain: String,
    /// Private key.
    pub(super) key: String,
    /// Root certificates for clients; without them, those of their system.
    pub(super) trust: Option<String>,
}

/// Certificate from files.
pub(super) fn from_files(
    certificate: &Path,
    key: &Path,
    authority: Option<&Path>,
) -> Result<Certificate, ServeError> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|source| ServeError::Read { path: path.to_owned(), source })
    };
    let trust = authority.map(read).transpose()?;
    Ok(Certificate { chain: read(certificate)?, key: read(key)?, trust })
}

/// Self-issued certificate for these names, issued or renewed if necessary.
pub(super) async fn load_or_issue(client: &Client, names: &[String]) -> Result<Certificate, ServeError> {
    let failed = |source| ServeError::Api { action: "store the certificate", source };
    let secrets: Api<Secret> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    for _ in 0..MAX_WRITE_ATTEMPTS {
        let secret = secrets.get_opt(SERVING_SECRET).await.map_err(failed)?;
        let found = secret.as_ref().map(read).unwrap_or_default();
        let whole = found.completed(names, SystemTime::now())?;
        if whole != found {
            let params = PostParams::default();
            let written = match secret {
                // The resourceVersion detects concurrent writes.
                Some(secret) => secrets.replace(SERVING_SECRET, &params, &write(secret, &whole)).await,
                None => secrets.create(&params, &write(Secret::default(), &whole)).await,
            };
            match written {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 409 => continue,
                Err(error) => return Err(failed(error)),
            }
        }
        let (chain, key) = whole.served();
        return Ok(Certificate { chain, key, trust: Some(whole.trust()) });
    }
    Err(ServeError::CertificateConflicts)
}

fn read(secret: &Secret) -> CertBundle {
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key)).map(|bytes| bytes.0.as_slice());
        String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
    };
    CertBundle { authority: text(AUTHORITY), serving: text(CERTIFICATE) }
}

fn write(secret: Secret, bundle: &CertBundle) -> Secret {
    let metadata =
        ObjectMeta { name: Some(SERVING_SECRET.to_owned()), managed_fields: None, ..secret.metadata };
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    let data = [(AUTHORITY, &bundle.authority), (CERTIFICATE, &bundle.serving)];
    let data = data.into_iter().map(|(key, text)| (key.to_owned(), bytes(text))).collect();
    Secret { metadata, data: Some(data), ..secret }
}
