//! How a Workload fares in a Kubernetes cluster, by what the cluster says of the objects that were made for it.
//!
//! [`rollout`] and [`pod`] read what is needed from objects as they pass by, and [`news`] from what is told about them;
//! [`cause`] names what is wrong, [`words`] says it without the nouns of the cluster, and [`observe`] decides. What is
//! wrong is looked for only in copies of the revision that is wanted: what an older one suffers from is over soon.

pub mod cause;
pub mod check;
pub mod news;
pub mod pod;
pub mod rollout;
#[cfg(test)]
mod tests;
pub mod words;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use orchestra_api::{
    Reason,
    plan::{Kind, Phase, SUSPENDED, WorkloadPlanSpec},
};

pub use cause::{Cause, Crash};
pub use check::Check;
pub use pod::Pod;
pub use rollout::{Maker, Progress, Rollout};

/// How long a container that had crashed must run before it counts as mended.
pub const SETTLING: SignedDuration = SignedDuration::from_secs(10);

/// What is seen of a Workload.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The plan.
    pub plan: &'a WorkloadPlanSpec,
    /// What makes its copies, if it is there.
    pub rollout: Option<&'a Rollout>,
    /// Its copies.
    pub pods: &'a [Pod],
    /// The time of day.
    pub now: Timestamp,
}

/// What is told of a Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The revision that it is told about; absent if nothing is there.
    pub revision: Option<String>,
    /// How far it is.
    pub phase: Phase,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: Option<String>,
    /// Whether it can be reached now.
    pub is_reachable: bool,
    /// Whether it could be reached before, or can be now.
    pub was_reachable: bool,
}

/// What is to be told of a Workload.
pub fn observe(sight: &Sight<'_>) -> Told {
    let Some(rollout) = sight.rollout else {
        return Told {
            revision: None,
            phase: Phase::Pending,
            reason: Reason::RuntimeProvisioning,
            message: None,
            is_reachable: false,
            was_reachable: false,
        };
    };
    let (phase, reason, message) = if rollout.revision.as_deref() != Some(sight.plan.revision.as_str()) {
        (Phase::Provisioning, Reason::RuntimeProvisioning, None)
    } else if sight.plan.lifecycle.suspend {
        suspended(sight, rollout)
    } else if sight.plan.kind == Kind::Job {
        job(sight, rollout)
    } else {
        service(sight, rollout)
    };
    let is_reachable = rollout.available > 0 && !sight.plan.lifecycle.suspend;
    let was_up = rollout.progress == Progress::Done && rollout.desired > 0;
    Told {
        revision: rollout.revision.as_deref().map(str::to_owned),
        phase,
        reason,
        message,
        is_reachable,
        was_reachable: !sight.plan.lifecycle.suspend && (is_reachable || was_up),
    }
}

type Verdict = (Phase, Reason, Option<String>);

fn suspended(sight: &Sight<'_>, rollout: &Rollout) -> Verdict {
    let is_idle = rollout.is_noticed && rollout.total == 0 && sight.pods.iter().all(|pod| pod.is_over);
    if is_idle {
        (Phase::Pending, Reason::RuntimeProvisioning, Some(SUSPENDED.to_owned()))
    } else {
        let message = "What ran before is being stopped.".to_owned();
        (Phase::Provisioning, Reason::RuntimeProvisioning, Some(message))
    }
}

fn job(sight: &Sight<'_>, rollout: &Rollout) -> Verdict {
    match rollout.progress {
        Progress::Done => (Phase::Ready, Reason::Succeeded, None),
        Progress::Late => {
            let why = cause(sight, rollout).map(|cause| match cause {
                Cause::Crash(crash) => crash.final_told(),
                cause => cause.told().1,
            });
            let why = why.unwrap_or_default();
            let message = format!("It did not run to its end, and is not tried again. {why}");
            (Phase::Failed, Reason::RuntimeDegraded, Some(message.trim().to_owned()))
        }
        Progress::Going | Progress::Halted => match cause(sight, rollout) {
            Some(cause) => degraded(cause, false),
            None if rollout.available > 0 => {
                let message = "It is running to its end.".to_owned();
                (Phase::Provisioning, Reason::RuntimeProvisioning, Some(message))
            }
            None => starting(sight, rollout),
        },
    }
}

