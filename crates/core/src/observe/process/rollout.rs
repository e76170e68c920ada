//! Rollout of a version on one machine: the version in force, what is recorded about it, and the next step.
//!
//! A version that becomes ready is recorded as the last good one. A version that fails, or waits too long for a port, is
//! recorded as failed, and the last good one is in force until another version is desired.

use std::{collections::BTreeMap, time::Duration};

use orchestra_api::plan::{Kind, Phase, WorkloadPlanSpec};
use serde::{Deserialize, Serialize};

use super::{
    ProgramDecision,
    rollback::{PORT_WAIT_TIMEOUT, Rollback, failure},
    status::{ADOPTION_GRACE_PERIOD, PORT_CHECK_INTERVAL, is_adoption_over, requeue_after},
};

/// Recorded state of a Workload. It outlives the platform, and has no secrets: a plan holds references to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadState {
    /// Uid of the Workload.
    pub workload: String,
    /// Last version that was ready.
    #[serde(default)]
    pub good: Option<WorkloadPlanSpec>,
    /// Version that did not become ready and gave way to the last good one.
    #[serde(default)]
    pub failed: Option<FailedVersion>,
    /// Consecutive failures of the containers of a job.
    #[serde(rename = "tries", default)]
    pub failures: BTreeMap<String, u32>,
    /// Revision of the job that these failures belong to.
    #[serde(rename = "tried", default)]
    pub failures_revision: String,
}

/// Version that did not become ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedVersion {
    /// Its revision.
    pub revision: String,
    /// Sentence about the failure.
    pub why: String,
}

/// Versions of a Workload that can be in force.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    /// The desired version.
    pub desired: &'a WorkloadPlanSpec,
    /// The last good version.
    pub last_good: LastGood<'a>,
}

/// Last good version, if it differs from the desired one.
#[derive(Clone, Copy, Debug)]
pub enum LastGood<'a> {
    /// There is none.
    None,
    /// It can be started.
    Prepared(&'a WorkloadPlanSpec),
    /// It cannot be started, for the reason in this sentence.
    Unavailable(&'a str),
}

/// Observed state of the version in force, beside that of its containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Time since it was started.
    pub elapsed: Duration,
    /// Consecutive failures of its containers.
    pub failures: BTreeMap<String, u32>,
    /// Sentence about a port that is not available.
    pub port_conflict: Option<String>,
    /// Time since its programs were adopted, while the status of the earlier platform holds.
    pub adopted: Option<Duration>,
}

/// Step of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// State to record.
    pub state: WorkloadState,
    /// Next step of the rollout.
    pub next: Next,
}

/// Continuation of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The last good version is in force from now on: decide about its programs at once.
    RollBack,
    /// Start the programs of the decision, and decide again at once.
    Start,
    /// Publish that a port is not available, and decide again after this delay.
    PublishPortConflict {
        /// Sentence about the port.
        conflict: String,
        /// Delay.
        requeue: Duration,
    },
    /// Publish the status of the programs. Decide again after this delay, if no event comes first.
    Publish {
        /// Delay.
        requeue: Option<Duration>,
    },
    /// Keep the published status of adopted programs until their first probe, for at most this delay.
    KeepPublished {
        /// Delay.
        requeue: Duration,
    },
}

impl<'a> Versions<'a> {
    /// Rollback of the desired version. A suspended version is never rolled back.
    pub fn rollback(self, state: &'a WorkloadState) -> Rollback<'a> {
        let is_failed = |failed: &&FailedVersion| {
            !self.desired.lifecycle.suspend && failed.revision == self.desired.revision
        };
        match (self.last_good, state.failed.as_ref().filter(is_failed)) {
            (LastGood::Prepared(_), Some(failed)) => Rollback::Done(&failed.why),
            (LastGood::Unavailable(why), _) => Rollback::Unavailable(why),
            (LastGood::None | LastGood::Prepared(_), _) => Rollback::None,
        }
    }

    /// Version in force.
    pub fn in_force(self, state: &WorkloadState) -> &'a WorkloadPlanSpec {
        match (self.last_good, self.rollback(state)) {
            (LastGood::Prepared(good), Rollback::Done(_)) => good,
            _ => self.desired,
        }
    }
}

impl WorkloadState {
    /// Recorded failures of a revision.
    pub fn failures_of(&self, revision: &str) -> BTreeMap<String, u32> {
        if self.failures_revision == revision { self.failures.clone() } else { BTreeMap::new() }
    }

    /// State with the failures of a job: its retries are limited, also across restarts of the platform.
    fn with_failures(self, plan: &WorkloadPlanSpec, failures: &BTreeMap<String, u32>) -> Self {
        if plan.kind != Kind::Job || failures.is_empty() {
            return self;
        }
        Self { failures: failures.clone(), failures_revision: plan.revision.clone(), ..self }
    }
}

/// Next step of a rollout, after the decision about the programs of the version in force.
pub fn advance(
    versions: Versions<'_>,
    state: &WorkloadState,
    decision: &ProgramDecision,
    observed: &Observed,
) -> Step {
    let (rollback, plan) = (versions.rollback(state), versions.in_force(state));
    let Observed { elapsed, failures, port_conflict, adopted } = observed;
    let (state, is_suspended) = (state.clone(), plan.lifecycle.suspend);
    if let Some(why) = rollback_cause(plan, decision, observed)
        && rollback == Rollback::None
        && matches!(versions.last_good, LastGood::Prepared(_))
    {
        let failed = Some(FailedVersion { revision: plan.revision.clone(), why });
        return Step { state: WorkloadState { failed, ..state }, next: Next::RollBack };
    }
    if let Some(conflict) = port_conflict.clone() {
        return Step { state, next: Next::PublishPortConflict { conflict, requeue: PORT_CHECK_INTERVAL } };
    }
    if !decision.start.is_empty() {
        return Step { state: state.with_failures(plan, failures), next: Next::Start };
    }
    let is_good = decision.phase == Phase::Ready && !matches!(rollback, Rollback::Done(_));
    let state = if is_suspended {
        // After a resume everything is tried again.
        WorkloadState { failed: None, failures: BTreeMap::new(), failures_revision: String::new(), ..state }
    } else if is_good {
        WorkloadState { good: Some(plan.clone()), failed: None, ..state }.with_failures(plan, failures)
    } else {
        state.with_failures(plan, failures)
    };
    let requeue = requeue_after(plan, decision, rollback, *elapsed);
    let next = match adopted {
        Some(since) if !is_adoption_over(plan, decision, *since) => {
            let requeue = requeue.map_or(ADOPTION_GRACE_PERIOD, |requeue| requeue.min(ADOPTION_GRACE_PERIOD));
            Next::KeepPublished { requeue }
        }
        _ => Next::Publish { requeue },
    };
    Step { state, next }
}

/// Failure, as a sentence, for which the version in force gives way to the last good one.
fn rollback_cause(
    plan: &WorkloadPlanSpec,
    decision: &ProgramDecision,
    observed: &Observed,
) -> Option<String> {
    match &observed.port_conflict {
        Some(conflict) => (observed.elapsed >= PORT_WAIT_TIMEOUT).then(|| conflict.clone()),
        // A version whose programs are started now may still become ready.
        None if !decision.start.is_empty() => None,
        None => failure(plan, decision, observed.elapsed),
    }
}

#[cfg(test)]
mod tests;
