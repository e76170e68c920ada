//! Parameters of a claim, and the errors of this engine.

use orchestra_api::condition::Reason;
use orchestra_core::provision::{
    Instance,
    params::{self, ParamError},
};

use crate::DriverError;

pub(super) use orchestra_core::provision::params::listed;

/// Parameters of the orchestrator config and of the author.
pub(super) struct Params(params::Params);

impl Params {
    /// Parameters of an instance of a type that has these.
    pub(super) fn read(instance: &Instance, known: &[&str]) -> Result<Self, DriverError> {
        let mut given = instance.entry.params.clone();
        given.extend(instance.params.clone());
        params::Params::read(&instance.type_, &instance.entry, given, known)
            .map(Self)
            .map_err(|error| invalid(&error))
    }

    /// Warning about unused parameters.
    pub(super) fn warning(&self) -> Option<&str> {
        self.0.warning.as_deref()
    }

    /// Text, or a number as text.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, DriverError> {
        self.0.text(key).map_err(|error| invalid(&error))
    }

    /// List of texts; empty if there is none.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, DriverError> {
        self.0.texts(key).map_err(|error| invalid(&error))
    }
}

fn invalid(error: &ParamError) -> DriverError {
    refused(error.to_string())
}

/// Error for a request that cannot succeed.
pub(super) fn refused(message: impl Into<String>) -> DriverError {
    DriverError::refused(Reason::BindingFailed, message.into())
}

/// Error of this machine; it is retried.
pub(super) fn unavailable(why: impl std::fmt::Display) -> DriverError {
    DriverError::transient(
        Reason::BindingPending,
        format!("This machine cannot provide it: {why}. Retrying."),
    )
}
