//! Everything between a socket and the router: certificates, TLS, HTTP, and an orderly end.
//!
//! A first start makes its own authority and a kubeconfig, so that `kubectl` works at once and nothing is
//! ever served in clear text. Later starts reuse them: a kubeconfig that somebody copied stays valid.
//!
//! The parts, from disk to wire: `private_file` reads and writes secrets, `credential` is a certificate with
//! its key, `authority` issues and checks them, `identity` is the set of one data directory, `kubeconfig`
//! hands it to clients, `keepsake` is a set that somebody else keeps, `connection` speaks TLS and HTTP with one of them, and `server` accepts them.

mod authority;
mod caller;
mod certificate;
mod connection;
mod credential;
mod error;
mod identity;
mod keepsake;
mod kubeconfig;
mod private_file;
mod server;
#[cfg(test)]
mod tests;
mod tls;

pub use error::ServeError;
pub use keepsake::Keepsake;
pub use server::Server;
