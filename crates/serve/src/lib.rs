//! TLS listener for an axum router: certificates, TLS, HTTP/1.1 and HTTP/2, limits of connections, graceful shutdown.
//!
//! A first start makes its own certificate authority and a kubeconfig, so that `kubectl` works at once and nothing is
//! served in clear text. Later starts reuse them: copies of the kubeconfig stay valid. Servers without a data directory
//! share a [`CertBundle`] that is stored elsewhere.
//!
//! The modules, from disk to wire: `private_file` reads and writes secrets, `credential` is a certificate with its key,
//! `certificate` reads its subject and expiry, `authority` issues and verifies them, `identity` is the set of one data
//! directory, `kubeconfig` hands it to clients, `token_key` is the key for tokens of a data directory, `cert_bundle` is a set
//! without a directory, `tls` configures the protocol, `connection` speaks TLS and HTTP with one client within the
//! `connection_limits`, `peer` is that client, `server` accepts connections, `error` is what fails. `probes` is a listener of its own
//! for health checks.

mod authority;
mod cert_bundle;
mod certificate;
mod connection;
mod connection_limits;
mod credential;
mod error;
mod identity;
mod kubeconfig;
mod peer;
mod private_file;
mod probes;
mod server;
#[cfg(test)]
mod tests;
mod tls;
mod token_key;

pub use cert_bundle::CertBundle;
pub use connection_limits::ConnectionLimits;
pub use error::ServeError;
pub use peer::Peer;
pub use probes::Probes;
pub use server::Server;
pub use token_key::token_key;
