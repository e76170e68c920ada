//! What is special about a platform on a cluster: several processes share one identity, one lease and one certificate,
//! and users find the server by what it publishes.

mod certificate;
mod published;
mod serve;

pub(super) use published::{CERTIFICATES, PUBLISHED, URL, WITHIN};
pub(super) use serve::serve;

/// The lease for which processes contend.
pub(super) const LEASE: &str = "orchestra";
/// The Secret with the certificate that all processes share.
pub(super) const SERVING: &str = "orchestra-serving";
