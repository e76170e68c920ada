//! What to do next about the processes of one Workload, and what to say of them. Pure: the shell looks, asks, acts, and
//! asks again when something has changed or the time has come that is named here.

use std::{collections::BTreeMap, time::Duration};

use orchestra_api::{
    condition::Reason,
    plan::{Kind, Phase, SUSPENDED, WorkloadPlanSpec},
};
use orchestra_score::model::{Protocol, Ready};

/// How often something may end in a row before it is called broken.
const PATIENCE: u32 = 3;
/// The wait before the first new start; it doubles from end to end.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait before a new start.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long a new version may take to become ready before the last good one runs again.
pub(super) const READY_WITHIN: Duration = Duration::from_mins(2);

/// What is known of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// How its last run fares.
    pub(super) run: Run,
    /// Whether its run is of the revision in force.
    pub(super) current: bool,
    /// Whether it can do its work.
    pub(super) ready: bool,
    /// Whether its check of life has failed for good.
    pub(super) dead: bool,
    /// How often it has ended in a row without having done its work in between.
    pub(super) failures: u32,
}

impl Part {
    /// A container of which there is nothing yet.
    pub(super) const ABSENT: Self =
        Self { run: Run::Absent, current: false, ready: false, dead: false, failures: 0 };
}

/// How a run fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// There is none.
    Absent,
    /// It runs.
    Running,
    /// It was told to end, and has not yet.
    Stopping,
    /// It has ended, this long ago.
    Ended {
        /// Whether it ended well.
        well: bool,
        /// How, as part of a sentence: `it ended with code 1`.
        how: String,
        /// How long ago.
        ago: Duration,
    },
}

/// What is to be done, and said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Containers to start.
    pub(super) start: Vec<String>,
    /// Containers to stop.
    pub(super) stop: Vec<String>,
    /// When to look again, if nothing happens before.
    pub(super) wake: Option<Duration>,
    /// How far it is.
    pub(super) phase: Phase,
    /// Why, in a word.
    pub(super) reason: Reason,
    /// Why, in a sentence; nothing if there is nothing to say but the phase.
    pub(super) message: Option<String>,
    /// Whether something is at work that runs to its end, however long it takes.
    pub(super) is_at_work: bool,
    /// Whether it will not become ready by itself, and why.
    pub(super) broken: Option<String>,
}

/// Decides about the processes of a plan.
pub(super) fn decide(plan: &WorkloadPlanSpec, parts: &BTreeMap<String, Part>) -> Step {
    let mut step = Step {
        start: Vec::new(),
        stop: Vec::new(),
        wake: None,
        phase: Phase::Provisioning,
        reason: Reason::RuntimeProvisioning,
        message: None,
        is_at_work: false,
        broken: None,
    };
    let is_up = |part: &Part| matches!(part.run, Run::Running | Run::Stopping);
    let is_stray = |name: &str, part: &Part| {
        plan.lifecycle.suspend || !part.current || !plan.containers.contains_key(name)
    };
    // First everything goes that is not of this revision: it may hold ports and volumes.
    let strays = parts.iter().filter(|(name, part)| is_up(part) && is_stray(name, part));
    let strays: Vec<_> = strays.collect();
    if !strays.is_empty() {
        let running = strays.iter().filter(|(_, part)| part.run == Run::Running);
        step.stop = running.map(|(name, _)| (*name).clone()).collect();
        step.message = Some("What ran before is being stopped.".to_owned());
        return step;
    }
    if plan.lifecycle.suspend {
        step.phase = Phase::Pending;
        step.message = Some(SUSPENDED.to_owned());
        return step;
    }
    let part = |name: &str| parts.get(name).filter(|part| part.current).unwrap_or(&Part::ABSENT);
    let mut awaited = None;
    for name in plan.containers.keys() {
        let part = part(name);
        match &part.run {
            Run::Running if part.dead => step.stop.push(name.clone()),
            Run::Running | Run::Stopping => {}
            Run::Ended { well: true, .. } if runs_once(plan, name) => {}
            Run::Ended { ago, .. } => {
                let due = wait_after(part.failures);
                if gives_up(plan, part) {
                } else if let Some(why) = holding_up(plan, parts, name) {
                    awaited = awaited.or(Some(why));
                } else if *ago >= due {
                    step.start.push(name.clone());
                } else {
                    let rest = due.saturating_sub(*ago);
                    step.wake = Some(step.wake.map_or(rest, |wake| wake.min(rest)));
                }
            }
            Run::Absent => match holding_up(plan, parts, name) {
                None => step.start.push(name.clone()),
                Some(why) => awaited = awaited.or(Some(why)),
            },
        }
    }
    let is_at_work = |name: &&String| runs_once(plan, name) && part(name).run == Run::Running;
    step.is_at_work = plan.containers.keys().any(|name| is_at_work(&name));
    say(plan, &part, awaited, &mut step);
    step
}

