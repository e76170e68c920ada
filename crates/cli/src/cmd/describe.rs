//! `orchestra describe`

use std::fmt::Write as _;

use futures_util::StreamExt as _;
use http::Method;
use kube::ResourceExt;
use orchestra_api::{ConditionType, Reason, Workload};
use orchestra_core::workload_state;
use orchestra_server::Code;

use super::{
    logs::{Line, LogOptions},
    platform::{Platform, with_platform},
    print,
};
use crate::{
    args::{Describe, Format},
    error::CliError,
    exit::Exit,
    ui,
};

/// Log lines shown of a degraded workload: enough for an error message, and the conditions stay visible.
const LOG_TAIL: usize = 5;

pub(crate) fn run(args: &Describe) -> Result<Exit, CliError> {
    with_platform(&args.target, async |platform| {
        let workload = platform.workload(&args.name).await?;
        let mut text = describe(&workload);
        let events = platform.query(Method::GET, &args.name, "events", Vec::new(), Format::Human).await;
        // Without the server, the rest is still shown.
        let events = match events {
            Ok(events) => events.text,
            Err(error) => {
                ui::print_status(&format!("warning: events are not available: {error}"));
                return print(&ui::printable_lines(&text));
            }
        };
        if workload_state::condition(&workload, ConditionType::RuntimeReady)
            .is_some_and(|runtime| runtime.reason == Reason::RuntimeDegraded)
        {
            text.push_str(&log_tail(&platform, &args.name).await?);
        }
        let _ = writeln!(text, "Events:");
        for line in events.lines() {
            let _ = writeln!(text, "  {line}");
        }
        print(&ui::printable_lines(&text))
    })
}

/// Last lines of the log.
async fn log_tail(platform: &Platform, name: &str) -> Result<String, CliError> {
    let options = LogOptions { tail: Some(LOG_TAIL), ..LogOptions::default() };
    let mut lines = match platform.logs(name, &options).await {
        Err(error) if error.has_code(Code::NoLogs) => return Ok(format!("Logs: {error}\n")),
        lines => lines?,
    };
    let mut text = String::new();
    while let Some(line) = lines.next().await {
        let Line { container, text: line, .. } = line?;
        let title = if text.is_empty() { "Last log lines:\n" } else { "" };
        let _ = writeln!(text, "{title}  {container} | {line}");
    }
    Ok(text)
}

/// Status of a workload.
fn describe(workload: &Workload) -> String {
    let status = workload.status.clone().unwrap_or_default();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Name:       {}", workload.name_any());
    let _ = writeln!(text, "Namespace:  {}", workload.namespace().unwrap_or_default());
    let _ = writeln!(text, "Endpoint:   {}", status.endpoint.as_deref().unwrap_or("<none>"));
    if workload.metadata.deletion_timestamp.is_some() {
        let _ = writeln!(text, "Deleted:    in progress");
    }
    let _ = writeln!(text, "Conditions:");
    if status.conditions.is_empty() {
        let _ = writeln!(text, "  waiting for the first status");
    }
    for condition in &status.conditions {
        let (type_, status) = (condition.type_.to_string(), condition.status.to_string());
        let _ = writeln!(
            text,
            "  {type_:<13} {status:<8} {:<20} {}",
            condition.reason.to_string(),
            condition.message
        );
    }
    if !status.claims.is_empty() {
        let _ = writeln!(text, "Dependencies:");
        let width = status.claims.iter().map(|claim| claim.key.len()).max().unwrap_or(0);
        for claim in &status.claims {
            let phase = format!("{:?}", claim.phase);
            let _ = writeln!(text, "  {:<width$} {phase:<8} {}", claim.key, claim.message);
        }
    }
    text
}
