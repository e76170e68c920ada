//! What is decided about one Workload: a value that the controller carries out and that `plan` prints.

use std::collections::BTreeMap;

use orchestra_api::{
    ResourceClaim, WorkloadExposure, WorkloadPlan,
    condition::{Finding, Reason},
};
use serde::Serialize;

use crate::{explain::Explanation, status::Basis};

/// What is decided about one Workload. Only what differs from what is there is written: carried out twice, it
/// writes nothing.
#[derive(Clone, Debug)]
#[must_use]
pub struct Decision {
    /// What becomes of the finalizer that keeps the Workload until everything of it is gone.
    pub finalizer: Finalizer,
    /// Claims to write.
    pub claims: Vec<ResourceClaim>,
    /// The plan to write.
    pub plan: Option<WorkloadPlan>,
    /// The exposure to write.
    pub exposure: Option<WorkloadExposure>,
    /// What to delete, after everything was written.
    pub delete: Vec<Doomed>,
    /// What the status is made of, once it is known what was written.
    pub basis: Basis,
    /// Why all this.
    pub explanation: Explanation,
}

/// What becomes of a finalizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Finalizer {
    /// It is as it should be.
    Unchanged,
    /// It is put on before anything is made.
    Add,
    /// It is taken off: nothing is left.
    Remove,
}

/// An object to delete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Doomed {
    /// What it is.
    pub kind: DoomedKind,
    /// Its name.
    pub name: String,
    /// Its uid: another object that bears the name by then is spared.
    pub uid: String,
}

/// Kinds of objects that a decision deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum DoomedKind {
    /// A claim.
    ResourceClaim,
    /// The plan.
    WorkloadPlan,
    /// The exposure.
    WorkloadExposure,
}

impl Decision {
    /// Whether there is nothing to write or delete, the status apart.
    pub fn is_settled(&self) -> bool {
        let Self { finalizer, claims, plan, exposure, delete, basis: _, explanation: _ } = self;
        *finalizer == Finalizer::Unchanged
            && claims.is_empty()
            && plan.is_none()
            && exposure.is_none()
            && delete.is_empty()
    }
}

/// What came of carrying out a decision: each object as the API now holds it, or why it was refused.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// Claims, by name: those that were written.
    pub claims: BTreeMap<String, Result<ResourceClaim, Denied>>,
    /// The plan, if it was written.
    pub plan: Option<Result<WorkloadPlan, Denied>>,
    /// The exposure, if it was written.
    pub exposure: Option<Result<WorkloadExposure, Denied>>,
    /// Why the rest could not be carried out now; it is tried again.
    pub trouble: Option<String>,
}

impl Applied {
    /// What was refused.
    pub fn denials(&self) -> impl Iterator<Item = &Denied> {
        let Self { claims, plan, exposure, trouble: _ } = self;
        let claims = claims.values().filter_map(|answer| answer.as_ref().err());
        let plan = plan.iter().filter_map(|answer| answer.as_ref().err());
        let exposure = exposure.iter().filter_map(|answer| answer.as_ref().err());
        claims.chain(plan).chain(exposure)
    }
}

/// Why the API did not take an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// In a word.
    pub reason: Reason,
    /// In a sentence.
    pub message: String,
}

impl From<&Denied> for Finding {
    fn from(denied: &Denied) -> Self {
        Self::bad(denied.reason, denied.message.clone())
    }
}
