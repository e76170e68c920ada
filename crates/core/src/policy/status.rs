//! Status of a policy: its validity, the version in force, and the number of Workloads that it selects.

use std::collections::BTreeMap;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::core::Status;
use orchestra_api::{
    PlatformPolicy,
    policy::{Mode, PlatformPolicyStatus},
};
use serde::Deserialize as _;
use serde_json::{Value as Json, json};

use super::{
    check, last_good_of,
    unreadable::{read, resolve},
};
use crate::denial::Denial;

/// Condition of a policy.
const ACCEPTED: &str = "Accepted";
/// Reason of a policy that is not accepted.
const MALFORMED: &str = "Malformed";

/// Number of Workloads of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Selected by the policy.
    pub matched: u32,
    /// Selected, and in violation.
    pub violating: u32,
}

/// Status of a policy to write.
#[derive(Clone, Debug, PartialEq)]
pub enum StatusWrite {
    /// Apply a status.
    Apply(Box<PlatformPolicy>, Box<PlatformPolicyStatus>),
    /// Merge this patch into the status of a policy that cannot be deserialized. It is skipped if the API denies it as
    /// [`Denial::Invalid`]: any change of the object may be, and the status is for people.
    Merge {
        /// Name of the policy.
        name: String,
        /// The patch.
        patch: Json,
    },
}

impl StatusWrite {
    /// True if a write that failed with this answer is skipped. Any other failure is retried.
    pub fn is_skipped_after(&self, answer: &Status) -> bool {
        matches!(self, Self::Merge { .. }) && Denial::of(answer) == Some(Denial::Invalid)
    }
}

/// Statuses to write, given the cached policies and the objects that cannot be deserialized.
pub fn statuses(
    policies: Vec<PlatformPolicy>,
    unreadable: &[Json],
    counts: &BTreeMap<String, Count>,
    now: Timestamp,
) -> Vec<StatusWrite> {
    let (_, resolved) = resolve(policies.clone(), unreadable);
    // What is cached of an object that cannot be deserialized is an earlier version.
    let is_current = |policy: &PlatformPolicy| {
        let name = policy.metadata.name.as_ref();
        resolved.iter().all(|unreadable| Some(&unreadable.name) != name)
    };
    let readable = policies.into_iter().filter(is_current).filter_map(|policy| {
        let name = policy.metadata.name.as_deref().unwrap_or_default();
        let status = status(&policy, counts.get(name).copied().unwrap_or_default(), now)?;
        Some(StatusWrite::Apply(Box::new(policy), Box::new(status)))
    });
    let mut writes: Vec<_> = readable.collect();
    writes.extend(unreadable.iter().zip(resolved).filter_map(|(object, policy)| {
        let patch = unreadable_status(object, policy.in_force, now)?;
        Some(StatusWrite::Merge { name: policy.name, patch })
    }));
    writes
}

/// Status of a policy; `None` if it is written already.
fn status(policy: &PlatformPolicy, count: Count, now: Timestamp) -> Option<PlatformPolicyStatus> {
    let faults = check(policy);
    let (accepted, reason, message) = match faults.first() {
        None => ("True", "Accepted", "The policy is in force.".to_owned()),
        Some(fault) => {
            let applied = last_good_of(policy);
            let effect = effect(check(&applied).is_empty(), applied.spec.mode);
            ("False", MALFORMED, format!("`{}`: {} {effect}.", fault.field, fault.message))
        }
    };
    let before = policy.status.as_ref();
    let generation = policy.metadata.generation;
    let conditions = before.map(|status| status.conditions.as_slice()).unwrap_or_default();
    let kept = || before.and_then(|status| status.in_force.clone());
    let status = PlatformPolicyStatus {
        in_force: if faults.is_empty() { Some(Box::new(policy.spec.clone())) } else { kept() },
        conditions: vec![condition(conditions, accepted, reason, message, generation, now)],
        matched: count.matched,
        violating: count.violating,
        observed_generation: generation,
    };
    (before != Some(&status)).then_some(status)
}

