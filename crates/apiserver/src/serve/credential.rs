//! A certificate together with its private key.
//!
//! Both live in one PEM file, so that they are always replaced together and can never disagree after a
//! crash. `curl --cert`, `openssl` and most other tools take such a file as it is.

use rcgen::KeyPair;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

const KEY_HEADER: &str = "-----BEGIN PRIVATE KEY-----";

/// A certificate and the private key that belongs to it.
pub(super) struct Credential {
    pub(super) certificate_pem: String,
    pub(super) key_pem: String,
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: PrivatePkcs8KeyDer<'static>,
}

impl Credential {
    /// What an authority has just issued.
    pub(super) fn new(certificate: &rcgen::Certificate, key: &KeyPair) -> Self {
        Self {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
        }
    }

    /// Reads what [`Credential::to_pem`] wrote, and checks that the halves belong together.
    ///
    /// The error is the reason why the text is of no use.
    pub(super) fn from_pem(text: &str) -> Result<Self, &'static str> {
        let key_start = text.find(KEY_HEADER).ok_or("it holds no private key")?;
        let (certificate_pem, key_pem) = text.split_at(key_start);
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes())
            .map_err(|_| "its certificate cannot be read")?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(key_pem.as_bytes())
            .map_err(|_| "its private key cannot be read")?;
        CertifiedKey::from_der(vec![certificate.clone()], key.clone_key().into(), &ring::default_provider())
            .map_err(|_| "its certificate and its private key do not belong together")?;
        Ok(Self {
            certificate_pem: certificate_pem.to_owned(),
            key_pem: key_pem.to_owned(),
            certificate,
            key,
        })
    }

    /// The certificate, then the key, as PEM.
    pub(super) fn to_pem(&self) -> String {
        format!("{}{}", self.certificate_pem, self.key_pem)
    }
}
