//! Next step for a Workload that is not ready: one sentence, from its first cause.

use orchestra_api::{ConditionType, Reason, claim::Phase};
use orchestra_score::pointer::readable;

use super::{Cause, Explained};
use crate::place::Conclusion;

/// Next step. A suspended Workload has the annotation `score.dev/suspend`.
pub(super) fn next(explained: &Explained, is_suspended: bool) -> String {
    let Explained { observed, being_deleted, causes, explanation, running, .. } = explained;
    if *being_deleted {
        return "Wait for the deletion to finish; if nothing changes for some minutes, check the controller that is named above."
            .to_owned();
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
            "Change {} and apply the workload again, or have the policy {} changed.",
            place(&violation.pointer, "the workload"),
            violation.policy
        );
    }
    if is_suspended {
        return "Apply the workload again to resume it.".to_owned();
    }
    if !observed {
        return "Wait a moment; if the status does not follow, check that the orchestrator is running."
            .to_owned();
    }
    // A value that no wait provides has to be corrected first, whatever else is awaited.
    if let Some(gap) = explanation.gaps.iter().find(|gap| !gap.awaited) {
        return format!("Correct the document and apply the workload again: {}", gap.message);
    }
    // Nothing is requested before a backend is selected.
    let placement = explanation.placement.as_ref();
    if placement.is_some_and(|placement| matches!(placement.conclusion, Conclusion::Refused(_))) {
        let meanwhile = if running.is_some() { "; the last valid version keeps running" } else { "" };
        return format!(
            "Change the requirements of the workload, or the orchestrator config, as named above{meanwhile}."
        );
    }
    let Some(first) = causes.first() else {
        return "Nothing: all conditions are true, and the status follows.".to_owned();
    };
    match first.reason {
        Reason::SpecInvalid => "Correct the errors above and apply the workload again.".to_owned(),
        Reason::PolicyViolation => {
            "Change what the policy forbids and apply the workload again, or have the policy changed."
                .to_owned()
        }
        Reason::BindingPending | Reason::BindingFailed => about_a_dependency(explained, first),
        Reason::ProjectionError => "Wait: it continues when the values are available.".to_owned(),
        Reason::RuntimeSelecting => {
            "Change what the message names, or add a suitable backend to the orchestrator config.".to_owned()
        }
        Reason::RuntimeProvisioning => {
            "Wait until it is started; if that takes long, look at its logs and events.".to_owned()
        }
        Reason::RuntimeDegraded | Reason::Succeeded => {
            "Look at its logs, correct the workload and apply it again.".to_owned()
        }
        Reason::QuotaExceeded => "Request less, or have the quota raised.".to_owned(),
        Reason::PermissionDenied => "The workload is valid: do what the message says.".to_owned(),
        Reason::NetworkUnavailable => {
            "Wait: it is retried; if that does not help, check the connection to what the message names."
                .to_owned()
        }
    }
}

/// Field of the document, or the whole.
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
        return "Wait until its dependencies are requested.".to_owned();
    };
    let (key, type_) = (&dependency.key, &dependency.type_);
    if failed {
        return format!("Correct the resource `{key}` as its message says, or the provisioner of `{type_}`.");
    }
    format!("Wait for the resource `{key}`; if it takes long, check the provisioner of `{type_}`.")
}
