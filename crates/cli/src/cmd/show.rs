//! Workloads, as they are printed.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use orchestra_api::{Condition, ConditionType, Workload};
use serde_json::{Value as Json, json};

use crate::{
    args::Format,
    exit::{Exit, after_writing},
    ui,
};

/// Objects for programs: one as it is, several as a list.
pub(super) fn objects(workloads: &[Workload], format: Format) -> Exit {
    match workloads {
        [one] => data(&object(one), format),
        _ => list(workloads, format),
    }
}

/// A list for programs, however long.
pub(super) fn list(workloads: &[Workload], format: Format) -> Exit {
    let items: Vec<Json> = workloads.iter().map(object).collect();
    data(&json!({"apiVersion": "v1", "kind": "List", "items": items}), format)
}

/// A value for programs.
pub(super) fn data(value: &Json, format: Format) -> Exit {
    let text = match format {
        Format::Yaml => match orchestra_score::yaml::to_yaml(value) {
            Ok(text) => text,
            Err(error) => {
                ui::complain(&format!("failed to write the answer as YAML: {error}"));
                return Exit::No;
            }
        },
        Format::Human | Format::Json => format!("{value:#}\n"),
    };
    after_writing(io::stdout().lock().write_all(text.as_bytes()), Exit::Yes)
}

fn object(workload: &Workload) -> Json {
    let mut workload = workload.clone();
    workload.metadata.managed_fields = None;
    let mut object = json!(workload);
    object["apiVersion"] = json!(orchestra_api::API_VERSION);
    object["kind"] = json!("Workload");
    object
}

/// A line for each, under titles.
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

/// A condition of a workload.
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

/// An answer of the server: text as it is, JSON as wanted.
pub(super) fn answer(text: &str, format: Format) -> Exit {
    match format {
        Format::Human => {
            let text = ui::printable_lines(text);
            after_writing(io::stdout().lock().write_all(text.as_bytes()), Exit::Yes)
        }
        _ => match serde_json::from_str(text) {
            Ok(value) => data(&value, format),
            Err(error) => {
                ui::complain(&format!("the platform's answer cannot be read: {error}"));
                Exit::No
            }
        },
    }
}
