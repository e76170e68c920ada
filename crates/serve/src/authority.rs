//! Certificate authority of one data directory: issues and verifies certificates.

use crate::ServeError;
use crate::certificate::Facts;
use crate::credential::Credential;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Prefix of the common name of every authority. The rest is unique, so that clients of another data directory report
/// an unknown authority instead of a bad signature.
const NAME_PREFIX: &str = "orchestra-ca-";
const DAY: Duration = Duration::from_hours(24);
const AUTHORITY_LIFETIME: Duration = Duration::from_hours(10 * 365 * 24);
/// Common platforms accept serving certificates of at most 825 days.
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(2 * 365 * 24);
/// Certificates that expire sooner are renewed at the next start.
const RENEW_BEFORE_EXPIRY: Duration = Duration::from_hours(90 * 24);

/// Certificate authority with its key.
pub(crate) struct Authority {
    credential: Credential,
    issuer: Issuer<'static, KeyPair>,
    expires: SystemTime,
    server_verifier: Arc<WebPkiServerVerifier>,
    client_verifier: Arc<dyn ClientCertVerifier>,
}

impl Authority {
    /// New authority.
    pub(crate) fn create(now: SystemTime) -> Result<Self, ServeError> {
        let key = KeyPair::generate()?;
        let name = key
            .public_key_raw()
            .iter()
            .skip(1)
            .take(4)
            .fold(NAME_PREFIX.to_owned(), |name, byte| format!("{name}{byte:02x}"));
        let expires = now + AUTHORITY_LIFETIME;
        let mut parameters = authority_parameters(&name);
        parameters.not_before = (now - DAY).into();
        parameters.not_after = expires.into();
        let certificate = parameters.self_signed(&key)?;
        Self::assemble(Credential::new(&certificate, &key), parameters, key, expires)
    }

    /// Authority of an earlier start; `None` if the credential is not one of ours.
    pub(crate) fn restore(credential: Credential) -> Result<Option<Self>, ServeError> {
        let Some(facts) = Facts::of(&credential.certificate) else { return Ok(None) };
        match (facts.common_name, KeyPair::try_from(&credential.key)) {
            (Some(name), Ok(key)) if name.starts_with(NAME_PREFIX) => {
                Self::assemble(credential, authority_parameters(&name), key, facts.expires).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn assemble(
        credential: Credential,
        parameters: CertificateParams,
        key: KeyPair,
        expires: SystemTime,
    ) -> Result<Self, ServeError> {
        let provider = provider();
        let mut roots = RootCertStore::empty();
        roots.add(credential.certificate.clone())?;
        let roots = Arc::new(roots);
        let verifier_failed = |error: rustls::server::VerifierBuilderError| {
            ServeError::Tls(rustls::Error::General(error.to_string()))
        };
        Ok(Self {
            credential,
            issuer: Issuer::new(parameters, key),
            expires,
            server_verifier: WebPkiServerVerifier::builder_with_provider(
                Arc::clone(&roots),
                Arc::clone(&provider),
            )
            .build()
            .map_err(verifier_failed)?,
            client_verifier: WebPkiClientVerifier::builder_with_provider(roots, provider)
                .allow_unauthenticated()
                .build()
                .map_err(verifier_failed)?,
        })
    }

    /// Certificate and key of the authority.
    pub(crate) fn credential(&self) -> &Credential {
        &self.credential
    }

    /// True if clients no longer accept certificates of the authority.
    pub(crate) fn has_expired(&self, now: SystemTime) -> bool {
        self.expires <= now
    }

    /// Verifier that accepts clients without a certificate, and those with one of this authority.
    pub(crate) fn client_verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::clone(&self.client_verifier)
    }

    /// Serving certificate for these names.
    pub(crate) fn issue_serving(
        &self,
        names: &[ServerName<'static>],
        now: SystemTime,
    ) -> Result<Credential, ServeError> {
        let mut parameters = parameters("orchestra");
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        for name in names {
            match name {
                ServerName::DnsName(name) => {
                    parameters.subject_alt_names.push(SanType::DnsName(name.as_ref().try_into()?));
                }
                ServerName::IpAddress(address) => {
                    parameters.subject_alt_names.push(SanType::IpAddress((*address).into()));
                }
                _ => {}
            }
        }
        self.issue(parameters, now)
    }

    /// Client certificate of the user `name` in the group.
    pub(crate) fn issue_client(
        &self,
        name: &str,
        group: &str,
        now: SystemTime,
    ) -> Result<Credential, ServeError> {
        let mut parameters = parameters(name);
        parameters.distinguished_name.push(DnType::OrganizationName, group);
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(parameters, now)
    }

    fn issue(&self, mut parameters: CertificateParams, now: SystemTime) -> Result<Credential, ServeError> {
        let key = KeyPair::generate()?;
        parameters.not_before = (now - DAY).into();
        parameters.not_after = (now + CERTIFICATE_LIFETIME).into();
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.use_authority_key_identifier_extension = true;
        let certificate = parameters.signed_by(&key, &self.issuer)?;
        Ok(Credential::new(&certificate, &key))
    }

    /// True if clients accept the certificate under all names, now and until its renewal.
    pub(crate) fn vouches_for_server(
        &self,
        certificate: &CertificateDer<'_>,
        names: &[ServerName<'_>],
        now: SystemTime,
    ) -> bool {
        [now, now + RENEW_BEFORE_EXPIRY].map(unix_time).into_iter().all(|at| {
            names
                .iter()
                .all(|name| self.server_verifier.verify_server_cert(certificate, &[], name, &[], at).is_ok())
        })
    }

    /// True if the server accepts the client certificate, now and until its renewal.
    pub(crate) fn vouches_for_client(&self, certificate: &CertificateDer<'_>, now: SystemTime) -> bool {
        [now, now + RENEW_BEFORE_EXPIRY]
            .map(unix_time)
            .into_iter()
            .all(|at| self.client_verifier.verify_client_cert(certificate, &[], at).is_ok())
    }
}

/// Crypto provider of the server, independent of the process default.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn authority_parameters(name: &str) -> CertificateParams {
    let mut parameters = parameters(name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    parameters
}

fn parameters(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}

fn unix_time(time: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
