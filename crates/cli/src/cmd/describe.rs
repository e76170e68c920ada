//! `orchestra describe`

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use futures_util::StreamExt as _;
use http::Method;
use kube::ResourceExt;
use orchestra_api::{ConditionType, Reason, Workload};

use super::{
    logs::{Line, Wish},
    platform::{Platform, Trouble, with_platform},
    show,
};
use crate::{
    args::{Describe, Format},
    exit::{Exit, after_writing},
    ui,
};

/// How many lines of the log are shown of what does not run well.
const LAST: usize = 5;

pub(crate) fn run(args: &Describe) -> Exit {
    with_platform(&args.target, async |platform| {
        let workload = platform.workload(&args.name).await?;
        let mut text = describe(&workload);
        let events = platform.ask(Method::GET, &args.name, "events", Vec::new(), Format::Human).await;
        // Where the server cannot be asked, the rest is still worth knowing.
        let events = match events {
            Ok(events) => events.text,
            Err(trouble) => {
                ui::say(&format!("warning: the events are not known: {}", trouble.why()));
                return Ok(after_writing(printed(&text), Exit::Yes));
            }
        };
        if show::condition(&workload, ConditionType::RuntimeReady)
            .is_some_and(|runtime| runtime.reason == Reason::RuntimeDegraded)
        {
            text.push_str(&last_lines(&platform, &args.name).await?);
        }
        let _ = writeln!(text, "Events:");
        for line in events.lines() {
            let _ = writeln!(text, "  {line}");
        }
        Ok(after_writing(printed(&text), Exit::Yes))
    })
}

fn printed(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(ui::printable_lines(text).as_bytes())
}

/// What a workload wrote last, if anything is known of it.
async fn last_lines(platform: &Platform, name: &str) -> Result<String, Trouble> {
    let mut lines = platform.logs(name, &Wish { tail: Some(LAST), ..Wish::default() }).await?;
    let mut text = String::new();
    while let Some(line) = lines.next().await {
        let Line { container, text: line, .. } = line?;
        let title = if text.is_empty() { "Last lines of its log:\n" } else { "" };
        let _ = writeln!(text, "{title}  {container} | {line}");
    }
    Ok(text)
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
