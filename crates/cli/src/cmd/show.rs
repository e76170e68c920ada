//! Output of workloads and server responses.

use std::fmt::Write as _;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use orchestra_api::{Condition, ConditionType, Workload};
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
        let ready = condition(workload, ConditionType::Ready);
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

/// Condition of a workload.
pub(super) fn condition(workload: &Workload, type_: ConditionType) -> Option<&Condition> {
    workload.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
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