/// What is said of the containers together.
fn say<'p>(
    plan: &WorkloadPlanSpec,
    part: &impl Fn(&str) -> &'p Part,
    awaited: Option<String>,
    step: &mut Step,
) {
    let names: Vec<_> = plan.containers.keys().collect();
    let ended = names.iter().find_map(|name| match &part(name).run {
        Run::Ended { well, how, .. } if !(*well && runs_once(plan, name)) => Some((*name, how)),
        _ => None,
    });
    let tries = names.iter().map(|name| part(name).failures).max().unwrap_or_default();
    let done = |name: &str| match &part(name).run {
        Run::Running => part(name).ready && plan.kind == Kind::Service && !runs_once(plan, name),
        Run::Ended { well: true, .. } => runs_once(plan, name),
        _ => false,
    };
    if let Some((name, how)) = ended {
        let message = format!("`{name}` is not running: {how}.");
        if names.iter().any(|name| gives_up(plan, part(name))) {
            step.phase = Phase::Failed;
            step.message =
                Some(format!("{message} It was tried {tries} times; correct it and apply it again."));
        } else {
            step.phase = Phase::Degraded;
            let again = if tries >= PATIENCE { "again and again" } else { "again" };
            step.message = Some(format!("{message} It is started {again}; see its log."));
        }
        step.reason = Reason::RuntimeDegraded;
        step.broken = (tries >= PATIENCE).then_some(message);
    } else if names.iter().all(|name| done(name)) {
        step.phase = Phase::Ready;
        step.reason = Reason::Succeeded;
    } else if plan.kind == Kind::Job && awaited.is_none() {
        step.message = Some("It is running to its end.".to_owned());
    } else if let Some(why) = awaited {
        step.message = Some(why);
    } else if let Some(name) = names.iter().find(|name| part(name).run == Run::Running && !part(name).ready) {
        let is_checked =
            plan.containers.get(*name).is_some_and(|container| container.readiness_probe.is_some());
        let tcp = plan.ports.values().find(|port| port.protocol == Protocol::Tcp).filter(|_| !is_checked);
        let port = tcp.map(|port| format!(": something has to answer on port {}", port.target_port));
        step.message = Some(format!("Waiting for `{name}` to be ready{}.", port.unwrap_or_default()));
    }
}

/// What is wrong with a version that has not become ready this long after it was begun, so that the last good one should run
/// again. Nothing is wrong with one that was stopped on purpose, however long it rests.
pub(super) fn trouble(plan: &WorkloadPlanSpec, step: &Step, elapsed: Duration) -> Option<String> {
    if plan.lifecycle.suspend || step.phase == Phase::Ready {
        return None;
    }
    let is_late = elapsed >= READY_WITHIN && !step.is_at_work;
    let late = || step.message.clone().unwrap_or_else(|| "It took too long.".to_owned());
    step.broken.clone().or_else(|| is_late.then(late))
}

/// Whether a container runs to an end: as part of a job, or because others wait for its end.
pub(super) fn runs_once(plan: &WorkloadPlanSpec, name: &str) -> bool {
    let awaited = plan.containers.get(name).map(|container| container.before.values());
    plan.kind == Kind::Job || awaited.into_iter().flatten().any(|ready| *ready == Ready::Complete)
}

/// Whether a container of a job has been tried often enough.
fn gives_up(plan: &WorkloadPlanSpec, part: &Part) -> bool {
    plan.kind == Kind::Job && part.failures >= PATIENCE && matches!(part.run, Run::Ended { well: false, .. })
}

/// Why a container cannot be started yet: another one has not come far enough.
fn holding_up(plan: &WorkloadPlanSpec, parts: &BTreeMap<String, Part>, name: &str) -> Option<String> {
    plan.containers.iter().find_map(|(other, container)| {
        let wanted = container.before.get(name)?;
        let part = parts.get(other).filter(|part| part.current).unwrap_or(&Part::ABSENT);
        let ended_well = matches!(part.run, Run::Ended { well: true, .. });
        let (reached, what) = match wanted {
            Ready::Started => (part.run == Run::Running || ended_well, "be started"),
            Ready::Healthy => (part.run == Run::Running && part.ready, "be ready"),
            Ready::Complete => (ended_well, "end"),
        };
        (!reached).then(|| format!("`{name}` waits for `{other}` to {what}."))
    })
}

/// How long to wait after so many ends in a row.
fn wait_after(failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(doubled).min(LONGEST_WAIT)
}

#[cfg(test)]
#[path = "supervise_tests.rs"]
mod tests;
