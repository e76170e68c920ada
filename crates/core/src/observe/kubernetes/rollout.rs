//! Summary of the Deployment, `StatefulSet` or Job of a Workload.

use serde_json::Value as Json;

use super::cause::Cause;
use crate::render::kubernetes::REVISION;

/// Summary of a Deployment, `StatefulSet` or Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollout {
    /// Kind.
    pub kind: RolloutKind,
    /// Revision of the plan.
    pub revision: Option<Box<str>>,
    /// True if it is being deleted.
    pub is_deleting: bool,
    /// True if the status is about the current generation.
    pub is_observed: bool,
    /// Desired pods.
    pub desired: u32,
    /// Existing pods.
    pub total: u32,
    /// Pods of the newest template.
    pub updated: u32,
    /// Available pods.
    pub available: u32,
    /// Progress.
    pub progress: Progress,
    /// Revision of the `StatefulSet` that its pods should have.
    pub update_revision: Option<Box<str>>,
    /// Cause of its failure to create pods.
    pub cause: Option<Box<Cause>>,
}

/// Kind of a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RolloutKind {
    /// Deployment.
    #[default]
    Deployment,
    /// `StatefulSet`.
    StatefulSet,
    /// Job.
    Job,
}

/// Progress of a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// In progress.
    #[default]
    Running,
    /// All pods were available once, or the job has succeeded.
    Complete,
    /// The deadline is exceeded, or the job has failed.
    Failed,
    /// The job is suspended.
    Suspended,
}

impl Rollout {
    /// Summary of an object, given as `metadata` and `rest`.
    pub fn read(kind: RolloutKind, metadata: &Json, rest: &Json) -> Self {
        let (spec, status) = (&rest["spec"], &rest["status"]);
        let number = |value: &Json| u32::try_from(value.as_u64().unwrap_or_default()).unwrap_or(u32::MAX);
        let generation = metadata["generation"].as_i64().unwrap_or_default();
        let is_observed =
            status["observedGeneration"].as_i64().is_some_and(|observed| observed >= generation);
        let condition = |type_: &str| {
            let all = status["conditions"].as_array().into_iter().flatten();
            all.clone().find(|condition| condition["type"] == type_)
        };
        let holds = |type_: &str| condition(type_).is_some_and(|condition| condition["status"] == "True");
        let progressing = condition("Progressing").and_then(|condition| condition["reason"].as_str());
        let progress = match kind {
            RolloutKind::Job if holds("Complete") || holds("SuccessCriteriaMet") => Progress::Complete,
            RolloutKind::Job if holds("Failed") || holds("FailureTarget") => Progress::Failed,
            RolloutKind::Job if spec["suspend"] == true => Progress::Suspended,
            RolloutKind::Deployment if progressing == Some("NewReplicaSetAvailable") => Progress::Complete,
            RolloutKind::Deployment if progressing == Some("ProgressDeadlineExceeded") => Progress::Failed,
            _ => Progress::Running,
        };
        let failure = condition("ReplicaFailure").filter(|failure| failure["status"] == "True");
        let message = failure.and_then(|failure| failure["message"].as_str());
        let desired = if kind == RolloutKind::Job {
            1
        } else {
            spec["replicas"].as_u64().map_or(1, |_| number(&spec["replicas"]))
        };
        Self {
            kind,
            revision: metadata["annotations"][REVISION].as_str().map(Box::from),
            is_deleting: metadata["deletionTimestamp"].is_string(),
            is_observed: is_observed || kind == RolloutKind::Job,
            desired,
            total: if kind == RolloutKind::Job {
                number(&status["active"])
            } else {
                number(&status["replicas"])
            },
            updated: number(&status["updatedReplicas"]),
            available: match kind {
                RolloutKind::Job => number(&status["ready"]),
                RolloutKind::Deployment | RolloutKind::StatefulSet => number(&status["availableReplicas"]),
            },
            progress,
            update_revision: status["updateRevision"].as_str().map(Box::from),
            cause: message.map(|message| Box::new(Cause::Denied { message: message.into() })),
        }
    }

    /// True if all desired pods are available and of the newest template, and no others exist.
    pub fn is_complete(&self) -> bool {
        let Self { desired, total, updated, available, .. } = self;
        self.is_observed && updated == desired && available == desired && total == desired
    }

    /// True if pods of an older template still exist.
    pub fn has_old(&self) -> bool {
        self.total > self.updated
    }
}
