//! The parameters of a claim, and what cannot be had because of them.

use orchestra_api::condition::Reason;
use orchestra_core::provision::{Instance, params};

use crate::DriverError;

pub(super) use orchestra_core::provision::params::listed;

/// What the platform's document and the author say together.
pub(super) struct Params(params::Params);

impl Params {
    /// The parameters of an instance of a type that knows these.
    pub(super) fn read(instance: &Instance, known: &[&str]) -> Result<Self, DriverError> {
        let mut given = instance.entry.params.clone();
        given.extend(instance.params.clone());
        params::Params::read(&instance.type_, &instance.entry, given, known).map(Self).map_err(refused)
    }

    /// What is said of parameters that are not used.
    pub(super) fn warning(&self) -> Option<&str> {
        self.0.warning.as_deref()
    }

    /// A text, or a number as text.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, DriverError> {
        self.0.text(key).map_err(refused)
    }

    /// A list of texts; empty if there is none.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, DriverError> {
        self.0.texts(key).map_err(refused)
    }
}

/// It cannot be had as it is asked for.
pub(super) fn refused(message: impl Into<String>) -> DriverError {
    DriverError::Refused { reason: Reason::BindingFailed, message: message.into() }
}

/// This machine does not let the platform do its work; it is tried again.
pub(super) fn broken(why: impl std::fmt::Display) -> DriverError {
    DriverError::Transient {
        reason: Reason::BindingPending,
        message: format!("This machine cannot provide it at the moment: {why}."),
    }
}
