//! Why the server cannot start, in words that say what to do about it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process listens there already.
    #[error("cannot listen on {address}: the port is taken; stop its owner or choose another with --listen")]
    AddressTaken {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The system refuses the address for another reason.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// A file or folder cannot be read, written or protected.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is there, but its content is of no use.
    #[error("{} is damaged: {reason}; {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// What the user can do.
        remedy: String,
    },
    /// Clients trust an authority whose key is gone.
    #[error("{} is missing, but {} still trusts it; {remedy}", path.display(), kubeconfig.display())]
    AuthorityMissing {
        /// Where the authority should be.
        path: PathBuf,
        /// The kubeconfig that was made with it.
        kubeconfig: PathBuf,
        /// What the user can do.
        remedy: String,
    },
    /// The authority is too old: no client accepts what it signs.
    #[error("the certificate authority in {} has expired; {remedy}", path.display())]
    AuthorityExpired {
        /// The file of the authority.
        path: PathBuf,
        /// What the user can do.
        remedy: String,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
    /// TLS refuses the certificates.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}
