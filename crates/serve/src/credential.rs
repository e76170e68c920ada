//! Certificate with its private key.
//!
//! Both are in one PEM file, so that they are replaced together and cannot disagree after a crash. `curl --cert`,
//! `openssl` and most other tools take such a file as it is.

use rcgen::KeyPair;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

const KEY_HEADER: &str = "-----BEGIN PRIVATE KEY-----";

/// Certificate and its private key.
pub(crate) struct Credential {
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivatePkcs8KeyDer<'static>,
}

impl Credential {
    /// Credential from a certificate and key that an authority issued.
    pub(crate) fn new(certificate: &rcgen::Certificate, key: &KeyPair) -> Self {
        Self {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
        }
    }

    /// Reads the output of [`Credential::to_pem`], and checks that certificate and key match.
    ///
    /// The error is the fault of the text.
    pub(crate) fn from_pem(text: &str) -> Result<Self, &'static str> {
        let key_start = text.find(KEY_HEADER).ok_or("it has no private key")?;
        let (certificate_pem, key_pem) = text.split_at(key_start);
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes())
            .map_err(|_| "its certificate is invalid")?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(key_pem.as_bytes())
            .map_err(|_| "its private key is invalid")?;
        CertifiedKey::from_der(vec![certificate.clone()], key.clone_key().into(), &ring::default_provider())
            .map_err(|_| "its certificate and private key do not match")?;
        Ok(Self {
            certificate_pem: certificate_pem.to_owned(),
            key_pem: key_pem.to_owned(),
            certificate,
            key,
        })
    }

    /// Certificate and key as PEM.
    pub(crate) fn to_pem(&self) -> String {
        format!("{}{}", self.certificate_pem, self.key_pem)
    }
}
