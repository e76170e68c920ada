//! Status of a Workload on one machine: phase, reason, message and addresses, and when it is composed again.

use std::{collections::BTreeMap, time::Duration};

use orchestra_api::{
    Reason,
    exposure::{Exposure, Scope},
    plan::{self, Container, ExposureTarget, Kind, Phase, WorkloadPlanSpec},
};

use super::{
    ProgramDecision,
    rollback::{READY_TIMEOUT, Rollback},
};
use crate::{driver::Observation, endpoint};

/// Time that adopted programs have to become ready before a status is published: their first probe comes within a second,
/// and until then the status of the earlier platform holds.
pub(super) const ADOPTION_GRACE_PERIOD: Duration = Duration::from_secs(2);
/// Retry of a port that another program holds; nothing announces that it is free.
pub(super) const PORT_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Check whether a route has another address; the engine changes it without an event.
const ROUTE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Observed state of a Workload.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Revision of the desired plan.
    pub desired_revision: &'a str,
    /// The plan in force: the desired one, or the last good one.
    pub plan: &'a WorkloadPlanSpec,
    /// Rollback of the desired plan.
    pub rollback: Rollback<'a>,
    /// The last published status.
    pub published: Option<&'a Observation>,
    /// Addresses of its routes, by claim key.
    pub routes: &'a BTreeMap<String, String>,
    /// True if this machine enforces limits.
    pub has_limits: bool,
}

/// Status of a Workload, from the decision about its programs.
pub fn observe(snapshot: &Snapshot<'_>, decision: ProgramDecision) -> Observation {
    let Snapshot { plan, rollback, .. } = *snapshot;
    let is_ready = decision.phase == Phase::Ready;
    let is_unlimited = is_ready && !matches!(rollback, Rollback::Done(_)) && !snapshot.has_limits;
    let decision = decision.with_rollback(rollback);
    let message = decision.message.or_else(|| unlimited(plan).filter(|_| is_unlimited));
    Observation {
        revision: Some(snapshot.desired_revision.to_owned()),
        phase: decision.phase,
        reason: Some(decision.reason),
        message,
        exposures: exposures(plan, snapshot.routes, is_ready),
        placed_on: None,
    }
}

/// Status of a Workload that cannot start because a port is not available; `conflict` is a sentence about it.
pub fn port_conflict(snapshot: &Snapshot<'_>, conflict: String) -> Observation {
    Observation {
        revision: Some(snapshot.desired_revision.to_owned()),
        phase: Phase::Degraded,
        reason: Some(Reason::NetworkUnavailable),
        message: Some(snapshot.rollback.add_to(conflict)),
        ..snapshot.published.cloned().unwrap_or_default()
    }
}

/// True if the status of programs that were adopted this long ago replaces that of the earlier platform: it is conclusive, or
/// their first probe is overdue.
pub(super) fn is_adoption_over(
    plan: &WorkloadPlanSpec,
    decision: &ProgramDecision,
    elapsed: Duration,
) -> bool {
    decision.phase != Phase::Provisioning || plan.lifecycle.suspend || elapsed >= ADOPTION_GRACE_PERIOD
}

/// Delay after which to decide again about a version that was started this long ago, if no event comes first.
pub(super) fn requeue_after(
    plan: &WorkloadPlanSpec,
    decision: &ProgramDecision,
    rollback: Rollback<'_>,
    elapsed: Duration,
) -> Option<Duration> {
    let is_rolled_back = matches!(rollback, Rollback::Done(_));
    let may_fail = decision.phase != Phase::Ready && !is_rolled_back && !plan.lifecycle.suspend;
    let late = may_fail.then(|| READY_TIMEOUT.saturating_sub(elapsed)).filter(|rest| !rest.is_zero());
    let is_routed = |exposure: &plan::Exposure| matches!(exposure.target, ExposureTarget::ClaimKey(_));
    let route = plan.exposures.iter().any(is_routed).then_some(ROUTE_CHECK_INTERVAL);
    decision.requeue.into_iter().chain(late).chain(route).min()
}

/// Addresses of a Workload.
fn exposures(plan: &WorkloadPlanSpec, routes: &BTreeMap<String, String>, reachable: bool) -> Vec<Exposure> {
    let address = |target: &ExposureTarget| match target {
        ExposureTarget::Port(name) => {
            let port = plan.ports.get(name)?;
            Some(format!("{}://localhost:{}", endpoint::scheme(name, port), port.port))
        }
        ExposureTarget::ClaimKey(key) => routes.get(key).cloned(),
    };
    let exposures = plan.exposures.iter().filter_map(|exposure| {
        Some(Exposure {
            url: address(&exposure.target)?,
            priority: exposure.priority,
            scope: Some(Scope::Local),
            scheme_hint: None,
            reachable: Some(reachable),
        })
    });
    exposures.collect()
}

/// Message for limits that this machine does not enforce.
fn unlimited(plan: &WorkloadPlanSpec) -> Option<String> {
    let has_limits = |container: &&Container| !container.limits.is_empty();
    plan.containers.values().find(has_limits)?;
    let what = match plan.kind {
        Kind::Service => "Running",
        Kind::Job => "Completed",
    };
    Some(format!("{what}. CPU and memory limits are not enforced on this machine."))
}
