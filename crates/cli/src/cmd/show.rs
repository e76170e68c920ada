//! Output of workloads and server responses.

use std::fmt::Write as _;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use orchestra_api::{ConditionType, Workload};
use orchestra_core::workload_state;
use serde_json::{Value as Json, json};

use super::print;
use crate::{args::Format, error::CliError, exit::Exit, ui};

/// Prints workloads for programs: one as an object, several as a list.
pub(super) fn objects(workloads: &[Workload], format: Format) -> Result<Exit, CliError> {
    match workloads {
        [one] => value(&object(one), format),
        _ => list(workloads, format),
    }
}

/// Prints a list for programs.
pub(super) fn list(workloads: &[Workload], format: Format) -> Result<Exit, CliError> {
    let items: Vec<Json> = workloads.iter().map(object).collect();
    value(&json!({"apiVersion": "v1", "kind": "List", "items": items}), format)
}

/// Prints a value for programs.
pub(super) fn value(value: &Json, format: Format) -> Result<Exit, CliError> {
    print(&match format {
        Format::Yaml => {
            orchestra_score::yaml::to_yaml(value).map_err(|error| CliError::Encode(error.into()))?
        }
        Format::Human | Format::Json => format!("{value:#}\n"),
    })
}

fn object(workload: &Workload) -> Json {
    let mut workload = workload.clone();
    workload.metadata.managed_fields = None;
    let mut object = json!(workload);
    object["apiVersion"] = json!(orchestra_api::API_VERSION);
    object["kind"] = json!("Workload");
    object
}

/// Table of workloads.
pub(super) fn table(workloads: &[Workload], with_namespace: bool, now: Timestamp) -> String {
    let mut rows = vec![["NAMESPACE", "NAME", "READY", "REASON", "ENDPOINT", "AGE"].map(ToOwned::to_owned)];
    for workload in workloads {
        let ready = workload_state::condition(workload, ConditionType::Ready);
        let endpoint = workload.status.as_ref().and_then(|status| status.endpoint.clone());
        rows.push([
            workload.namespace().unwrap_or_default(),
            workload.name_any(),
            ready.map_or_else(|| "Unknown".to_owned(), |ready| ready.status.to_string()),
            ready.map(|ready| ready.reason.to_string()).unwrap_or_default(),
            endpoint.unwrap_or_default(),
            age(workload, now),
        ]);
    }
    let first = usize::from(!with_namespace);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths).skip(first) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{:<width$}   ", ui::printable(cell));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn age(workload: &Workload, now: Timestamp) -> String {
    let Some(created) = workload.creation_timestamp() else { return String::new() };
    let seconds = now.as_second().saturating_sub(created.0.as_second()).max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

/// Prints a response of the server: text for people, JSON in the given format.
pub(super) fn response(text: &str, format: Format) -> Result<Exit, CliError> {
    match format {
        Format::Human => print(&ui::printable_lines(text)),
        _ => value(&serde_json::from_str(text).map_err(CliError::InvalidResponse)?, format),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_of_an_earlier_generation_is_not_shown() {
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "Succeeded", "message": "",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let mut workload: Workload = serde_json::from_value(json!({
            "metadata": {"name": "web", "generation": 1}, "spec": {}, "status": {"conditions": [ready]},
        }))
        .unwrap();
        let row = |workload: &Workload| {
            let table = table(std::slice::from_ref(workload), false, Timestamp::UNIX_EPOCH);
            table.lines().nth(1).unwrap().to_owned()
        };
        assert!(row(&workload).starts_with("web    True"), "{}", row(&workload));
        workload.metadata.generation = Some(2);
        assert_eq!(row(&workload), "web    Unknown");
    }
}
