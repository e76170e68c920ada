//! Answers of drivers: the inputs of decisions about what runs and what is provided.

use std::{error::Error, sync::Arc, time::Duration};

use orchestra_api::{
    Placement, WorkloadPlan,
    condition::Reason,
    exposure::Exposure,
    plan::{Phase, WorkloadPlanSpec},
};

/// Interval of checks on a [`DriverErrorKind::Unwatched`]: soon enough for somebody who has just fixed it, and each check is only
/// a few reads.
pub(crate) const UNWATCHED_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Kind of a [`DriverError`], which decides when the driver is called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverErrorKind {
    /// A fault that may pass. It is retried, and the status shows it meanwhile.
    Transient,
    /// A fault that no retry heals: the plan or the claim has to change.
    Refused,
    /// A fault that is fixed where nothing is watched, for example a foreign object of the same name, or a kind that is not
    /// installed. The status shows it like a refusal, and it is checked in intervals.
    Unwatched,
}

/// Error of a driver: a neutral sentence for users, and the cause for operators.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct DriverError {
    /// Kind, which decides about retries.
    pub kind: DriverErrorKind,
    /// Reason for the condition.
    pub reason: Reason,
    /// Neutral sentence for users.
    pub message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl DriverError {
    fn new(kind: DriverErrorKind, reason: Reason, message: impl Into<String>) -> Self {
        Self { kind, reason, message: message.into(), source: None }
    }

    /// A transient error.
    pub fn transient(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(DriverErrorKind::Transient, reason, message)
    }

    /// A transient error: something cannot be reached now.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self::transient(Reason::NetworkUnavailable, message)
    }

    /// An error that no retry heals.
    pub fn refused(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(DriverErrorKind::Refused, reason, message)
    }

    /// An error whose fix no watch reports.
    pub fn unwatched(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(DriverErrorKind::Unwatched, reason, message)
    }

    /// The same error with its cause, which is logged for operators. It must not quote the content of a Secret.
    #[must_use]
    pub fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }
}

/// Equality of what is reported; the cause does not count.
impl PartialEq for DriverError {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.reason, &self.message) == (other.kind, other.reason, &other.message)
    }
}

impl Eq for DriverError {}

/// A plan and where it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Namespace of the plan.
    pub namespace: String,
    /// Name of the plan, which is that of the Workload.
    pub name: String,
    /// Spec of the plan.
    pub plan: WorkloadPlanSpec,
}

impl Target {
    /// Target of a plan at the placement of its spec.
    pub fn of(plan: &WorkloadPlan) -> Self {
        Self {
            namespace: plan.metadata.namespace.clone().unwrap_or_default(),
            name: plan.metadata.name.clone().unwrap_or_default(),
            plan: plan.spec.clone(),
        }
    }

    /// The same plan at another placement.
    #[must_use]
    pub fn at(mut self, placement: &Placement) -> Self {
        self.plan.runtime_class.clone_from(&placement.runtime_class);
        self.plan.backend_id.clone_from(&placement.backend_id);
        self
    }
}

/// Observed state of what a runtime created for a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Revision that runs or is being rolled out; absent if nothing exists.
    pub revision: Option<String>,
    /// Phase of that revision.
    pub phase: Phase,
    /// Reason for the phase.
    pub reason: Option<Reason>,
    /// Neutral sentence for users.
    pub message: Option<String>,
    /// Addresses, whether or not they are reachable now. They are published once one is, and then until they are missing here.
    pub exposures: Vec<Exposure>,
    /// Node, machine or task it runs on, for platform engineers.
    pub placed_on: Option<String>,
}

/// Progress of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Nothing is left.
    Gone,
    /// Something is still stopping, described in a sentence. The runtime reports the change.
    Stopping(String),
}

/// Progress of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// The instance is released.
    Done,
    /// Something is still in progress, described in a sentence. The engine reports the change.
    Waiting(String),
}
