//! The certificate that all processes of a platform show: one that the platform team gives, or one of our own, which is
//! kept in a Secret so that whichever process answers is known by the same authority.

use std::{path::Path, time::SystemTime};

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use orchestra_api::SYSTEM_NAMESPACE;
use orchestra_apiserver::serve::Keepsake;

use super::SERVING;

/// The keys of the Secret.
const AUTHORITY: &str = "authority.pem";
const CERTIFICATE: &str = "serving.pem";
/// How often processes that start together may get into each other's way.
const ATTEMPTS: usize = 10;

/// A certificate, and who vouches for it.
pub(super) struct Certificate {
    /// The certificate and those above it, as PEM.
    pub(super) chain: String,
    /// Its key, as PEM.
    pub(super) key: String,
    /// What clients shall trust, as PEM; what their system trusts if nothing.
    pub(super) trust: Option<String>,
}

/// The certificate in files. Whoever gives one says with `authority` what to trust, or has one that everybody trusts.
pub(super) fn given(certificate: &Path, key: &Path, authority: Option<&Path>) -> Result<Certificate, String> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
    };
    let trust = authority.map(read).transpose()?;
    Ok(Certificate { chain: read(certificate)?, key: read(key)?, trust })
}

/// The certificate of our own for these names, made or renewed if need be.
pub(super) async fn kept(client: &Client, names: &[String]) -> Result<Certificate, String> {
    let failed =
        |error: kube::Error| format!("failed to keep the certificate in the secret {SERVING}: {error}");
    let secrets: Api<Secret> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    for _ in 0..ATTEMPTS {
        let secret = secrets.get_opt(SERVING).await.map_err(failed)?;
        let found = secret.as_ref().map(read).unwrap_or_default();
        let whole = found.completed(names, SystemTime::now()).map_err(|error| error.to_string())?;
        if whole != found {
            let params = PostParams::default();
            let written = match secret {
                // The version that was read guards it: whoever comes second looks again.
                Some(secret) => secrets.replace(SERVING, &params, &write(secret, &whole)).await,
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
    Err(format!("failed to keep the certificate in the secret {SERVING}: others write it all the time"))
}

fn read(secret: &Secret) -> Keepsake {
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key)).map(|bytes| bytes.0.as_slice());
        String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
    };
    Keepsake { authority: text(AUTHORITY), serving: text(CERTIFICATE) }
}

fn write(secret: Secret, keepsake: &Keepsake) -> Secret {
    let metadata = ObjectMeta { name: Some(SERVING.to_owned()), managed_fields: None, ..secret.metadata };
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    let data = [(AUTHORITY, &keepsake.authority), (CERTIFICATE, &keepsake.serving)];
    let data = data.into_iter().map(|(key, text)| (key.to_owned(), bytes(text))).collect();
    Secret { metadata, data: Some(data), ..secret }
}
