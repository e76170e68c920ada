//! Decision about one Workload: a value that the controller executes and that `plan` prints.

use std::{collections::BTreeMap, fmt, time::Duration};

use kube::core::Status;
use orchestra_api::{
    ResourceClaim, WorkloadExposure, WorkloadPlan,
    condition::{Finding, Reason},
};
use serde::Serialize;

use crate::{
    denial::Denial,
    driver::DriverError,
    explain::Explanation,
    status::{ADDRESS_DEBOUNCE, BUSY_FIRST_STATUS_DEBOUNCE, FIRST_STATUS_DEBOUNCE, StatusInputs},
};

/// Decision about one Workload. It contains only what differs from the API: executed twice, it writes nothing.
#[derive(Clone, Debug)]
#[must_use]
pub struct Decision {
    /// Change of the finalizer that keeps the Workload until everything created for it is gone.
    pub finalizer: Finalizer,
    /// Claims to apply.
    pub claims: Vec<ResourceClaim>,
    /// Plan to apply.
    pub plan: Option<WorkloadPlan>,
    /// Exposure to apply.
    pub exposure: Option<WorkloadExposure>,
    /// Objects to delete, after everything was applied.
    pub delete: Vec<Deletion>,
    /// Inputs of the status. The rest is what the API answers to the writes.
    pub status_inputs: StatusInputs,
    /// Deferred write, with the reason.
    pub deferred: Vec<Deferral>,
    /// Explanation.
    pub explanation: Explanation,
}

/// Change of a finalizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Finalizer {
    /// No change.
    Unchanged,
    /// It is added before anything is created.
    Add,
    /// It is removed: nothing is left.
    Remove,
}

/// Object to delete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// Kind of the object.
    pub kind: DeletionKind,
    /// Name of the object.
    pub name: String,
    /// Precondition: another object that has the name by then is not deleted.
    pub uid: String,
}

/// Kinds of objects that a decision deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum DeletionKind {
    /// A claim.
    ResourceClaim,
    /// The plan.
    WorkloadPlan,
    /// The exposure.
    WorkloadExposure,
}

/// One write of a decision.
#[derive(Clone, Copy, Debug)]
pub enum Write<'a> {
    /// Add the finalizer to the Workload.
    AddFinalizer,
    /// Apply a claim.
    Claim(&'a ResourceClaim),
    /// Apply the plan.
    Plan(&'a WorkloadPlan),
    /// Apply the exposure.
    Exposure(&'a WorkloadExposure),
    /// Delete an object.
    Delete(&'a Deletion),
    /// Fail if the API still has an object that was created for the Workload. The cache may lag behind, and nobody would remove what is
    /// left after this.
    EnsureNoLeftovers,
    /// Remove the finalizer of the Workload.
    RemoveFinalizer,
}

/// Deferred write, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Deferral {
    /// The namespace has not been observed, and with it which policies apply.
    NamespaceUnknown,
    /// The plan moves to another placement after the first report of its runtime: before that, an external runtime cannot see
    /// that something was created.
    Move,
    /// The only change of the status is that provisioning started, and a built-in runtime reports more within a moment.
    /// One write covers both.
    FirstStatus,
    /// The only change of the status is an address, and a built-in runtime publishes it just before it reports that the
    /// plan is ready. One write covers both.
    Address,
}

impl Deferral {
    /// True if the deferral of a status ends after some time, so that its start has to be remembered.
    pub fn is_timed(self) -> bool {
        matches!(self, Self::FirstStatus | Self::Address)
    }

    /// True if users can notice it: a first status comes as soon as they look for it.
    pub fn is_noticeable(self) -> bool {
        self != Self::FirstStatus
    }
}

impl fmt::Display for Deferral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamespaceUnknown => f.write_str("waiting until the namespace has been observed"),
            Self::Move => f.write_str("the move starts after the first report of the current runtime"),
            Self::FirstStatus => write!(
                f,
                "the first status is written with the first report of the runtime, or after {FIRST_STATUS_DEBOUNCE:?} ({BUSY_FIRST_STATUS_DEBOUNCE:?} while many wait)"
            ),
            Self::Address => write!(
                f,
                "the address is written with the report of the runtime that it is ready, or after {ADDRESS_DEBOUNCE:?}"
            ),
        }
    }
}

/// When an object is reconciled again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requeue {
    /// When something changes.
    #[default]
    OnChange,
    /// After this time, or when something changes.
    After(Duration),
    /// With backoff, after this error.
    Backoff(RetryCause),
}

