//! Platform on a cluster: several processes share a lease and a certificate, and publish the address of the server.

mod certificate;
mod limits;
mod published;
mod serve;

pub(crate) use published::IN_CLUSTER_URL;
pub(super) use published::{CA_KEY, SERVER_CONFIG_MAP, URL_KEY};
pub(super) use serve::serve;

/// Lease of the leader.
pub(super) const LEASE: &str = "orchestra";
/// Secret with the serving certificate.
pub(super) const SERVING_SECRET: &str = "orchestra-serving";
