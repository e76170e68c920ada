//! Client of a connection, by its certificate.

use crate::certificate::Facts;
use rustls::pki_types::CertificateDer;

/// Holder of a client certificate that our authority signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Common name of the certificate: the user.
    pub name: String,
    /// Organizations of the certificate: the groups of the user.
    pub groups: Vec<String>,
}

impl Peer {
    /// Holder of a certificate; `None` if it has no common name.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let facts = Facts::of(certificate)?;
        let name = facts.common_name.filter(|name| !name.is_empty())?;
        Some(Self { name, groups: facts.organizations })
    }
}