/// Error after which an object is reconciled again with backoff.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RetryCause {
    /// A driver failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A write failed or was denied.
    #[error(transparent)]
    Write(#[from] Fault),
}

impl Decision {
    /// Writes in crash-safe order: nothing is lost if the controller dies in between.
    pub fn writes(&self) -> impl Iterator<Item = Write<'_>> {
        // A runtime that starts a new plan needs the exposure to publish. Later the exposure records the planned generation, and
        // follows the plan.
        let is_new = self.status_inputs.live_exposure.is_none();
        let exposure =
            |first: bool| self.exposure.iter().filter(move |_| is_new == first).map(Write::Exposure);
        let (first, last): (&[Write<'_>], &[Write<'_>]) = match self.finalizer {
            Finalizer::Unchanged => (&[], &[]),
            Finalizer::Add => (&[Write::AddFinalizer], &[]),
            Finalizer::Remove => (&[], &[Write::EnsureNoLeftovers, Write::RemoveFinalizer]),
        };
        first
            .iter()
            .copied()
            .chain(self.claims.iter().map(Write::Claim))
            .chain(exposure(true))
            .chain(self.plan.iter().map(Write::Plan))
            .chain(exposure(false))
            .chain(self.delete.iter().map(Write::Delete))
            .chain(last.iter().copied())
    }

    /// True if there is nothing to write or delete, the status apart.
    pub fn is_settled(&self) -> bool {
        self.writes().next().is_none()
    }
}

/// Answers of the API to the writes of a decision.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// Applied claims, by name.
    pub claims: BTreeMap<String, Result<ResourceClaim, Denied>>,
    /// The plan, if it was applied.
    pub plan: Option<Result<WorkloadPlan, Denied>>,
    /// The exposure, if it was applied.
    pub exposure: Option<Result<WorkloadExposure, Denied>>,
    /// Fault that stopped the remaining writes; they are retried.
    pub fault: Option<Fault>,
}

/// Fault that stopped the writes of a decision. Its text is for users; the error itself belongs into the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The API denied a write.
    Denied(Denied),
    /// The API did not answer, or failed.
    Unavailable,
    /// An object that was created for a deleted Workload is invalid, and a finalizer keeps it.
    InvalidLeftover {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// Its finalizer.
        finalizer: String,
    },
    /// A fault of the orchestrator itself.
    Internal,
}

impl Fault {
    /// Fault that the answer of the API to a write means.
    pub fn of(status: &Status) -> Self {
        let denial = Denial::of(status);
        denial.map_or(Self::Unavailable, |denial| Self::Denied(denial.describe(&status.message)))
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denied) => f.write_str(&denied.message),
            Self::Unavailable => f.write_str("The API of the platform is unavailable."),
            Self::InvalidLeftover { kind, name, finalizer } => write!(
                f,
                "The {kind} `{name}` cannot be deserialized and has the finalizer `{finalizer}`: correct or delete it."
            ),
            Self::Internal => f.write_str("Internal error; the log of the orchestrator has the details."),
        }
    }
}

impl Applied {
    /// Writes that the API refused.
    pub fn denials(&self) -> impl Iterator<Item = &Denied> {
        let Self { claims, plan, exposure, fault: _ } = self;
        let claims = claims.values().filter_map(|answer| answer.as_ref().err());
        let plan = plan.iter().filter_map(|answer| answer.as_ref().err());
        let exposure = exposure.iter().filter_map(|answer| answer.as_ref().err());
        claims.chain(plan).chain(exposure)
    }
}

/// Write that the API denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// Reason for the condition.
    pub reason: Reason,
    /// Sentence for users.
    pub message: String,
    /// Raw answer of the API, for operators.
    #[serde(skip)]
    pub cause: String,
}

impl From<&Denied> for Finding {
    fn from(denied: &Denied) -> Self {
        Self::bad(denied.reason, denied.message.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_no_text_of_the_client_unless_it_concerns_the_user() {
        let status = |code, message: &str| Status { code, message: message.to_owned(), ..Status::default() };
        let failed = Fault::of(&status(500, "etcdserver: request timed out"));
        assert_eq!(failed, Fault::Unavailable);
        assert_eq!(failed.to_string(), "The API of the platform is unavailable.");
        let denied = Fault::of(&status(403, "User \"u\" cannot patch resource \"workloads\""));
        assert!(denied.to_string().starts_with("Permission denied: "), "{denied}");
    }
}
