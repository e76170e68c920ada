//! Who calls, as far as the connection can tell.

use super::certificate::Facts;
use crate::access::Caller;
use rustls::pki_types::CertificateDer;

impl Caller {
    /// The holder of a certificate that our authority has signed; nobody, if it names no user.
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let facts = Facts::of(certificate)?;
        let name = facts.common_name.filter(|name| !name.is_empty())?;
        Some(Self { name, groups: facts.organizations })
    }
}
