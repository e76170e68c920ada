//! Subject and expiry of an X.509 certificate.
//!
//! Signatures, purposes and host names are verified by rustls; this module only reads certificates that rustls
//! accepted, or our own.

use rustls::pki_types::CertificateDer;
use std::time::SystemTime;
use yasna::models::ObjectIdentifier;
use yasna::tags::{TAG_IA5STRING, TAG_PRINTABLESTRING, TAG_UTCTIME, TAG_UTF8STRING};
use yasna::{ASN1Result, BERReader, BERReaderSeq, Tag};

const COMMON_NAME: [u64; 4] = [2, 5, 4, 3];
const ORGANIZATION: [u64; 4] = [2, 5, 4, 10];

/// Subject and expiry of a certificate.
pub(crate) struct Facts {
    pub(crate) common_name: Option<String>,
    pub(crate) organizations: Vec<String>,
    pub(crate) expires: SystemTime,
}

impl Facts {
    /// Reads the certificate; `None` if it is not an X.509 certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        yasna::parse_der(certificate, |reader| {
            reader.read_sequence(|parts| {
                let facts = parts.next().read_sequence(read_signed_part)?;
                skip(parts.next())?; // algorithm
                skip(parts.next())?; // signature
                Ok(facts)
            })
        })
        .ok()
    }
}

fn read_signed_part(parts: &mut BERReaderSeq<'_, '_>) -> ASN1Result<Facts> {
    parts.read_optional(|reader| reader.read_tagged(Tag::context(0), skip))?; // version
    skip(parts.next())?; // serial number
    skip(parts.next())?; // algorithm
    skip(parts.next())?; // issuer
    let expires = parts.next().read_sequence(|validity| {
        skip(validity.next())?; // not before
        read_time(validity.next())
    })?;
    let mut facts = Facts { common_name: None, organizations: Vec::new(), expires };
    parts.next().read_sequence_of(|relative_name| {
        relative_name.read_set_of(|attribute| {
            let (kind, value) = attribute.read_sequence(read_attribute)?;
            match value {
                Some(name) if kind.components() == &COMMON_NAME => facts.common_name = Some(name),
                Some(name) if kind.components() == &ORGANIZATION => facts.organizations.push(name),
                _ => {}
            }
            Ok(())
        })
    })?;
    skip(parts.next())?; // public key
    while parts.read_optional(skip)?.is_some() {} // extensions
    Ok(facts)
}

fn skip(reader: BERReader<'_, '_>) -> ASN1Result<()> {
    reader.read_der().map(drop)
}

/// Type of a name attribute, and its value if that is text.
fn read_attribute(parts: &mut BERReaderSeq<'_, '_>) -> ASN1Result<(ObjectIdentifier, Option<String>)> {
    let kind = parts.next().read_oid()?;
    let value = parts.next().read_tagged_der()?;
    let is_text = [TAG_UTF8STRING, TAG_PRINTABLESTRING, TAG_IA5STRING].contains(&value.tag());
    let text = is_text.then(|| String::from_utf8(value.value().to_vec()).ok()).flatten();
    Ok((kind, text))
}

fn read_time(reader: BERReader<'_, '_>) -> ASN1Result<SystemTime> {
    Ok(if reader.lookahead_tag()? == TAG_UTCTIME {
        (*reader.read_utctime()?.datetime()).into()
    } else {
        (*reader.read_generalized_time()?.datetime()).into()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::Facts;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use std::time::{Duration, UNIX_EPOCH};

    /// `openssl req -x509 -days 36500 -subj '/O=first/O=second/OU=ignored/CN=jane'`
    const FOREIGN: &str = "-----BEGIN CERTIFICATE-----
MIIB3DCCAYGgAwIBAgIUVH+0Yvdp41VzkcQmJyHvcv2/NjYwCgYIKoZIzj0EAwIwQjEOMAwGA1UECgwFZmlyc3QxDzANBgNVBAoM
BnNlY29uZDEQMA4GA1UECwwHaWdub3JlZDENMAsGA1UEAwwEamFuZTAgFw0yNjExMTYwMDQ1MTdaGA8yMTI2MTAyMzAwNDUxN1ow
QjEOMAwGA1UECgwFZmlyc3QxDzANBgNVBAoMBnNlY29uZDEQMA4GA1UECwwHaWdub3JlZDENMAsGA1UEAwwEamFuZTBZMBMGByqG
SM49AgEGCCqGSM49AwEHA0IABA9kKF2MPk5iqgejaetdN3vdgJgh+g+akxmmJ2yvEs1U1CryXKDZoxTeRI0mkfkJphcXdeI4V9Ef
jHdzHFUita2jUzBRMB0GA1UdDgQWBBSCnzLOHhIMGyYJUwr0/eQwSK0IoTAfBgNVHSMEGDAWgBSCnzLOHhIMGyYJUwr0/eQwSK0I
oTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDe05BkOaOLRyutONvVyM9J7JNo5z1pZEWwYWObXN/PEgIhANwr
WTWQC5Y0mjJY503fdh8A+Fv0CPDLo9ippcTVuuVo
-----END CERTIFICATE-----
";

    #[test]
    fn every_organization_of_the_subject_is_read() {
        let facts = Facts::of(&CertificateDer::from_pem_slice(FOREIGN.as_bytes()).unwrap()).unwrap();
        assert_eq!(facts.common_name.as_deref(), Some("jane"));
        assert_eq!(facts.organizations, ["first", "second"]);
        assert_eq!(facts.expires, UNIX_EPOCH + Duration::from_secs(4_948_389_917));
    }

    #[test]
    fn truncated_certificates_are_rejected() {
        let whole = CertificateDer::from_pem_slice(FOREIGN.as_bytes()).unwrap();
        for length in 0..whole.len() {
            assert!(Facts::of(&CertificateDer::from(&whole[..length])).is_none(), "{length} bytes");
        }
    }
}
