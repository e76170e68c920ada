//! Summary of a pod: only what observation needs, since there are many of them.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;

use super::{
    RECOVERY_TIME,
    cause::{Cause, Crash},
};
use crate::render::kubernetes::{REVISION, WORKLOAD_UID};

/// Summary of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Name.
    pub name: Box<str>,
    /// Uid.
    pub uid: Box<str>,
    /// Uid of the Workload.
    pub owner: Option<Box<str>>,
    /// Revision of the plan.
    pub revision: Option<Box<str>>,
    /// Revision of its `StatefulSet`, if it belongs to one.
    pub set_revision: Option<Box<str>>,
    /// True if it is ready.
    pub is_ready: bool,
    /// Time when it became unready, if it was ready since its last start.
    pub down_since: Option<Timestamp>,
    /// True if it is being deleted.
    pub is_deleting: bool,
    /// True if it has succeeded or failed.
    pub is_finished: bool,
    /// Failure by its own status.
    pub cause: Option<Box<Cause>>,
    /// Failure by its events.
    pub event_cause: Option<Box<Cause>>,
    /// Start time of a container that had crashed.
    pub restarted: Option<Timestamp>,
}

impl Pod {
    /// Summary of an object, given as `metadata` and `rest`.
    pub fn read(metadata: &Json, rest: &Json) -> Self {
        let text = |path: &str| metadata.pointer(path).and_then(Json::as_str).map(Box::from);
        let status = &rest["status"];
        let phase = status["phase"].as_str().unwrap_or_default();
        let condition = |type_: &str| {
            let all = status["conditions"].as_array().into_iter().flatten();
            all.clone().find(|condition| condition["type"] == type_)
        };
        let is_finished = matches!(phase, "Succeeded" | "Failed");
        let is_ready = condition("Ready").is_some_and(|ready| ready["status"] == "True");
        let changed = condition("Ready").and_then(|ready| time(&ready["lastTransitionTime"]));
        let running = status["containerStatuses"].as_array().into_iter().flatten();
        let started = running.filter_map(|container| time(&container["state"]["running"]["startedAt"])).max();
        // A transition before the start means that it has not been ready since.
        let down_since = changed.filter(|at| !is_ready && started.is_some_and(|started| *at > started));
        let revision = metadata["annotations"][REVISION].as_str().map(Box::from);
        let is_restarted = rest["spec"]["restartPolicy"] != "Never";
        let mut waits = None;
        let mut down = None;
        let mut up: Option<(Crash, Option<Timestamp>)> = None;
        for (is_init, list) in [(true, "initContainerStatuses"), (false, "containerStatuses")] {
            for container in status[list].as_array().into_iter().flatten() {
                let waiting = &container["state"]["waiting"];
                let (reason, message) = (waiting["reason"].as_str(), waiting["message"].as_str());
                let name = container["name"].as_str().unwrap_or_default();
                let why = |reason| Cause::of_waiting(name, reason, message.unwrap_or_default());
                waits = waits.or(reason.and_then(why));
                let crash = crash(container, !is_init && is_restarted && phase == "Running");
                match container["state"]["running"]["startedAt"].as_str() {
                    Some(at) => up = up.or(crash.map(|crash| (crash, at.parse().ok()))),
                    None => down = down.or(crash),
                }
            }
        }
        let mut restarted = None;
        let mut cause = waits.or(down.map(Cause::Crash));
        if let Some((crash, at)) = up.filter(|_| cause.is_none()) {
            restarted = at;
            cause = Some(Cause::Crash(crash));
        }
        let unscheduled = condition("PodScheduled")
            .filter(|scheduled| scheduled["status"] == "False" && scheduled["reason"] == "Unschedulable");
        if let Some(message) = unscheduled.and_then(|scheduled| scheduled["message"].as_str()) {
            cause = Some(Cause::Unschedulable { message: message.into() });
        }
        if phase == "Failed" && cause.is_none() {
            let message = status["message"].as_str().or_else(|| status["reason"].as_str());
            cause = message.map(|message| Cause::Stopped { message: message.into() });
        }
        Self {
            name: text("/name").unwrap_or_default(),
            uid: text("/uid").unwrap_or_default(),
            owner: metadata["annotations"][WORKLOAD_UID].as_str().map(Box::from),
            revision,
            set_revision: text("/labels/controller-revision-hash"),
            is_ready,
            down_since,
            is_deleting: metadata["deletionTimestamp"].is_string(),
            is_finished,
            cause: cause.map(Box::new),
            event_cause: None,
            restarted,
        }
    }

    /// True if a crashed container was restarted so recently that it may crash again.
    pub fn is_recovering(&self, now: Timestamp) -> bool {
        self.restarted.is_some_and(|at| now.duration_since(at) < RECOVERY_TIME)
    }

    /// Current failure by its own status. A container that crashed and has run for a while since is recovered.
    pub fn own_cause(&self, now: Timestamp) -> Option<&Cause> {
        let is_recovered = self.restarted.is_some() && !self.is_recovering(now);
        self.cause.as_deref().filter(|_| !is_recovered)
    }

    /// True if its events are needed: it should run, and its status does not show why it does not.
    pub fn needs_events(&self, now: Timestamp) -> bool {
        !self.is_ready && !self.is_deleting && !self.is_finished && self.own_cause(now).is_none()
    }
}

fn time(value: &Json) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// Restarts that make a crash loop. A count, not the state `CrashLoopBackOff`, which comes and goes with every restart: the
/// message would change as often.
const CRASH_LOOP_RESTARTS: u64 = 3;

/// Duration of a run after which a kubelet restarts a container without backoff: its crash begins a new series.
const BACKOFF_RESET: SignedDuration = SignedDuration::from_mins(10);

/// Last exit of a container, if it was unexpected. A container that `keeps_running` may not even succeed.
fn crash(container: &Json, keeps_running: bool) -> Option<Crash> {
    let now = &container["state"]["terminated"];
    let before = &container["lastState"]["terminated"];
    let waits = container["state"]["waiting"]["reason"] == "CrashLoopBackOff";
    let end = if now.is_object() { now } else { before };
    let exit_code = i32::try_from(end["exitCode"].as_i64()?).unwrap_or(i32::MAX);
    let has_succeeded = exit_code == 0 && now.is_object();
    if has_succeeded && !keeps_running && !waits {
        return None;
    }
    // The node stopped and restarted it: nothing that an author could fix.
    if exit_code == 0 && !waits && !now.is_object() && container["ready"] == true {
        return None;
    }
    let started_at = time(&end["startedAt"]);
    let run = started_at.zip(time(&end["finishedAt"])).map(|(start, finish)| finish.duration_since(start));
    let is_isolated = run.is_some_and(|run| run >= BACKOFF_RESET);
    let restarts = container["restartCount"].as_u64().unwrap_or_default();
    Some(Crash {
        container: container["name"].as_str().unwrap_or_default().into(),
        exit_code,
        out_of_memory: end["reason"] == "OOMKilled",
        is_loop: restarts >= CRASH_LOOP_RESTARTS && !is_isolated,
        started_at,
        last_line: None,
        killed_by: None,
    })
}
