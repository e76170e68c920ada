//! Certificate of a server, and a certificate authority that signs this one certificate only: its private key is discarded
//! at once.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::{Duration, SystemTime},
};

use orchestra_api::condition::Reason;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

use crate::{DriverError, SecretText, provision_context::SecretData};

/// Secret key of the certificate.
pub(crate) const CERTIFICATE: &str = "tls.crt";
/// Secret key of its private key.
pub(crate) const KEY: &str = "tls.key";
/// Secret key of the CA certificate.
pub(crate) const CA: &str = "ca.crt";
/// Secret key of the hosts that it was issued for.
const MADE_FOR: &str = "made-for";
/// Secret key of the time of renewal, in seconds since 1970.
const RENEW_AFTER: &str = "renew-after";

const DAY: Duration = Duration::from_hours(24);
/// Common platforms refuse a serving certificate that is valid for more than 825 days.
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(2 * 365 * 24);
const RENEWAL_PERIOD: Duration = Duration::from_hours(90 * 24);

/// True if a secret key belongs to a certificate.
#[cfg(feature = "template")]
pub(crate) fn is_own(key: &str) -> bool {
    [CERTIFICATE, KEY, CA, MADE_FOR, RENEW_AFTER].contains(&key)
}

/// The certificate, renewed if it is for other hosts or about to expire.
pub(crate) fn renewed(
    is: &SecretData,
    hosts: &BTreeSet<String>,
    now: SystemTime,
) -> Result<SecretData, DriverError> {
    let made_for = hosts.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let text = |key: &str| is.get(key).and_then(|value| std::str::from_utf8(value.expose()).ok());
    let is_fresh = text(RENEW_AFTER)
        .and_then(|text| text.parse().ok())
        .is_some_and(|renew_after| seconds(now) < renew_after);
    let is_whole = [CERTIFICATE, KEY, CA].iter().all(|key| is.contains_key(*key));
    if is_whole && is_fresh && text(MADE_FOR) == Some(&made_for) {
        return Ok(is.clone());
    }
    let mut contents = issue(hosts, now)?;
    contents.insert(MADE_FOR.to_owned(), SecretText::new(made_for.into_bytes()));
    Ok(contents)
}

/// New certificate for these hosts and for this machine.
fn issue(hosts: &BTreeSet<String>, now: SystemTime) -> Result<SecretData, DriverError> {
    let mut names = vec![
        SanType::DnsName("localhost".try_into().map_err(broken)?),
        SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        SanType::IpAddress(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ];
    for host in hosts {
        let name = match host.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) if is_name(host) => SanType::DnsName(host.as_str().try_into().map_err(broken)?),
            Err(_) => {
                return Err(refused(format!(
                    "No certificate can be issued for {host:?}: `hosts` must list host names such as `shop.localhost`, or IP addresses."
                )));
            }
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    made(names, now).map_err(broken)
}

fn made(names: Vec<SanType>, now: SystemTime) -> Result<SecretData, rcgen::Error> {
    let authority_key = KeyPair::generate()?;
    let mut authority = parameters("orchestra development authority", now);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let ca = authority.self_signed(&authority_key)?;
    let key = KeyPair::generate()?;
    let mut server = parameters("orchestra development", now);
    server.subject_alt_names = names;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = server.signed_by(&key, &Issuer::new(authority, authority_key))?;
    let renew_after = seconds(now + CERTIFICATE_LIFETIME - RENEWAL_PERIOD);
    let contents = [
        (CERTIFICATE, certificate.pem()),
        (KEY, key.serialize_pem()),
        (CA, ca.pem()),
        (RENEW_AFTER, renew_after.to_string()),
    ];
    Ok(contents.map(|(key, text)| (key.to_owned(), SecretText::new(text.into_bytes()))).into())
}

fn parameters(name: &str, now: SystemTime) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.not_before = (now - DAY).into();
    parameters.not_after = (now + CERTIFICATE_LIFETIME).into();
    parameters
}

fn refused(message: String) -> DriverError {
    DriverError::refused(Reason::BindingFailed, message)
}

fn broken(why: impl std::fmt::Display) -> DriverError {
    DriverError::transient(Reason::BindingPending, format!("The certificate could not be issued: {why}."))
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// True if a text is a valid host name; the first label may be `*`.
pub(crate) fn is_name(host: &str) -> bool {
    let is_part = |part: &str| {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !part.is_empty() && part.len() <= 63 && part.chars().all(is_inside) && !part.starts_with('-')
    };
    host.len() <= 253 && host.strip_prefix("*.").unwrap_or(host).split('.').all(is_part)
}
