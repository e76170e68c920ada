//! A certificate for a server, and the authority that vouches for it and for nothing else: its key is
//! thrown away at once.

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

use crate::{DriverError, SecretText, neighbourhood::Contents};

/// The key of the certificate.
pub(crate) const CERTIFICATE: &str = "tls.crt";
/// The key of its private key.
pub(crate) const KEY: &str = "tls.key";
/// The key of the certificate of the authority.
pub(crate) const CA: &str = "ca.crt";
/// The key that says for which hosts it was made.
const MADE_FOR: &str = "made-for";
/// The key that says when it is to be made anew, in seconds.
const RENEW_AFTER: &str = "renew-after";

const DAY: Duration = Duration::from_hours(24);
/// The longest that common platforms accept of a serving certificate is 825 days.
const LIFETIME: Duration = Duration::from_hours(2 * 365 * 24);
const RENEWAL: Duration = Duration::from_hours(90 * 24);

/// Whether a key belongs to a certificate.
#[cfg(feature = "template")]
pub(crate) fn is_own(key: &str) -> bool {
    [CERTIFICATE, KEY, CA, MADE_FOR, RENEW_AFTER].contains(&key)
}

/// Makes a certificate anew where it is for other hosts, or about to end.
pub(crate) fn renewed(
    is: &Contents,
    hosts: &BTreeSet<String>,
    now: SystemTime,
) -> Result<Contents, DriverError> {
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

/// A new certificate for these hosts and for this machine.
fn issue(hosts: &BTreeSet<String>, now: SystemTime) -> Result<Contents, DriverError> {
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
                    "There is no certificate for {host:?}: `hosts` has to list names such as `shop.localhost`, or addresses."
                )));
            }
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    made(names, now).map_err(broken)
}

fn made(names: Vec<SanType>, now: SystemTime) -> Result<Contents, rcgen::Error> {
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
    let renew_after = seconds(now + LIFETIME - RENEWAL);
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
    parameters.not_after = (now + LIFETIME).into();
    parameters
}

fn refused(message: String) -> DriverError {
    DriverError::Refused { reason: Reason::BindingFailed, message }
}

fn broken(why: impl std::fmt::Display) -> DriverError {
    DriverError::Transient {
        reason: Reason::BindingPending,
        message: format!("No certificate can be made at the moment: {why}."),
    }
}

/// A time as seconds since 1970.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Whether a text can be the name of a host; the first part may be `*`.
pub(crate) fn is_name(host: &str) -> bool {
    let is_part = |part: &str| {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !part.is_empty() && part.len() <= 63 && part.chars().all(is_inside) && !part.starts_with('-')
    };
    host.len() <= 253 && host.strip_prefix("*.").unwrap_or(host).split('.').all(is_part)
}
