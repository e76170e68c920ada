//! How workloads fare, in a few lines: for each its state and endpoint, below it what it depends on, and what it waits
//! for.

use std::fmt::Write as _;

use kube::ResourceExt;
use orchestra_api::{Condition, ConditionStatus, ConditionType, Workload, workload::ClaimSummary};

use crate::{cmd::show, ui};

/// The conditions in the order in which they fail, with the titles of their columns.
const CONDITIONS: [(ConditionType, &str); 4] = [
    (ConditionType::InputsValid, "INPUTS"),
    (ConditionType::ClaimsReady, "CLAIMS"),
    (ConditionType::RuntimeReady, "RUNTIME"),
    (ConditionType::Ready, "READY"),
];

/// The lines about all workloads.
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
        if let Some(message) = trouble(workload) {
            lines.push(format!("  {message}"));
        }
    }
    lines.iter().map(|line| ui::printable(line).into_owned()).collect()
}

/// How a condition stands, in a word.
fn mark(workload: &Workload, type_: ConditionType) -> &'static str {
    let is_current =
        |condition: &&Condition| Some(condition.observed_generation) == workload.metadata.generation;
    match show::condition(workload, type_).filter(is_current).map(|condition| condition.status) {
        Some(ConditionStatus::True) => "yes",
        Some(ConditionStatus::False) => "no",
        Some(ConditionStatus::Unknown) | None => "?",
    }
}

/// What can be used from now on, a line for each dependency that is ready.
pub(super) fn ready_claims(workload: &Workload) -> Vec<String> {
    let claims = workload.status.iter().flat_map(|status| &status.claims);
    let ready = claims.filter(|claim| claim.outputs_available);
    let line = |claim: &ClaimSummary| format!("{}: {}: {}", workload.name_any(), claim.key, claim.message);
    ready.map(|claim| ui::printable(&line(claim)).into_owned()).collect()
}

/// The news about a workload, in one line.
pub(super) fn news(workload: &Workload) -> String {
    let name = workload.name_any();
    let mut text = format!("{name}: {}", state(workload));
    let endpoint = workload.status.as_ref().and_then(|status| status.endpoint.as_deref());
    match (trouble(workload), endpoint) {
        (Some(message), _) => drop(write!(text, ": {message}")),
        (None, Some(endpoint)) => drop(write!(text, " at {endpoint}")),
        (None, None) => {}
    }
    ui::printable(&text).into_owned()
}

/// Whether a workload is ready as it was last applied.
pub(super) fn is_ready(workload: &Workload) -> bool {
    current(workload).is_some_and(|ready| ready.status == ConditionStatus::True)
}

fn state(workload: &Workload) -> &'static str {
    let is_going = workload.metadata.deletion_timestamp.is_some();
    match current(workload).map(|ready| ready.status) {
        _ if is_going => "stopping",
        Some(ConditionStatus::True) => "ready",
        _ => "not ready",
    }
}

/// Why a workload is not ready.
fn trouble(workload: &Workload) -> Option<String> {
    match current(workload) {
        Some(ready) if ready.status == ConditionStatus::True => None,
        Some(ready) => Some(ready.message.clone()),
        None => Some("The platform is looking at it.".to_owned()),
    }
}

/// What is said of a workload as it was last applied.
fn current(workload: &Workload) -> Option<&Condition> {
    show::condition(workload, ConditionType::Ready)
        .filter(|ready| Some(ready.observed_generation) == workload.metadata.generation)
}
