//! What makes the copies of a Workload, as a cluster shows it.

use serde_json::Value as Json;

use super::cause::Cause;
use crate::render::kubernetes::REVISION;

/// What makes the copies of a Workload, and how far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollout {
    /// What it is.
    pub kind: Maker,
    /// The revision of the plan that it has been given.
    pub revision: Option<Box<str>>,
    /// Whether it has taken notice of what it was given last.
    pub is_noticed: bool,
    /// How many copies there should be.
    pub desired: u32,
    /// How many there are.
    pub total: u32,
    /// How many of them are of the newest kind.
    pub updated: u32,
    /// How many can be used.
    pub available: u32,
    /// How far it says to be.
    pub progress: Progress,
    /// The revision of its own that copies should have, where it tells.
    pub update_revision: Option<Box<str>>,
    /// Why it cannot make copies.
    pub cause: Option<Box<Cause>>,
}

/// The kinds of things that make copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Maker {
    /// Copies that are all alike.
    #[default]
    Deployment,
    /// Copies that keep their data.
    StatefulSet,
    /// A copy that runs to its end.
    Job,
}

/// How far something says to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// At work.
    #[default]
    Going,
    /// It had brought everything up once.
    Done,
    /// It has given up.
    Late,
    /// It was told to wait.
    Halted,
}

impl Rollout {
    /// Reads one. `metadata` and `rest` are the two parts of the object.
    pub fn read(kind: Maker, metadata: &Json, rest: &Json) -> Self {
        let (spec, status) = (&rest["spec"], &rest["status"]);
        let number = |value: &Json| u32::try_from(value.as_u64().unwrap_or_default()).unwrap_or(u32::MAX);
        let generation = metadata["generation"].as_i64().unwrap_or_default();
        let is_noticed = status["observedGeneration"].as_i64().is_some_and(|noticed| noticed >= generation);
        let condition = |type_: &str| {
            let all = status["conditions"].as_array().into_iter().flatten();
            all.clone().find(|condition| condition["type"] == type_)
        };
        let holds = |type_: &str| condition(type_).is_some_and(|condition| condition["status"] == "True");
        let progressing = condition("Progressing").and_then(|condition| condition["reason"].as_str());
        let progress = match kind {
            Maker::Job if holds("Complete") || holds("SuccessCriteriaMet") => Progress::Done,
            Maker::Job if holds("Failed") || holds("FailureTarget") => Progress::Late,
            Maker::Job if spec["suspend"] == true => Progress::Halted,
            Maker::Deployment if progressing == Some("NewReplicaSetAvailable") => Progress::Done,
            Maker::Deployment if progressing == Some("ProgressDeadlineExceeded") => Progress::Late,
            _ => Progress::Going,
        };
        let failure = condition("ReplicaFailure").filter(|failure| failure["status"] == "True");
        let message = failure.and_then(|failure| failure["message"].as_str());
        let desired = if kind == Maker::Job {
            1
        } else {
            spec["replicas"].as_u64().map_or(1, |_| number(&spec["replicas"]))
        };
        Self {
            kind,
            revision: metadata["annotations"][REVISION].as_str().map(Box::from),
            is_noticed: is_noticed || kind == Maker::Job,
            desired,
            total: if kind == Maker::Job { number(&status["active"]) } else { number(&status["replicas"]) },
            updated: number(&status["updatedReplicas"]),
            available: match kind {
                Maker::Job => number(&status["ready"]),
                Maker::Deployment => number(&status["availableReplicas"]),
                // Older clusters tell only which are ready.
                Maker::StatefulSet => {
                    number(&status["availableReplicas"]).max(number(&status["readyReplicas"]))
                }
            },
            progress,
            update_revision: status["updateRevision"].as_str().map(Box::from),
            cause: message.map(|message| Box::new(Cause::Denied { message: message.into() })),
        }
    }

    /// Whether all copies that there should be are there, can be used and are of the newest kind.
    pub fn is_complete(&self) -> bool {
        let Self { desired, total, updated, available, .. } = self;
        self.is_noticed && updated == desired && available == desired && total == desired
    }

    /// Whether copies of an older kind are still there.
    pub fn has_old(&self) -> bool {
        self.total > self.updated
    }
}
