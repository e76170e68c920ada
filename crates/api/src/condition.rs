//! What a Workload says of itself: four conditions, twelve reasons.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The conditions of a Workload, in the order in which they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionType {
    /// What the author wrote can be used, and the platform's policy allows it.
    InputsValid,
    /// Everything the Workload depends on is there.
    ClaimsReady,
    /// It runs, as this generation describes it.
    RuntimeReady,
    /// All of the others.
    Ready,
}

impl ConditionType {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::InputsValid, Self::ClaimsReady, Self::RuntimeReady, Self::Ready];
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// It cannot be told.
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

/// Why a condition is as it is. There are no other reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Reason {
    /// All is well.
    Succeeded,
    /// The document has a mistake.
    SpecInvalid,
    /// The platform's policy forbids it.
    PolicyViolation,
    /// A dependency is not there yet.
    BindingPending,
    /// A dependency cannot be had.
    BindingFailed,
    /// A value that the Workload refers to is not known.
    ProjectionError,
    /// There is no place to run it, so far.
    RuntimeSelecting,
    /// It is being started.
    RuntimeProvisioning,
    /// It runs badly, or not at all.
    RuntimeDegraded,
    /// There is not enough left of something.
    QuotaExceeded,
    /// The platform may not do what is needed.
    PermissionDenied,
    /// Something cannot be reached.
    NetworkUnavailable,
}

impl Reason {
    /// All of them.
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

/// One thing that holds or does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is spoken of.
    #[serde(rename = "type")]
    pub type_: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence that says what to do.
    pub message: String,
    /// The generation of the spec that was looked at.
    pub observed_generation: i64,
    /// When it last began or ceased to hold.
    pub last_transition_time: Time,
}

/// A condition that has been found, before it is known since when it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: String,
}

impl Finding {
    /// It holds.
    pub fn good(message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::True, reason: Reason::Succeeded, message: message.into() }
    }

    /// It does not hold.
    pub fn bad(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::False, reason, message: message.into() }
    }

    /// Whether it holds.
    pub fn holds(&self) -> bool {
        self.status == ConditionStatus::True
    }

    /// The condition to report. The time of the previous one stays unless the status has changed.
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
