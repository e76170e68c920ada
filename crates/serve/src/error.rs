//! Errors at start-up, with their remedies.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process uses the address.
    #[error(
        "cannot listen on {address}: address already in use; stop the other process or choose another port with --listen"
    )]
    AddressTaken {
        /// Requested address.
        address: SocketAddr,
    },
    /// The system refuses the address for another reason.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// Requested address.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// A file or folder cannot be read, written or protected.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// Failed action, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The content of a file is invalid.
    #[error("{} is damaged: {reason}; {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Fault of the content.
        reason: String,
        /// Remedy for the user.
        remedy: String,
    },
    /// Clients trust an authority whose key is gone.
    #[error("{} is missing, but {} still trusts it; {remedy}", path.display(), kubeconfig.display())]
    AuthorityMissing {
        /// Expected file of the authority.
        path: PathBuf,
        /// Kubeconfig that trusts the authority.
        kubeconfig: PathBuf,
        /// Remedy for the user.
        remedy: String,
    },
    /// The authority has expired, so clients reject its certificates.
    #[error("the certificate authority in {} has expired; {remedy}", path.display())]
    AuthorityExpired {
        /// The file of the authority.
        path: PathBuf,
        /// Remedy for the user.
        remedy: String,
    },
    /// A certificate cannot be issued.
    #[error("cannot issue a certificate: {0}")]
    Issue(#[from] rcgen::Error),
    /// TLS rejects the certificates.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}
