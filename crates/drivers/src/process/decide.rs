//! Decision about the programs of one Workload: which to start and to stop, and the status that follows. Pure: the
//! supervisor observes, asks, acts, and asks again after an event or at the time that the decision names.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use orchestra_api::{
    condition::Reason,
    plan::{Kind, Phase, SUSPENDED, WorkloadPlanSpec},
};
use orchestra_score::model::{Protocol, Ready};

use super::program::restart_backoff;

/// Consecutive failures that make a crash loop, and after which a job is not retried: one may be chance, two a slow
/// dependency.
const MAX_FAILURES: u32 = 3;
/// Delay before the first restart; short, since a developer watches.
const FIRST_RESTART_BACKOFF: Duration = Duration::from_millis(500);

/// Time that a new version has to become ready before the last good one runs again: enough for a build that runs at start.
pub(super) const READY_TIMEOUT: Duration = Duration::from_mins(2);

/// Observed state of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContainerState {
    /// State of its last run.
    pub(super) run: RunState,
    /// True if the run is of the revision in force.
    pub(super) current: bool,
    /// True if it is ready.
    pub(super) ready: bool,
    /// True if its liveness probe has failed too often.
    pub(super) failed_liveness: bool,
    /// Consecutive failures.
    pub(super) failures: u32,
}

impl ContainerState {
    /// State of a container that has never run.
    pub(super) const ABSENT: Self =
        Self { run: RunState::Absent, current: false, ready: false, failed_liveness: false, failures: 0 };
}

/// State of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunState {
    /// There is none.
    Absent,
    /// It runs.
    Running,
    /// It was asked to stop.
    Stopping,
    /// It has exited.
    Ended {
        /// Exit code 0, and not because of a stop.
        success: bool,
        /// Part of a sentence: `exit code 1`.
        how: String,
        /// Time since the exit.
        ago: Duration,
    },
}

/// Decision about the programs of a Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// Containers to start.
    pub(super) start: Vec<String>,
    /// Containers to stop.
    pub(super) stop: Vec<String>,
    /// Delay after which to decide again, if no event comes first.
    pub(super) requeue: Option<Duration>,
    /// Phase.
    pub(super) phase: Phase,
    /// Reason of the phase.
    pub(super) reason: Reason,
    /// Sentence for users; `None` if the phase is enough.
    pub(super) message: Option<String>,
    /// True if a program is running to completion, however long it takes.
    pub(super) is_working: bool,
    /// Sentence about why the version will not become ready by itself.
    pub(super) broken: Option<String>,
}

