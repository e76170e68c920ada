//! Error of a reconcile.

use kube::core::Status;
use orchestra_core::decision::{Fault, RetryCause};
use thiserror::Error as ThisError;

use crate::engine::deserialize_guard::InvalidObject;

/// Error of a reconcile. [`Error::is_conflict`] decides how it is retried.
#[derive(Debug, ThisError)]
pub enum Error {
    /// A request to the API failed.
    #[error("{0}")]
    Api(#[source] Box<kube::Error>),
    /// An object was changed or replaced while it was being deleted.
    #[error("changed during its deletion: {0}")]
    Changed(#[source] Box<kube::Error>),
    /// An object could not be serialized.
    #[error("failed to serialize an object: {0}")]
    Serialize(#[source] serde_json::Error),
    /// The object in the answer to a write cannot be deserialized.
    #[error("the answer of the API cannot be deserialized: {0}")]
    InvalidAnswer(#[source] Box<InvalidObject>),
    /// An object was deleted during the reconcile.
    #[error("the {kind} `{name}` was deleted during the reconcile")]
    Gone {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// An object that was made for a deleted Workload still exists.
    #[error("the {kind} `{name}` of the Workload still exists")]
    Leftover {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// An object that was made for a deleted Workload is invalid, and a finalizer keeps it.
    #[error("{0}")]
    InvalidLeftover(Fault),
    /// Core decided to retry with backoff.
    #[error(transparent)]
    Retry(#[from] RetryCause),
}

impl Error {
    /// True if a new reconcile helps: it is retried at once, and with backoff after many in a row. Any other error is retried with
    /// backoff.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Api(_) => self.status().is_some_and(|status| status.code == 409),
            Self::Changed(_) | Self::Gone { .. } | Self::Leftover { .. } => true,
            Self::Serialize(_) | Self::InvalidAnswer(_) | Self::InvalidLeftover(_) | Self::Retry(_) => false,
        }
    }

    /// Answer of the API to a request that failed.
    pub(crate) fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(error) => match &**error {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }

    /// Fault for the status of a Workload, without the text of the client.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Api(error) | Self::Changed(error) => match &**error {
                kube::Error::Api(status) => Fault::of(status),
                kube::Error::SerdeError(_) => Fault::Internal,
                _ => Fault::Unavailable,
            },
            Self::InvalidLeftover(fault) => fault.clone(),
            Self::Serialize(_)
            | Self::InvalidAnswer(_)
            | Self::Gone { .. }
            | Self::Leftover { .. }
            | Self::Retry(_) => Fault::Internal,
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Api(Box::new(error))
    }
}
