//! Status of a Workload in a Kubernetes cluster.
//!
//! [`rollout`] and [`pod`] summarise watched objects, [`events`] reads their events; [`cause`] classifies failures,
//! `messages` describes them without the nouns of the cluster, and [`observe`] decides. Only pods of the current
//! revision count: those of an older one are replaced soon. `object_action` decides what is applied, `stuck` which pods are
//! deleted.

pub mod cause;
mod event_queries;
pub mod events;
mod messages;
mod object_action;
pub mod pod;
pub mod probe;
mod redaction;
pub mod rollout;
mod stuck;
#[cfg(test)]
mod tests;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use orchestra_api::{
    Reason,
    plan::{Kind, Phase, SUSPENDED, WorkloadPlanSpec},
};

pub use cause::{Cause, Crash};
pub use event_queries::EventQueries;
pub use object_action::{DesiredObject, LiveObject, ObjectAction};
pub use pod::Pod;
pub use probe::ProbeFailure;
pub use redaction::{REDACTED, redacted};
pub use rollout::{Progress, Rollout, RolloutKind};
pub use stuck::stuck_pods;

/// Time that a crashed container has to run before it counts as recovered.
pub const RECOVERY_TIME: SignedDuration = SignedDuration::from_secs(10);

/// Observed objects of a Workload.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// The plan.
    pub plan: &'a WorkloadPlanSpec,
    /// Its Deployments, `StatefulSets` and Jobs: several while its kind changes.
    pub rollouts: &'a [Rollout],
    /// Its pods.
    pub pods: &'a [Pod],
    /// Current time.
    pub now: Timestamp,
}

/// Status of a Workload in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeStatus {
    /// Revision that runs or is being rolled out; absent if nothing exists.
    pub revision: Option<String>,
    /// Phase of that revision.
    pub phase: Phase,
    /// Reason for the phase.
    pub reason: Reason,
    /// Neutral sentence for users.
    pub message: Option<String>,
    /// True if it is reachable now.
    pub is_reachable: bool,
}

/// Status of a Workload.
pub fn observe(snapshot: &Snapshot<'_>) -> RuntimeStatus {
    let Some(rollout) = rollout(snapshot) else {
        return RuntimeStatus {
            revision: None,
            phase: Phase::Pending,
            reason: Reason::RuntimeProvisioning,
            message: None,
            is_reachable: false,
        };
    };
    let (phase, reason, message) = if rollout.revision.as_deref() != Some(snapshot.plan.revision.as_str()) {
        (Phase::Provisioning, Reason::RuntimeProvisioning, None)
    } else if snapshot.plan.lifecycle.suspend {
        suspended(snapshot, rollout)
    } else if snapshot.plan.kind == Kind::Job {
        job(snapshot, rollout)
    } else {
        service(snapshot, rollout)
    };
    let is_reachable = rollout.available > 0 && !snapshot.plan.lifecycle.suspend;
    RuntimeStatus {
        revision: rollout.revision.as_deref().map(str::to_owned),
        phase,
        reason,
        message,
        is_reachable,
    }
}

/// Rollout that counts: that of the current revision, if there are several.
fn rollout<'a>(snapshot: &Snapshot<'a>) -> Option<&'a Rollout> {
    let Snapshot { plan, rollouts, .. } = *snapshot;
    let mut remaining = rollouts.iter().filter(|rollout| !rollout.is_deleting);
    let is_current = |rollout: &&Rollout| rollout.revision.as_deref() == Some(plan.revision.as_str());
    remaining.clone().find(is_current).or_else(|| remaining.next())
}

type Verdict = (Phase, Reason, Option<String>);

fn suspended(snapshot: &Snapshot<'_>, rollout: &Rollout) -> Verdict {
    let is_idle =
        rollout.is_observed && rollout.total == 0 && snapshot.pods.iter().all(|pod| pod.is_finished);
    if is_idle {
        (Phase::Pending, Reason::RuntimeProvisioning, Some(SUSPENDED.to_owned()))
    } else {
        let message = "Stopping the previous version.".to_owned();
        (Phase::Provisioning, Reason::RuntimeProvisioning, Some(message))
    }
}

