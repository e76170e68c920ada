//! Status view of workloads: conditions and endpoint, below them the dependencies and the message.

use std::fmt::Write as _;

use kube::ResourceExt;
use orchestra_api::{ConditionStatus, ConditionType, Workload, workload::ClaimSummary};
use orchestra_core::workload_state;

use crate::ui;

/// Conditions in the order in which they fail, with column titles.
const CONDITIONS: [(ConditionType, &str); 4] = [
    (ConditionType::InputsValid, "INPUTS"),
    (ConditionType::ClaimsReady, "CLAIMS"),
    (ConditionType::RuntimeReady, "RUNTIME"),
    (ConditionType::Ready, "READY"),
];

/// Lines of the view.
pub(super) fn lines(workloads: &[Workload]) -> Vec<String> {
    let width = workloads.iter().map(|workload| workload.name_any().len()).max().unwrap_or(0).max(8);
    let titles = CONDITIONS.map(|(_, title)| format!("{title:<7}")).join("  ");
    let mut lines = vec![format!("{:<width$}  {titles}  ENDPOINT", "WORKLOAD")];
    for workload in workloads {
        let status = workload.status.clone().unwrap_or_default();
        let endpoint = status.endpoint.as_deref().unwrap_or("-");
        let marks = CONDITIONS.map(|(type_, _)| format!("{:<7}", mark(workload, type_))).join("  ");
        let line = format!("{:<width$}  {marks}  {endpoint}", workload.name_any());
        lines.push(line.trim_end().to_owned());
        for claim in &status.claims {
            let mark = if claim.outputs_available { "ready" } else { "waiting" };
            lines.push(format!("  {} {mark}: {}", claim.key, claim.message));
        }
        if let Some(message) = not_ready_message(workload) {
            lines.push(format!("  {message}"));
        }
    }
    lines.iter().map(|line| ui::printable(line).into_owned()).collect()
}

/// Status of a condition: `yes`, `no` or `?`.
fn mark(workload: &Workload, type_: ConditionType) -> &'static str {
    match workload_state::condition(workload, type_).map(|condition| condition.status) {
        Some(ConditionStatus::True) => "yes",
        Some(ConditionStatus::False) => "no",
        Some(ConditionStatus::Unknown) | None => "?",
    }
}

/// One line for each ready dependency.
pub(super) fn ready_claims(workload: &Workload) -> Vec<String> {
    let claims = workload.status.iter().flat_map(|status| &status.claims);
    let ready = claims.filter(|claim| claim.outputs_available);
    let line = |claim: &ClaimSummary| format!("{}: {}: {}", workload.name_any(), claim.key, claim.message);
    ready.map(|claim| ui::printable(&line(claim)).into_owned()).collect()
}

/// Status of a workload in one line.
pub(super) fn line(workload: &Workload) -> String {
    let name = workload.name_any();
    let mut text = format!("{name}: {}", state(workload));
    let endpoint = workload.status.as_ref().and_then(|status| status.endpoint.as_deref());
    match (not_ready_message(workload), endpoint) {
        (Some(message), _) => drop(write!(text, ": {message}")),
        (None, Some(endpoint)) => drop(write!(text, " at {endpoint}")),
        (None, None) => {}
    }
    ui::printable(&text).into_owned()
}

fn state(workload: &Workload) -> &'static str {
    match workload_state::is_ready(workload) {
        _ if workload_state::is_deleting(workload) => "stopping",
        true => "ready",
        false => "not ready",
    }
}

/// Message of a workload that is not ready.
fn not_ready_message(workload: &Workload) -> Option<String> {
    if workload_state::is_ready(workload) {
        return None;
    }
    let ready = workload_state::condition(workload, ConditionType::Ready);
    Some(ready.map_or_else(|| "Waiting for the first status.".to_owned(), |ready| ready.message.clone()))
}
