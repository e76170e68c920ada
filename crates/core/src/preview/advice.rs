//! What to do about a Workload that is not ready: one sentence, from its first cause.

use orchestra_api::{ConditionType, Reason, claim::Phase, plan::SUSPENDED};
use orchestra_score::pointer::readable;

use super::{Cause, Explained};
use crate::place::Conclusion;

const ASK: &str = "ask the platform team";

/// What to do next.
pub(super) fn next(explained: &Explained) -> String {
    let Explained { observed, being_deleted, causes, explanation, running, .. } = explained;
    if *being_deleted {
        return format!(
            "Wait until it is gone; if nothing moves for some minutes, {ASK} about what is waited for above."
        );
    }
    if let Some(mistake) = explanation.mistakes.first() {
        return format!(
            "Correct {} and apply the workload again: {}.",
            place(&mistake.pointer, "the document"),
            mistake.hint
        );
    }
    if let Some(violation) = explanation.violations.first() {
        return format!(
            "Change {} and apply the workload again, or {ASK} about the policy {}.",
            place(&violation.pointer, "the workload"),
            violation.policy
        );
    }
    if causes.iter().any(|cause| cause.message == SUSPENDED) {
        return "Apply the workload again to go on.".to_owned();
    }
    if !observed {
        return format!(
            "Wait a moment; if the status does not follow, {ASK} whether the orchestrator is at work."
        );
    }
    // A value that will not come by itself is the author's to mend, whatever else is awaited.
    if let Some(gap) = explanation.gaps.iter().find(|gap| !gap.awaited) {
        return format!("Correct the document and apply the workload again: {}", gap.message);
    }
    // Nothing is asked for before there is a place.
    let placement = explanation.placement.as_ref();
    if placement.is_some_and(|placement| matches!(placement.conclusion, Conclusion::Refused(_))) {
        let meanwhile = if running.is_some() { "; the last good version stays in force" } else { "" };
        return format!("Change what the workload asks for, as said above, or {ASK}{meanwhile}.");
    }
    let Some(first) = causes.first() else {
        return "Nothing: all conditions hold, and the status will follow.".to_owned();
    };
    match first.reason {
        Reason::SpecInvalid => "Correct what is named above and apply the workload again.".to_owned(),
        Reason::PolicyViolation => {
            format!("Change what the policy forbids and apply the workload again, or {ASK} about the policy.")
        }
        Reason::BindingPending | Reason::BindingFailed => about_a_dependency(explained, first),
        Reason::ProjectionError => "Wait: it goes on by itself when the values are there.".to_owned(),
        Reason::RuntimeSelecting => format!("Wait until there is a place to run, or {ASK}."),
        Reason::RuntimeProvisioning => format!("Wait until it is started; if that takes long, {ASK}."),
        Reason::RuntimeDegraded | Reason::Succeeded => {
            "Look at what it prints, correct the workload and apply it again.".to_owned()
        }
        Reason::QuotaExceeded => format!("Ask for less, or {ASK} for more room."),
        Reason::PermissionDenied => {
            format!("The workload is not at fault: {ASK} to allow what the message names.")
        }
        Reason::NetworkUnavailable => {
            format!("Wait, since it is tried again by itself; if that does not help, {ASK}.")
        }
    }
}

/// A place in the document, or what is meant by no place.
fn place(pointer: &str, whole: &str) -> String {
    if pointer.is_empty() { whole.to_owned() } else { readable(pointer) }
}

fn about_a_dependency(explained: &Explained, cause: &Cause) -> String {
    debug_assert_eq!(cause.condition, ConditionType::ClaimsReady);
    let failed = cause.reason == Reason::BindingFailed;
    let waiting = explained.dependencies.iter().filter(|dependency| !dependency.outputs_available);
    let culprit = waiting
        .clone()
        .find(|dependency| !failed || dependency.phase == Phase::Failed)
        .or(waiting.clone().next());
    let Some(dependency) = culprit else {
        return format!("Wait until what it depends on is asked for; if nothing happens, {ASK}.");
    };
    let (key, type_) = (&dependency.key, &dependency.type_);
    if failed {
        return format!("Correct the resource `{key}` as its message says, or {ASK} about `{type_}`.");
    }
    format!("Wait for the resource `{key}`; if it takes long, {ASK} who provides `{type_}`.")
}