/// Merge patch of the status of a policy that cannot be deserialized; `None` if it is written already. Everything but the
/// condition stays, above all the version in force.
fn unreadable_status(object: &Json, in_force: bool, now: Timestamp) -> Option<Json> {
    let error = PlatformPolicy::deserialize(object).err()?;
    let effect = effect(in_force, Mode::Enforce);
    let message = format!("The policy cannot be deserialized: {error}. {effect}.");
    let conditions: Vec<Condition> = read(object.pointer("/status/conditions")).unwrap_or_default();
    let generation = object.pointer("/metadata/generation").and_then(Json::as_i64);
    let condition = condition(&conditions, "False", MALFORMED, message, generation, now);
    let is_written = conditions == [condition.clone()];
    (!is_written).then(|| json!({"status": {"conditions": [condition], "observedGeneration": generation}}))
}

/// Effect of a policy that is not accepted, given whether an earlier version is in force.
fn effect(in_force: bool, mode: Mode) -> &'static str {
    match mode {
        _ if in_force => "The last valid version stays in force",
        Mode::Enforce => "No Workload that it may select starts or changes",
        Mode::Audit => "It counts no violations until it is corrected",
    }
}

fn condition(
    before: &[Condition],
    status: &str,
    reason: &str,
    message: String,
    observed_generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let same = before.iter().find(|condition| condition.type_ == ACCEPTED && condition.status == status);
    Condition {
        type_: ACCEPTED.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation,
        last_transition_time: same
            .map_or_else(|| Time(now), |condition| condition.last_transition_time.clone()),
    }
}

#[cfg(test)]
mod tests {
    use orchestra_api::policy::PlatformPolicySpec;

    use super::*;

    const COUNT: Count = Count { matched: 3, violating: 1 };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn spec(json: Json) -> PlatformPolicySpec {
        serde_json::from_value(json).unwrap()
    }

    fn policy(json: Json) -> PlatformPolicy {
        let mut policy = PlatformPolicy::new("a", spec(json));
        policy.metadata.generation = Some(2);
        policy
    }

