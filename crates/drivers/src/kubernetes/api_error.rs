//! Failed requests about the objects of a Workload, as [`DriverError`].

use kube::Error;
use orchestra_api::Reason;
use orchestra_core::{
    Denied,
    denial::{Denial, NotFound},
};

use super::kind::Kind;
use crate::{DriverError, api_error};

/// Error of a request about an object of a kind.
pub(super) fn driver_error(kind: Kind, name: &str, error: Error) -> DriverError {
    let (status, source) = match api_error::answer(kind.named().0, name, error) {
        Ok(answer) => answer,
        Err(error) => return error,
    };
    if kind == Kind::HttpRoute && NotFound::of(&status) == Some(NotFound::Kind) {
        return DriverError::unwatched(
            Reason::RuntimeSelecting,
            "The Gateway API is not installed on the cluster: the platform's administrators must install it, or publish routes in another way.",
        );
    }
    api_error::driver_error(&status, Reason::RuntimeProvisioning, |denial, denied| {
        match denial {
        Denial::Invalid if kind == Kind::Secret => Denied {
            message: "Rejected as invalid by the cluster: the variables and files that refer to secrets. Check their names and their size.".to_owned(),
            ..denied
        },
        _ => denied,
    }
    })
    .with_source(source)
}

/// Error for a foreign object of the same name.
pub(super) fn name_conflict(kind: Kind, name: &str) -> DriverError {
    DriverError::unwatched(
        Reason::RuntimeDegraded,
        format!(
            "{} named `{name}` already exists in this namespace and is not managed for this workload: rename the workload, or delete it.",
            api_error::noun(kind.named().0)
        ),
    )
}

/// Error for a previous object that is still being deleted.
pub(super) fn being_deleted() -> DriverError {
    DriverError::transient(Reason::RuntimeProvisioning, "Stopping the previous version.")
}
