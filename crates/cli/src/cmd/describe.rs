//! `orchestra describe`

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use http::Method;
use kube::ResourceExt;
use orchestra_api::Workload;

use super::platform::with_platform;
use crate::{
    args::{Describe, Format},
    exit::{Exit, after_writing},
    ui,
};

pub(crate) fn run(args: &Describe) -> Exit {
    with_platform(&args.target, async |platform| {
        let workload = platform.workload(&args.name).await?;
        let mut text = describe(&workload);
        let events = platform.ask(Method::GET, &args.name, "events", Vec::new(), Format::Human).await?;
        let _ = writeln!(text, "Events:");
        for line in events.text.lines() {
            let _ = writeln!(text, "  {line}");
        }
        Ok(after_writing(io::stdout().lock().write_all(ui::printable_lines(&text).as_bytes()), Exit::Yes))
    })
}

/// How a workload fares.
fn describe(workload: &Workload) -> String {
    let status = workload.status.clone().unwrap_or_default();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Name:       {}", workload.name_any());
    let _ = writeln!(text, "Namespace:  {}", workload.namespace().unwrap_or_default());
    let _ = writeln!(text, "Endpoint:   {}", status.endpoint.as_deref().unwrap_or("not known"));
    if workload.metadata.deletion_timestamp.is_some() {
        let _ = writeln!(text, "Deleted:    it is on its way out");
    }
    let _ = writeln!(text, "Conditions:");
    if status.conditions.is_empty() {
        let _ = writeln!(text, "  the platform has not looked at it yet");
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
