//! The file that tells `kubectl` and every other client where the server is and how to be its administrator.

use super::credential::Credential;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The values of a kubeconfig, as they stand in the file.
pub(super) struct Kubeconfig {
    server: String,
    authority: String,
    certificate: String,
    key: String,
}

impl Kubeconfig {
    /// A kubeconfig for the administrator of the server at this address.
    pub(super) fn new(address: SocketAddr, authority: &Credential, admin: &Credential) -> Self {
        Self {
            server: format!("https://{}", reachable(address)),
            authority: BASE64_STANDARD.encode(&authority.certificate_pem),
            certificate: BASE64_STANDARD.encode(&admin.certificate_pem),
            key: BASE64_STANDARD.encode(&admin.key_pem),
        }
    }

    /// Whether the file still leads to the server, as the administrator.
    ///
    /// Looks for the values and not for our layout: `kubectl config` may have changed the rest, for instance
    /// the namespace of the context, and such a change is worth keeping.
    pub(super) fn is_current(&self, text: &str) -> bool {
        text.lines().any(|line| line.trim() == format!("server: {}", self.server))
            && [&self.authority, &self.certificate, &self.key].into_iter().all(|value| text.contains(value))
    }

    /// The whole file.
    pub(super) fn to_yaml(&self) -> String {
        let Self { server, authority, certificate, key } = self;
        format!(
            "apiVersion: v1
kind: Config
clusters:
- name: orchestra
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: orchestra
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: orchestra
  context:
    cluster: orchestra
    user: orchestra
current-context: orchestra
"
        )
    }
}

/// Whether the clients of this file trust the authority.
pub(super) fn trusts(text: &str, authority: &Credential) -> bool {
    text.contains(&BASE64_STANDARD.encode(&authority.certificate_pem))
}

/// The address that a client on this machine can dial: a server on all interfaces is also on the loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
