//! Reactions to watch events: which object is reconciled after a change, and when.
//!
//! A controller writes in one pass what another one reads. These functions leave out or delay reconciles that would find nothing
//! to do; each names the later event that enqueues.

mod relist;

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use orchestra_api::{ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};

pub use self::relist::Relist;
use crate::{
    claim_state::{is_bound, is_deleting},
    endpoint,
    provision::service_ref,
    run::{is_in_progress, is_ready},
    status::{ADDRESS_DEBOUNCE, FIRST_STATUS_DEBOUNCE},
    workload_state,
};

/// Change of an object, as a watch reports it.
#[derive(Clone, Copy, Debug)]
pub struct WatchedChange<'a> {
    /// Metadata before, as far as the watch has reported the object.
    pub previous: Option<&'a ObjectMeta>,
    /// Metadata now.
    pub current: &'a ObjectMeta,
    /// True if the object was deleted.
    pub gone: bool,
    /// True if it is the answer to a write of our own.
    pub echo: bool,
}

/// Origin of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Our workload controller created the object.
    OwnCreation,
    /// One of our controllers wrote the status, a finalizer or an annotation.
    OwnReport,
    /// Anything else.
    Other,
}

/// Reaction of a queue to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueue {
    /// None.
    No,
    /// At once.
    Now,
    /// After this time.
    After(Duration),
}

impl WatchedChange<'_> {
    /// True if more than the status has changed. Finalizers, and annotations of our own, are records of the controller that wrote
    /// them.
    pub fn is_more_than_status(&self) -> bool {
        let is = self.current;
        self.gone
            || self.previous.is_none_or(|was| {
                (was.generation, &was.labels, &was.deletion_timestamp)
                    != (is.generation, &is.labels, &is.deletion_timestamp)
                    || was.annotations != is.annotations && !self.echo
            })
    }

    /// Origin of the change.
    pub fn origin(&self) -> Origin {
        if self.echo && self.previous.is_none() && !self.gone {
            Origin::OwnCreation
        } else if self.echo && !self.is_more_than_status() {
            Origin::OwnReport
        } else {
            Origin::Other
        }
    }
}

/// Minimum time between two counts of the Workloads of all policies.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);
/// Addition to that for each Workload, so that counting stays a small part of the work.
const COUNT_INTERVAL_PER_WORKLOAD: Duration = Duration::from_micros(500);

/// Delay of the next count of all Workloads by their policies: changes are gathered, since the counts are for people.
pub fn count_delay(workloads: usize) -> Duration {
    let workloads = u32::try_from(workloads).unwrap_or(u32::MAX);
    COUNT_INTERVAL.max(COUNT_INTERVAL_PER_WORKLOAD.saturating_mul(workloads))
}

/// True if a change of a Workload, a claim, a plan or an exposure may change the counts of policies.
pub fn to_policies(change: &WatchedChange<'_>) -> bool {
    change.is_more_than_status()
}

/// True if a change of a policy enqueues all Workloads and the policies.
pub fn policy_to_all(change: &WatchedChange<'_>) -> bool {
    change.is_more_than_status()
}

/// True if a change of a Workload enqueues it. Our own write of the status or the finalizer leaves nothing to do.
pub fn workload_to_workload(change: &WatchedChange<'_>) -> bool {
    !change.echo
}

/// True if a change of a Workload enqueues the claims of its namespace that refer to Workloads: it appeared, disappeared, or changed
/// its ports.
pub fn workload_to_referring_claims(
    change: &WatchedChange<'_>,
    previous: Option<&Workload>,
    current: &Workload,
) -> bool {
    let was = previous.and_then(service_ref::ports);
    change.is_more_than_status() && (change.gone || was != service_ref::ports(current))
}

/// True if a change of a claim enqueues its instance. The claim controller knows what it reported.
pub fn claim_to_instance(change: &WatchedChange<'_>) -> bool {
    change.origin() != Origin::OwnReport
}

/// True if any change of a plan enqueues the instance of a claim of the same Workload: the claim was deleted, and kept for what ran.
pub fn plan_to_instance(claim: &ResourceClaim) -> bool {
    is_deleting(claim)
}

/// True if a change of a plan enqueues it. The plan controller knows what it reported.
pub fn plan_to_plan(change: &WatchedChange<'_>) -> bool {
    change.origin() != Origin::OwnReport
}

/// Reaction of the workload queue to a change of a plan.
pub fn plan_to_workload(origin: Origin, plan: &WorkloadPlan) -> Enqueue {
    let status = plan.status.as_ref();
    match origin {
        // The workload controller knows what it created.
        Origin::OwnCreation => Enqueue::No,
        // The plan controller has added its finalizer.
        Origin::OwnReport if status.is_none() => Enqueue::No,
        Origin::OwnReport if is_in_progress(status) => Enqueue::After(FIRST_STATUS_DEBOUNCE),
        Origin::OwnReport | Origin::Other => Enqueue::Now,
    }
}

/// Reaction of the workload queue to a change of an exposure, given the cached plan and Workload of its name.
pub fn exposure_to_workload(
    origin: Origin,
    exposure: &WorkloadExposure,
    plan: Option<&WorkloadPlan>,
    workload: Option<&Workload>,
) -> Enqueue {
    match origin {
        Origin::OwnCreation => Enqueue::No,
        // The report that the plan is ready follows, and enqueues at once.
        Origin::OwnReport if !plan.is_some_and(is_ready) => Enqueue::After(ADDRESS_DEBOUNCE),
        Origin::OwnReport if workload.is_some_and(|workload| is_mirrored(exposure, workload)) => Enqueue::No,
        Origin::OwnReport | Origin::Other => Enqueue::Now,
    }
}

/// True if a change of an exposure enqueues the plan of its name.
///
/// Most exposures are created just before their plan, whose creation enqueues. A plan without a status is still being reconciled
/// for the first time: [`crate::run::requeue`] finds an exposure that is created during that.
pub fn exposure_to_plan(change: &WatchedChange<'_>, plan: Option<&WorkloadPlan>) -> bool {
    let is_unreported = plan.is_none_or(|plan| plan.status.is_none());
    change.is_more_than_status() && !(change.origin() == Origin::OwnCreation && is_unreported)
}

/// True if a Workload is ready as it was last applied. After a start, others are reconciled first.
pub fn is_settled_workload(workload: &Workload) -> bool {
    workload_state::is_ready(workload) && !workload_state::is_deleting(workload)
}

/// True if a plan is ready as it was last written. After a start, others are reconciled first.
pub fn is_settled_plan(plan: &WorkloadPlan) -> bool {
    is_ready(plan) && plan.metadata.deletion_timestamp.is_none()
}

/// True if a claim is bound as it was last written. After a start, others are reconciled first.
pub fn is_settled_claim(claim: &ResourceClaim) -> bool {
    is_bound(claim) && !is_deleting(claim)
}

/// True if the status of the Workload already has the address.
fn is_mirrored(exposure: &WorkloadExposure, workload: &Workload) -> bool {
    let published = exposure.status.as_ref().map(|status| status.exposures.as_slice());
    let status = workload.status.as_ref();
    status.is_some_and(|status| status.endpoint == endpoint::mirror(published, status.endpoint.as_deref()))
}

#[cfg(test)]
mod tests;
