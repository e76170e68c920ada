//! What talks to the world: runtimes, which run plans, and provisioners, which provide what claims ask for.
//!
//! Controllers see only the two traits, [`Runtime`] and [`Provisioner`]; the binary decides by cargo features which
//! implementations there are. Neither trait reads or writes objects of the API: what they need is handed to them,
//! what they find they hand back, and the controllers report it.

#[cfg(any(feature = "template", all(feature = "process", target_os = "linux")))]
mod certificate;
#[cfg(any(feature = "kubernetes", feature = "template"))]
mod events;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
pub mod neighbourhood;
#[cfg(any(feature = "kubernetes", all(feature = "process", target_os = "linux")))]
mod news;
#[cfg(all(feature = "process", target_os = "linux"))]
pub mod process;
pub mod provisioner;
#[cfg(any(feature = "template", all(feature = "process", target_os = "linux")))]
mod random;
pub mod runtime;
pub mod secret;
#[cfg(feature = "static")]
pub mod static_engine;
#[cfg(feature = "template")]
pub mod template;

pub use neighbourhood::Neighbourhood;
pub use provisioner::{Provisioner, Released};
pub use runtime::{LogLine, LogWish, Observation, Removed, Runtime, Target};
pub use secret::{SecretText, Secrets};

use orchestra_api::Reason;

/// Why a driver could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// It may work later: it is tried again, and users are told meanwhile.
    #[error("{message}")]
    Transient {
        /// In a word.
        reason: Reason,
        /// In a neutral sentence.
        message: String,
    },
    /// It will not work as it is asked for.
    #[error("{message}")]
    Refused {
        /// In a word.
        reason: Reason,
        /// In a neutral sentence.
        message: String,
    },
}

impl DriverError {
    /// Something cannot be reached now.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self::Transient { reason: Reason::NetworkUnavailable, message: message.into() }
    }
}
