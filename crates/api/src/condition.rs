//! Conditions of Workloads and their reasons.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Condition types of a Workload, in order of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionType {
    /// The Score document is valid, and the policies allow it.
    InputsValid,
    /// All dependencies are available.
    ClaimsReady,
    /// The Workload runs in its current generation.
    RuntimeReady,
    /// All other conditions are true.
    Ready,
}

impl ConditionType {
    /// All types.
    pub const ALL: [Self; 4] = [Self::InputsValid, Self::ClaimsReady, Self::RuntimeReady, Self::Ready];
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// Not known.
    Unknown,
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Reason of a condition, from a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Reason {
    /// The condition is true.
    Succeeded,
    /// The Score document is invalid.
    SpecInvalid,
    /// A policy forbids the Workload.
    PolicyViolation,
    /// A dependency is not available yet.
    BindingPending,
    /// A dependency cannot be provided.
    BindingFailed,
    /// A placeholder cannot be resolved.
    ProjectionError,
    /// No backend is selected yet.
    RuntimeSelecting,
    /// The runtime is starting the Workload.
    RuntimeProvisioning,
    /// The Workload is failing.
    RuntimeDegraded,
    /// A quota is exhausted.
    QuotaExceeded,
    /// The orchestrator lacks a permission.
    PermissionDenied,
    /// A required service is unreachable.
    NetworkUnavailable,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 12] = [
        Self::Succeeded,
        Self::SpecInvalid,
        Self::PolicyViolation,
        Self::BindingPending,
        Self::BindingFailed,
        Self::ProjectionError,
        Self::RuntimeSelecting,
        Self::RuntimeProvisioning,
        Self::RuntimeDegraded,
        Self::QuotaExceeded,
        Self::PermissionDenied,
        Self::NetworkUnavailable,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Condition of a Workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition.
    #[serde(rename = "type")]
    pub type_: ConditionType,
    /// Status of the condition: True, False or Unknown.
    pub status: ConditionStatus,
    /// Machine-readable reason for the status.
    pub reason: Reason,
    /// Explanation for users, with what to do.
    pub message: String,
    /// Generation of the Workload that this condition describes.
    pub observed_generation: i64,
    /// Time of the last change of the status.
    pub last_transition_time: Time,
}

/// Evaluated condition, without its transition time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Status.
    pub status: ConditionStatus,
    /// Reason for the status.
    pub reason: Reason,
    /// Explanation for users.
    pub message: String,
}

impl Finding {
    /// Condition that is true.
    pub fn good(message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::True, reason: Reason::Succeeded, message: message.into() }
    }

    /// Condition that is false.
    pub fn bad(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::False, reason, message: message.into() }
    }

    /// True if the condition holds.
    pub fn holds(&self) -> bool {
        self.status == ConditionStatus::True
    }

    /// Condition with its transition time: that of the previous one unless the status has changed.
    pub fn since(
        self,
        type_: ConditionType,
        previous: &[Condition],
        observed_generation: i64,
        now: &Time,
    ) -> Condition {
        let Self { status, reason, message } = self;
        let unchanged = previous.iter().find(|c| c.type_ == type_ && c.status == status);
        let last_transition_time = unchanged.map_or(now, |c| &c.last_transition_time).clone();
        Condition { type_, status, reason, message, observed_generation, last_transition_time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_changes_only_with_its_status() {
        let at = |second| Time(k8s_openapi::jiff::Timestamp::from_second(second).unwrap());
        let first = Finding::bad(Reason::BindingPending, "a").since(ConditionType::Ready, &[], 1, &at(10));
        let second = Finding::bad(Reason::BindingFailed, "b").since(
            ConditionType::Ready,
            std::slice::from_ref(&first),
            2,
            &at(20),
        );
        assert_eq!((&second.last_transition_time, second.observed_generation), (&at(10), 2));
        let third = Finding::good("c").since(ConditionType::Ready, &[second], 2, &at(30));
        assert_eq!(third.last_transition_time, at(30));
    }
}
