//! Rollback: a version that does not become ready gives way to the last good one.

use std::time::Duration;

use orchestra_api::{
    Reason,
    plan::{Kind, Phase, WorkloadPlanSpec},
};

use super::ProgramDecision;

/// Time that a new version has to become ready before the last good one runs again: enough for a build that runs at start.
pub(super) const READY_TIMEOUT: Duration = Duration::from_mins(2);
/// Time that a new version waits for a port before the last good one runs again: a stopped program frees its port within
/// its grace period of ten seconds.
pub(super) const PORT_WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Rollback to the last good version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollback<'a> {
    /// Not needed, or there is no other version.
    None,
    /// The last good version is in force, because of this failure of the desired one.
    Done(&'a str),
    /// The last good version cannot be started, for this reason.
    Unavailable(&'a str),
}

impl ProgramDecision {
    /// Adds a rollback to the status.
    #[must_use]
    pub fn with_rollback(self, rollback: Rollback<'_>) -> Self {
        match rollback {
            Rollback::Done(why) => {
                let state = if self.phase == Phase::Ready { "is running again" } else { "is being started" };
                let message = format!(
                    "Rolled back: the new version did not become ready, and the last good version {state}. {why} Correct it and apply it again."
                );
                Self {
                    phase: Phase::Degraded,
                    reason: Reason::RuntimeDegraded,
                    message: Some(message),
                    ..self
                }
            }
            Rollback::Unavailable(_) if self.phase != Phase::Ready => {
                let message = Some(rollback.add_to(self.message.unwrap_or_default()));
                Self { message, ..self }
            }
            Rollback::None | Rollback::Unavailable(_) => self,
        }
    }
}

impl Rollback<'_> {
    /// Message about a version that is not ready, with the reason why it does not give way to the last good one.
    pub fn add_to(self, message: String) -> String {
        match self {
            Rollback::Unavailable(why) => {
                let message = format!("{message} Rollback to the last good version is not possible: {why}");
                message.trim_start().to_owned()
            }
            Rollback::None | Rollback::Done(_) => message,
        }
    }
}

/// Failure, as a sentence, that causes a rollback of a version that was started this long ago; `None` while it may still
/// become ready. A suspended version is never rolled back.
pub(super) fn failure(
    plan: &WorkloadPlanSpec,
    decision: &ProgramDecision,
    elapsed: Duration,
) -> Option<String> {
    if plan.lifecycle.suspend || decision.phase == Phase::Ready {
        return None;
    }
    let is_late = elapsed >= READY_TIMEOUT && !decision.is_working;
    let late = || decision.message.clone().unwrap_or_else(|| "It was not ready in time.".to_owned());
    decision.broken.clone().or_else(|| is_late.then(late))
}

/// True if a plan can be rolled back to an earlier good one. A job that has completed is nothing to go back to.
pub fn is_fallback(plan: &WorkloadPlanSpec, good: &WorkloadPlanSpec) -> bool {
    good.revision != plan.revision && plan.kind == Kind::Service && good.kind == Kind::Service
}