    #[test]
    fn a_valid_policy_is_accepted_and_recorded_with_its_counts() {
        let policy = policy(json!({"limits": {"cpu": "2"}}));
        let status = status(&policy, COUNT, at(1)).unwrap();
        assert_eq!((status.matched, status.violating, status.observed_generation), (3, 1, Some(2)));
        assert_eq!(status.in_force.as_deref(), Some(&policy.spec));
        let [condition] = &status.conditions[..] else { panic!("{status:?}") };
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "Accepted"));
        assert_eq!(condition.message, "The policy is in force.");
    }

    #[test]
    fn a_status_that_does_not_change_is_not_written() {
        let mut policy = policy(json!({"limits": {"cpu": "2"}}));
        policy.status = status(&policy, COUNT, at(1));
        assert_eq!(status(&policy, COUNT, at(2)), None);
        let changed = status(&policy, Count::default(), at(2)).unwrap();
        assert_eq!(changed.conditions[0].last_transition_time, Time(at(1)), "the condition has not changed");
    }

    #[test]
    fn an_invalid_policy_names_its_fault_and_keeps_the_recorded_version() {
        let mut policy = policy(json!({"limits": {"cpu": "2"}}));
        policy.status = status(&policy, COUNT, at(1));
        policy.spec = spec(json!({"limits": {"cpu": "x"}}));
        let status = status(&policy, COUNT, at(2)).unwrap();
        assert_eq!(status.in_force.as_deref(), Some(&spec(json!({"limits": {"cpu": "2"}}))));
        let [condition] = &status.conditions[..] else { panic!("{status:?}") };
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "Malformed"));
        assert!(condition.message.starts_with("`limits.cpu`: "), "{}", condition.message);
        assert!(
            condition.message.ends_with(" The last valid version stays in force."),
            "{}",
            condition.message
        );
        assert_eq!(condition.last_transition_time, Time(at(2)));
    }

    #[test]
    fn the_status_of_an_invalid_policy_that_was_never_accepted_states_its_effect() {
        for (mode, effect) in [
            ("Enforce", " No Workload that it may select starts or changes."),
            ("Audit", " It counts no violations until it is corrected."),
        ] {
            let policy = policy(json!({"mode": mode, "limits": {"cpu": "x"}}));
            let status = status(&policy, COUNT, at(1)).unwrap();
            assert_eq!(status.in_force, None);
            assert!(status.conditions[0].message.ends_with(effect), "{status:?}");
        }
    }

    #[test]
    fn the_effect_of_a_policy_is_that_of_the_version_which_is_applied() {
        // An earlier binary accepted a value that this one does not.
        let kept = Some(Box::new(spec(json!({"limits": {"cpu": "y"}}))));
        let mut policy = policy(json!({"mode": "Audit", "limits": {"cpu": "x"}}));
        policy.status = Some(PlatformPolicyStatus { in_force: kept, ..PlatformPolicyStatus::default() });
        let message = status(&policy, COUNT, at(1)).unwrap().conditions.remove(0).message;
        assert!(message.ends_with(" No Workload that it may select starts or changes."), "{message}");
    }

    #[test]
    fn an_unreadable_policy_is_reported_once_and_keeps_the_rest_of_its_status() {
        let mut object = json!({
            "apiVersion": "score.dev/v1b1", "kind": "PlatformPolicy",
            "metadata": {"name": "a", "generation": 2}, "spec": {"priority": "high"},
            "status": {"inForce": {}},
        });
        let patch = unreadable_status(&object, true, at(1)).unwrap();
        let condition = &patch["status"]["conditions"][0];
        assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("Malformed")));
        let message = condition["message"].as_str().unwrap();
        assert!(message.starts_with("The policy cannot be deserialized: invalid type"), "{message}");
        assert!(message.ends_with(" The last valid version stays in force."), "{message}");
        assert_eq!(patch["status"].get("inForce"), None);
        object["status"]["conditions"] = patch["status"]["conditions"].clone();
        assert_eq!(unreadable_status(&object, true, at(2)), None);
    }

    #[test]
    fn a_status_of_an_unreadable_policy_is_skipped_only_if_the_api_rejects_the_object_as_invalid() {
        let merge = StatusWrite::Merge { name: "a".to_owned(), patch: json!({}) };
        let apply = StatusWrite::Apply(Box::new(policy(json!({}))), Box::default());
        for (code, reason, write, expected) in [
            (422, "Invalid", &merge, true),
            (422, "Invalid", &apply, false),
            (409, "Conflict", &merge, false),
            (403, "Forbidden", &merge, false),
            (500, "InternalError", &merge, false),
        ] {
            let answer = Status::failure("It failed.", reason).with_code(code);
            assert_eq!(write.is_skipped_after(&answer), expected, "{code} {write:?}");
        }
    }

    #[test]
    fn an_earlier_version_of_a_policy_that_cannot_be_deserialized_has_no_status_of_its_own() {
        let object = json!({"apiVersion": "score.dev/v1b1", "kind": "PlatformPolicy",
            "metadata": {"name": "a"}, "spec": {"priority": "high"}});
        let other = PlatformPolicy::new("b", spec(json!({})));
        let counts = [("b".to_owned(), COUNT)].into();
        let writes = statuses(vec![policy(json!({})), other.clone()], &[object], &counts, at(1));
        let [StatusWrite::Apply(applied, status), StatusWrite::Merge { name, patch }] = writes.as_slice()
        else {
            panic!("{writes:?}");
        };
        assert_eq!((&**applied, status.matched, name.as_str()), (&other, 3, "a"));
        let message = patch.pointer("/status/conditions/0/message").and_then(Json::as_str).unwrap();
        assert!(message.contains("The last valid version stays in force"), "{message}");
    }
}
