//! Drivers: runtimes, which run plans, and provisioners, which provide the instances that claims ask for.
//!
//! Controllers see only the two traits, [`Runtime`] and [`Provisioner`]; the binary decides by cargo features which
//! implementations it contains. Neither trait reads or writes objects of the API: controllers pass in what drivers need, and
//! write the status from what drivers return.

#[cfg(any(feature = "kubernetes", feature = "template"))]
mod api_error;
#[cfg(any(feature = "template", all(feature = "process", target_os = "linux")))]
mod certificate;
#[cfg(any(feature = "kubernetes", feature = "template"))]
mod crd;
#[cfg(any(feature = "kubernetes", feature = "template"))]
mod events;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
#[cfg(any(feature = "kubernetes", all(feature = "process", target_os = "linux")))]
mod notify;
#[cfg(all(feature = "process", target_os = "linux"))]
pub mod process;
pub mod program_access;
pub mod provision_context;
pub mod provisioner;
#[cfg(any(feature = "template", all(feature = "process", target_os = "linux")))]
mod random;
pub mod runtime;
pub mod secret;
#[cfg(feature = "static")]
pub mod static_engine;
#[cfg(feature = "template")]
pub mod template;
pub mod workload_origin;

/// Namespace, and name or identity in it.
pub type NamespacedName = (String, String);

pub use orchestra_core::driver::{DriverError, DriverErrorKind, Observation, Released, Removed, Target};
pub use program_access::ProgramAccess;
pub use provision_context::ProvisionContext;
pub use provisioner::Provisioner;
pub use runtime::{LogLine, LogQuery, Runtime};
pub use secret::{SecretText, Secrets};
pub use workload_origin::{WorkloadOrigin, WorkloadOrigins};