fn service(sight: &Sight<'_>, rollout: &Rollout) -> Verdict {
    // What crashed a moment ago may crash again: it does not count as up.
    let is_shaky = |pod: &&Pod| is_of(sight.plan, pod) && pod.is_ready && pod.is_shaky(sight.now);
    let shaky = u32::try_from(sight.pods.iter().filter(is_shaky).count()).unwrap_or(u32::MAX);
    let up = Rollout { available: rollout.available.saturating_sub(shaky), ..rollout.clone() };
    // What was up once stays ready while most of it is: copies come and go.
    let is_mostly_up = up.is_noticed
        && up.progress == Progress::Done
        && !up.has_old()
        && up.available > 0
        && up.available.saturating_mul(4) >= up.desired.saturating_mul(3);
    if up.is_complete() || is_mostly_up {
        return (Phase::Ready, Reason::Succeeded, None);
    }
    let is_old_serving = rollout.has_old() && rollout.available > 0;
    match cause(sight, rollout) {
        Some(cause) => degraded(cause, is_old_serving),
        None if rollout.progress == Progress::Late && rollout.is_noticed => {
            let message = "It did not become ready in time; see its log.";
            (Phase::Degraded, Reason::RuntimeDegraded, Some(with_old(message, is_old_serving)))
        }
        None => starting(sight, rollout),
    }
}

fn starting(sight: &Sight<'_>, rollout: &Rollout) -> Verdict {
    let awaited = current(sight).find_map(|pod| early(pod, rollout)).map(Check::awaited);
    (Phase::Provisioning, Reason::RuntimeProvisioning, awaited)
}

fn degraded(cause: &Cause, is_old_serving: bool) -> Verdict {
    let (reason, message) = cause.told();
    (Phase::Degraded, reason, Some(with_old(&message, is_old_serving)))
}

fn with_old(message: &str, is_old_serving: bool) -> String {
    if is_old_serving { format!("{message} The version before still runs.") } else { message.to_owned() }
}

/// What is wrong: with a copy of the revision that is wanted, else with the making of copies.
fn cause<'a>(sight: &Sight<'a>, rollout: &'a Rollout) -> Option<&'a Cause> {
    let own = current(sight).filter(|pod| !pod.is_ready || pod.is_shaky(sight.now));
    let own = own.filter_map(|pod| pod.own_cause(sight.now));
    let told = current(sight).filter(|pod| !pod.is_ready && early(pod, rollout).is_none());
    let told = told.filter_map(|pod| pod.told.as_deref());
    let made = rollout.cause.as_deref().filter(|_| rollout.is_noticed);
    own.chain(told).next().or(made)
}

/// The check of a copy that has not passed yet, and may still. It fails if the copy passed it before, was started again
/// already, or takes too long.
fn early<'a>(pod: &'a Pod, rollout: &Rollout) -> Option<&'a Check> {
    let is_starting = !pod.is_ready && pod.down_since.is_none() && pod.restarted.is_none();
    match pod.told.as_deref() {
        Some(Cause::Check(check)) if is_starting && rollout.progress != Progress::Late => {
            Some(check).filter(|check| !check.is_lasting)
        }
        _ => None,
    }
}

/// The copies of the revision that is wanted.
fn current<'a>(sight: &Sight<'a>) -> impl Iterator<Item = &'a Pod> {
    let Sight { plan, pods, .. } = *sight;
    pods.iter().filter(|pod| is_of(plan, pod) && !pod.is_leaving)
}

fn is_of(plan: &WorkloadPlanSpec, pod: &Pod) -> bool {
    pod.revision.as_deref() == Some(plan.revision.as_str())
}
