//! Decisions about the programs of a Workload on one machine, and the status that follows.
//!
//! [`decide`] chooses which programs to start and to stop, [`restart`] delays a restart, [`rollout`] records good and failed
//! versions, [`rollback`] gives up a version that does not become ready, [`health`] interprets the results of probes,
//! [`status`] composes the status. The supervisor of the runtime observes, decides, acts, and decides again after an event or
//! at the time that the decision names.

pub mod health;
mod probe;
pub mod restart;
pub mod rollback;
pub mod rollout;
pub mod status;
#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use orchestra_api::{
    Reason,
    plan::{Kind, Phase, SUSPENDED, WorkloadPlanSpec},
};
use orchestra_score::model::{Protocol, Ready};

pub use probe::ProbeError;
use restart::{FIRST_RESTART_BACKOFF, STABLE_AFTER, restart_backoff};

/// Consecutive failures that make a crash loop: one may be chance, two a slow dependency.
const MAX_FAILURES: u32 = 3;

/// Observed state of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerState {
    /// State of its last run.
    pub run: RunState,
    /// True if the run is of the revision in force.
    pub current: bool,
    /// True if it is ready.
    pub ready: bool,
    /// Failure of its last readiness probe, or port that does not accept connections.
    pub probe_error: Option<ProbeError>,
    /// Time for which it has been ready.
    pub ready_for: Duration,
    /// True if its liveness probe has failed too often.
    pub failed_liveness: bool,
    /// Consecutive failures.
    pub failures: u32,
    /// End of the last run that failed, as part of a sentence: `exit code 1`.
    pub last_failure: Option<String>,
}

impl ContainerState {
    /// State of a container that has never run.
    pub const ABSENT: Self = Self {
        run: RunState::Absent,
        current: false,
        ready: false,
        probe_error: None,
        ready_for: Duration::ZERO,
        failed_liveness: false,
        failures: 0,
        last_failure: None,
    };
}

/// State of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunState {
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
pub struct ProgramDecision {
    /// Containers to start.
    pub start: Vec<String>,
    /// Containers to stop.
    pub stop: Vec<String>,
    /// Delay after which to decide again, if no event comes first.
    pub requeue: Option<Duration>,
    /// Phase.
    pub phase: Phase,
    /// Reason of the phase.
    pub reason: Reason,
    /// Sentence for users; `None` if the phase is enough.
    pub message: Option<String>,
    /// True if a program is running to completion, however long it takes.
    pub is_working: bool,
    /// Sentence about why the version will not become ready by itself.
    pub broken: Option<String>,
}

/// Decides about the programs of a plan.
pub fn decide(plan: &WorkloadPlanSpec, states: &BTreeMap<String, ContainerState>) -> ProgramDecision {
    let mut decision = ProgramDecision {
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
    decision: &mut ProgramDecision,
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
    let recovering = names.iter().filter(|name| is_recovering(plan, name, state(name)));
    // As above.
    let recovering = recovering.min_by_key(|name| Reverse(state(name).failures));
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
    } else if let Some(name) = recovering {
        let ContainerState { failures, ready_for, last_failure, .. } = state(name);
        let how = last_failure.as_deref().unwrap_or("it has failed");
        decision.phase = Phase::Degraded;
        decision.reason = Reason::RuntimeDegraded;
        decision.message = Some(if *failures >= MAX_FAILURES {
            format!("`{name}` is in a crash loop: {how}. Restarting with backoff; see its log.")
        } else {
            format!("`{name}` was restarted: {how}. Waiting until it keeps running; see its log.")
        });
        let rest = STABLE_AFTER.saturating_sub(*ready_for);
        decision.requeue = Some(decision.requeue.map_or(rest, |requeue| requeue.min(rest)));
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
        decision.message = Some(match &state(name).probe_error {
            Some(error) if has_probe => {
                format!("`{name}` is not ready: its readiness probe has not succeeded yet: {error}.")
            }
            None if has_probe => format!("`{name}` is not ready: its readiness probe has not succeeded yet."),
            Some(error) => format!("`{name}` is not ready: {error} yet."),
            None => format!("`{name}` is not ready yet."),
        });
    }
}

/// True if a restarted container has not run long enough to count as ready: between two crashes, a crash loop is no success. A
/// single failure counts only against a container whose readiness cannot be observed, by a probe or a port.
fn is_recovering(plan: &WorkloadPlanSpec, name: &str, state: &ContainerState) -> bool {
    let has_probe = plan.containers.get(name).is_some_and(|container| container.readiness_probe.is_some());
    let is_observable = has_probe || !implied_ports(plan, name).is_empty();
    let tolerated = if is_observable { MAX_FAILURES } else { 1 };
    let is_running = state.run == RunState::Running && !runs_once(plan, name);
    is_running && state.failures >= tolerated && state.ready_for < STABLE_AFTER
}

/// True if a container runs to completion: in a job, or because others wait for its end.
pub fn runs_once(plan: &WorkloadPlanSpec, name: &str) -> bool {
    let awaited = plan.containers.get(name).map(|container| container.before.values());
    plan.kind == Kind::Job || awaited.into_iter().flatten().any(|ready| *ready == Ready::Complete)
}

/// Ports that have to accept connections before a container is ready: those of the Workload, for a container that runs on
/// and has no readiness probe. Which container listens is unknown; before they are open, the Workload is not ready.
pub fn implied_ports(plan: &WorkloadPlanSpec, name: &str) -> Vec<u16> {
    let Some(container) = plan.containers.get(name) else { return Vec::new() };
    // Others may wait for it before they open those ports.
    let is_awaited = container.before.values().any(|ready| *ready == Ready::Healthy);
    if runs_once(plan, name) || container.readiness_probe.is_some() || is_awaited {
        return Vec::new();
    }
    let tcp = plan.ports.values().filter(|port| port.protocol == Protocol::Tcp);
    tcp.map(|port| port.target_port).collect()
}

/// True if a container of a job has failed often enough.
fn gives_up(plan: &WorkloadPlanSpec, state: &ContainerState) -> bool {
    let has_failed = matches!(state.run, RunState::Ended { success: false, .. });
    plan.kind == Kind::Job && state.failures >= crate::job::MAX_ATTEMPTS && has_failed
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
