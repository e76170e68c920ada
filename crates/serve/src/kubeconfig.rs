//! Kubeconfig of the administrator.

use crate::credential::Credential;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Values of a kubeconfig.
pub(crate) struct Kubeconfig {
    server: String,
    authority: String,
    certificate: String,
    key: String,
}

impl Kubeconfig {
    /// Kubeconfig of the administrator for the server at this address.
    pub(crate) fn new(address: SocketAddr, authority: &Credential, admin: &Credential) -> Self {
        Self {
            server: format!("https://{}", reachable(address)),
            authority: BASE64_STANDARD.encode(&authority.certificate_pem),
            certificate: BASE64_STANDARD.encode(&admin.certificate_pem),
            key: BASE64_STANDARD.encode(&admin.key_pem),
        }
    }

    /// True if the file still has the address and credentials.
    ///
    /// Only these values are compared: `kubectl config` may have changed the rest, such as the namespace of the context,
    /// and such changes are kept.
    pub(crate) fn is_current(&self, text: &str) -> bool {
        text.lines().any(|line| line.trim() == format!("server: {}", self.server))
            && [&self.authority, &self.certificate, &self.key].into_iter().all(|value| text.contains(value))
    }

    /// Content of the file.
    pub(crate) fn to_yaml(&self) -> String {
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

/// True if the kubeconfig trusts the authority.
pub(crate) fn trusts(text: &str, authority: &Credential) -> bool {
    text.contains(&BASE64_STANDARD.encode(&authority.certificate_pem))
}

/// Address for clients on this machine: the loopback if the server listens on all interfaces.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