fn job(snapshot: &Snapshot<'_>, rollout: &Rollout) -> Verdict {
    match rollout.progress {
        Progress::Complete => (Phase::Ready, Reason::Succeeded, None),
        Progress::Failed => {
            let why = cause(snapshot, rollout).map(|cause| match cause {
                Cause::Crash(crash) => crash.describe_final(),
                cause => cause.describe().1,
            });
            let why = why.unwrap_or_default();
            let message = format!("The job failed and is not retried. {why}");
            (Phase::Failed, Reason::RuntimeDegraded, Some(message.trim().to_owned()))
        }
        Progress::Running | Progress::Suspended => match cause(snapshot, rollout) {
            Some(cause) => degraded(cause, false),
            None if rollout.available > 0 => {
                let message = "The job is running.".to_owned();
                (Phase::Provisioning, Reason::RuntimeProvisioning, Some(message))
            }
            None => starting(snapshot, rollout),
        },
    }
}

fn service(snapshot: &Snapshot<'_>, rollout: &Rollout) -> Verdict {
    // A container that crashed a moment ago may crash again: its pod does not count as available.
    let is_recovering =
        |pod: &&Pod| is_of(snapshot.plan, pod) && pod.is_ready && pod.is_recovering(snapshot.now);
    let recovering = u32::try_from(snapshot.pods.iter().filter(is_recovering).count()).unwrap_or(u32::MAX);
    let up = Rollout { available: rollout.available.saturating_sub(recovering), ..rollout.clone() };
    // After a complete rollout the Workload stays ready while most pods are: pods come and go.
    let is_mostly_up = up.is_observed
        && up.progress == Progress::Complete
        && !up.has_old()
        && up.available > 0
        && up.available.saturating_mul(4) >= up.desired.saturating_mul(3);
    if up.is_complete() || is_mostly_up {
        return (Phase::Ready, Reason::Succeeded, None);
    }
    let is_old_serving = rollout.has_old() && rollout.available > 0;
    match cause(snapshot, rollout) {
        Some(cause) => degraded(cause, is_old_serving),
        None if rollout.progress == Progress::Failed && rollout.is_observed => {
            let message = "Timeout: it was not ready in time (progress deadline exceeded); see its log.";
            (Phase::Degraded, Reason::RuntimeDegraded, Some(with_old(message, is_old_serving)))
        }
        None => starting(snapshot, rollout),
    }
}

fn starting(snapshot: &Snapshot<'_>, rollout: &Rollout) -> Verdict {
    let awaited = current(snapshot).find_map(|pod| early(pod, rollout)).map(ProbeFailure::describe_pending);
    (Phase::Provisioning, Reason::RuntimeProvisioning, awaited)
}

fn degraded(cause: &Cause, is_old_serving: bool) -> Verdict {
    let (reason, message) = cause.describe();
    (Phase::Degraded, reason, Some(with_old(&message, is_old_serving)))
}

fn with_old(message: &str, is_old_serving: bool) -> String {
    if is_old_serving {
        format!("{message} The previous version is still running.")
    } else {
        message.to_owned()
    }
}

/// Cause of a failure: of a pod of the current revision, else of the rollout.
fn cause<'a>(snapshot: &Snapshot<'a>, rollout: &'a Rollout) -> Option<&'a Cause> {
    let own = current(snapshot).filter(|pod| !pod.is_ready || pod.is_recovering(snapshot.now));
    let own = own.filter_map(|pod| pod.own_cause(snapshot.now));
    let reported = current(snapshot).filter(|pod| !pod.is_ready && early(pod, rollout).is_none());
    let reported = reported.filter_map(|pod| pod.event_cause.as_deref());
    let of_rollout = rollout.cause.as_deref().filter(|_| rollout.is_observed);
    own.chain(reported).next().or(of_rollout)
}

/// Probe of a starting pod that may still succeed. It counts as failed if the pod was ready before, was restarted, or takes
/// too long.
fn early<'a>(pod: &'a Pod, rollout: &Rollout) -> Option<&'a ProbeFailure> {
    let is_starting = !pod.is_ready && pod.down_since.is_none() && pod.restarted.is_none();
    match pod.event_cause.as_deref() {
        Some(Cause::Probe(probe)) if is_starting && rollout.progress != Progress::Failed => {
            Some(probe).filter(|probe| !probe.is_lasting)
        }
        _ => None,
    }
}

/// Pods of the current revision.
fn current<'a>(snapshot: &Snapshot<'a>) -> impl Iterator<Item = &'a Pod> {
    let Snapshot { plan, pods, .. } = *snapshot;
    pods.iter().filter(|pod| is_of(plan, pod) && !pod.is_deleting)
}

fn is_of(plan: &WorkloadPlanSpec, pod: &Pod) -> bool {
    pod.revision.as_deref() == Some(plan.revision.as_str())
}