/// Rollback to the last good version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rollback<'a> {
    /// Not needed, or there is no other version.
    None,
    /// The last good version is in force, because of this failure of the desired one.
    Done(&'a str),
    /// The last good version cannot be started, for this reason.
    Unavailable(&'a str),
}

impl Decision {
    /// Adds a rollback to the status.
    pub(super) fn with_rollback(self, rollback: Rollback<'_>) -> Self {
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
    pub(super) fn add_to(self, message: String) -> String {
        match self {
            Rollback::Unavailable(why) => {
                let message = format!("{message} Rollback to the last good version is not possible: {why}");
                message.trim_start().to_owned()
            }
            Rollback::None | Rollback::Done(_) => message,
        }
    }
}

/// Decides about the programs of a plan.
pub(super) fn decide(plan: &WorkloadPlanSpec, states: &BTreeMap<String, ContainerState>) -> Decision {
    let mut decision = Decision {
        start: Vec::new(),
        stop: Vec::new(),
        requeue: None,
        phase: Phase::Provisioning,
        reason: Reason::RuntimeProvisioning,
        message: None,
        is_working: false,
        broken: None,
    };
    let is_up = |state: &ContainerState| matches!(state.run, RunState::Running | RunState::Stopping);
    let is_stale = |name: &str, state: &ContainerState| {
        plan.lifecycle.suspend || !state.current || !plan.containers.contains_key(name)
    };
    // Other revisions go first: they may hold ports and volumes.
    let stale = states.iter().filter(|(name, state)| is_up(state) && is_stale(name, state));
    let stale: Vec<_> = stale.collect();
    if !stale.is_empty() {
        let running = stale.iter().filter(|(_, state)| state.run == RunState::Running);
        decision.stop = running.map(|(name, _)| (*name).clone()).collect();
        decision.message = Some("Stopping the previous version.".to_owned());
        return decision;
    }
    if plan.lifecycle.suspend {
        decision.phase = Phase::Pending;
        decision.message = Some(SUSPENDED.to_owned());
        return decision;
    }
    let state =
        |name: &str| states.get(name).filter(|state| state.current).unwrap_or(&ContainerState::ABSENT);
    let mut blocked = None;
    for name in plan.containers.keys() {
        let state = state(name);
        match &state.run {
            RunState::Running if state.failed_liveness => decision.stop.push(name.clone()),
            RunState::Running | RunState::Stopping => {}
            RunState::Ended { success: true, .. } if runs_once(plan, name) => {}
            RunState::Ended { ago, .. } => {
                let due = restart_backoff(FIRST_RESTART_BACKOFF, state.failures);
                if gives_up(plan, state) {
                } else if let Some(why) = blocked_by(plan, states, name) {
                    blocked = blocked.or(Some(why));
                } else if *ago >= due {
                    decision.start.push(name.clone());
                } else {
                    let rest = due.saturating_sub(*ago);
                    decision.requeue = Some(decision.requeue.map_or(rest, |requeue| requeue.min(rest)));
                }
            }
            RunState::Absent => match blocked_by(plan, states, name) {
                None => decision.start.push(name.clone()),
                Some(why) => blocked = blocked.or(Some(why)),
            },
        }
    }
    let is_working = |name: &&String| runs_once(plan, name) && state(name).run == RunState::Running;
    decision.is_working = plan.containers.keys().any(|name| is_working(&name));
    set_status(plan, &state, blocked, &mut decision);
    decision
}

/// Sets phase, reason and message of a decision.
fn set_status<'s>(
    plan: &WorkloadPlanSpec,
    state: &impl Fn(&str) -> &'s ContainerState,
    blocked: Option<String>,
    decision: &mut Decision,
) {
    let names: Vec<_> = plan.containers.keys().collect();
    let ended = names.iter().filter_map(|name| match state(name) {
        ContainerState { run: RunState::Ended { success, how, .. }, failures, .. }
            if !(*success && runs_once(plan, name)) =>
        {
            Some((*name, how, *failures))
        }
        _ => None,
    });
    // The container with the most failures, the first of several.
    let ended = ended.min_by_key(|(.., failures)| Reverse(*failures));
    let is_done = |name: &str| match &state(name).run {
        RunState::Running => state(name).ready && plan.kind == Kind::Service && !runs_once(plan, name),
        RunState::Ended { success: true, .. } => runs_once(plan, name),
        _ => false,
    };
    let is_unready = |name: &&&String| state(name).run == RunState::Running && !state(name).ready;
    if let Some((name, how, failures)) = ended {
        let is_crash_loop = failures >= MAX_FAILURES;
        if gives_up(plan, state(name)) {
            decision.phase = Phase::Failed;
            decision.message = Some(format!(
                "`{name}` failed {failures} times: {how}. See its log, correct it and apply it again."
            ));
        } else if is_crash_loop {
            decision.phase = Phase::Degraded;
            decision.message =
                Some(format!("`{name}` is in a crash loop: {how}. Restarting with backoff; see its log."));
        } else {
            decision.phase = Phase::Degraded;
            decision.message = Some(format!("`{name}` is not running: {how}. Restarting; see its log."));
        }
        decision.reason = Reason::RuntimeDegraded;
        decision.broken = is_crash_loop.then(|| format!("`{name}` is in a crash loop: {how}."));
    } else if names.iter().all(|name| is_done(name)) {
        decision.phase = Phase::Ready;
        decision.reason = Reason::Succeeded;
    } else if plan.kind == Kind::Job && blocked.is_none() {
        decision.message = Some("The job is running.".to_owned());
    } else if let Some(why) = blocked {
        decision.message = Some(why);
    } else if let Some(name) = names.iter().find(is_unready) {
        let has_probe =
            plan.containers.get(*name).is_some_and(|container| container.readiness_probe.is_some());
        let tcp = plan.ports.values().find(|port| port.protocol == Protocol::Tcp);
        decision.message = Some(match tcp.filter(|_| !has_probe) {
            Some(port) => {
                format!("`{name}` is not ready: nothing listens on port {} yet.", port.target_port)
            }
            None if has_probe => format!("`{name}` is not ready: its readiness probe has not succeeded yet."),
            None => format!("`{name}` is not ready yet."),
        });
    }
}

/// Failure, as a sentence, that causes a rollback of a version that was started this long ago; `None` while it may still
/// become ready. A suspended version is never rolled back.
pub(super) fn failure(plan: &WorkloadPlanSpec, decision: &Decision, elapsed: Duration) -> Option<String> {
    if plan.lifecycle.suspend || decision.phase == Phase::Ready {
        return None;
    }
    let is_late = elapsed >= READY_TIMEOUT && !decision.is_working;
    let late = || decision.message.clone().unwrap_or_else(|| "It was not ready in time.".to_owned());
    decision.broken.clone().or_else(|| is_late.then(late))
}

/// True if a container runs to completion: in a job, or because others wait for its end.
pub(super) fn runs_once(plan: &WorkloadPlanSpec, name: &str) -> bool {
    let awaited = plan.containers.get(name).map(|container| container.before.values());
    plan.kind == Kind::Job || awaited.into_iter().flatten().any(|ready| *ready == Ready::Complete)
}

/// True if a container of a job has failed often enough.
fn gives_up(plan: &WorkloadPlanSpec, state: &ContainerState) -> bool {
    let has_failed = matches!(state.run, RunState::Ended { success: false, .. });
    plan.kind == Kind::Job && state.failures >= MAX_FAILURES && has_failed
}

/// Sentence about the dependency in `before` that keeps a container from starting.
fn blocked_by(
    plan: &WorkloadPlanSpec,
    states: &BTreeMap<String, ContainerState>,
    name: &str,
) -> Option<String> {
    plan.containers.iter().find_map(|(other, container)| {
        let wanted = container.before.get(name)?;
        let state = states.get(other).filter(|state| state.current).unwrap_or(&ContainerState::ABSENT);
        let has_succeeded = matches!(state.run, RunState::Ended { success: true, .. });
        let (is_met, what) = match wanted {
            Ready::Started => (state.run == RunState::Running || has_succeeded, "start"),
            Ready::Healthy => (state.run == RunState::Running && state.ready, "be ready"),
            Ready::Complete => (has_succeeded, "complete"),
        };
        (!is_met).then(|| format!("`{name}` waits for `{other}` to {what}."))
    })
}

#[cfg(test)]
mod tests;
