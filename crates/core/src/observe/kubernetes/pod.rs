//! One copy of a Workload, as a cluster shows it: only what observation needs, since there are many of them.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value as Json;

use super::{
    SETTLING,
    cause::{Cause, Crash},
};
use crate::render::kubernetes::{REVISION, WORKLOAD_UID};

/// One copy of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: Box<str>,
    /// Its identity.
    pub uid: Box<str>,
    /// The uid of the Workload that it was made for.
    pub owner: Option<Box<str>>,
    /// The revision of the plan that it runs.
    pub revision: Option<Box<str>>,
    /// The revision of the set that it belongs to, if sets have such.
    pub set_revision: Option<Box<str>>,
    /// Whether it does its work.
    pub is_ready: bool,
    /// Since when it no longer does its work, if it did since it was last started.
    pub down_since: Option<Timestamp>,
    /// Whether it is being stopped.
    pub is_leaving: bool,
    /// Whether it has run to its end.
    pub is_over: bool,
    /// What is wrong with it, by itself.
    pub cause: Option<Box<Cause>>,
    /// What is wrong with it, by what is told about it.
    pub told: Option<Box<Cause>>,
    /// When a container that had crashed was last started again.
    pub restarted: Option<Timestamp>,
}

impl Pod {
    /// Reads one. `metadata` and `rest` are the two parts of the object.
    pub fn read(metadata: &Json, rest: &Json) -> Self {
        let text = |path: &str| metadata.pointer(path).and_then(Json::as_str).map(Box::from);
        let status = &rest["status"];
        let phase = status["phase"].as_str().unwrap_or_default();
        let condition = |type_: &str| {
            let all = status["conditions"].as_array().into_iter().flatten();
            all.clone().find(|condition| condition["type"] == type_)
        };
        let is_over = matches!(phase, "Succeeded" | "Failed");
        let is_ready = condition("Ready").is_some_and(|ready| ready["status"] == "True");
        let turned = condition("Ready").and_then(|ready| time(&ready["lastTransitionTime"]));
        let running = status["containerStatuses"].as_array().into_iter().flatten();
        let started = running.filter_map(|container| time(&container["state"]["running"]["startedAt"])).max();
        // It is not ready from before it was started, unless it was ready meanwhile.
        let down_since = turned.filter(|at| !is_ready && started.is_some_and(|started| *at > started));
        let revision = metadata["annotations"][REVISION].as_str().map(Box::from);
        let mut waits = None;
        let mut down = None;
        let mut up: Option<(Crash, Option<Timestamp>)> = None;
        for (is_first, list) in [(true, "initContainerStatuses"), (false, "containerStatuses")] {
            for container in status[list].as_array().into_iter().flatten() {
                let waiting = &container["state"]["waiting"];
                let (reason, message) = (waiting["reason"].as_str(), waiting["message"].as_str());
                let name = container["name"].as_str().unwrap_or_default();
                let why = |reason| Cause::of_waiting(name, reason, message.unwrap_or_default());
                waits = waits.or(reason.and_then(why));
                let crash = crash(container, is_first, phase);
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
            is_leaving: metadata["deletionTimestamp"].is_string(),
            is_over,
            cause: cause.map(Box::new),
            told: None,
            restarted,
        }
    }

    /// Whether a container that had crashed was started again so lately that it may crash again.
    pub fn is_shaky(&self, now: Timestamp) -> bool {
        self.restarted.is_some_and(|at| now.duration_since(at) < SETTLING)
    }

    /// What is wrong with it now, by itself. What crashed, and has run for a while since, is mended.
    pub fn own_cause(&self, now: Timestamp) -> Option<&Cause> {
        let is_mended = self.restarted.is_some() && !self.is_shaky(now);
        self.cause.as_deref().filter(|_| !is_mended)
    }

    /// Whether what is told about it is worth asking for: it should run, and nobody knows why it does not.
    pub fn is_puzzling(&self, now: Timestamp) -> bool {
        !self.is_ready && !self.is_leaving && !self.is_over && self.own_cause(now).is_none()
    }
}

fn time(value: &Json) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// How a container last ended, if it should not have.
fn crash(container: &Json, is_first: bool, phase: &str) -> Option<Crash> {
    let now = &container["state"]["terminated"];
    let before = &container["lastState"]["terminated"];
    let waits = container["state"]["waiting"]["reason"] == "CrashLoopBackOff";
    let end = if now.is_object() { now } else { before };
    let exit_code = i32::try_from(end["exitCode"].as_i64()?).unwrap_or(i32::MAX);
    let is_ended_well = exit_code == 0 && now.is_object();
    if is_ended_well && (is_first || phase != "Running") && !waits {
        return None;
    }
    // The machine itself ended it, and has started it again: nothing that an author could mend.
    if exit_code == 0 && !waits && !now.is_object() && container["ready"] == true {
        return None;
    }
    Some(Crash {
        container: container["name"].as_str().unwrap_or_default().into(),
        exit_code,
        out_of_memory: end["reason"] == "OOMKilled",
        began: time(&end["startedAt"]),
        last_line: None,
        ended_by: None,
    })
}
