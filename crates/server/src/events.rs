//! What happened to a Workload.

use std::fmt;

use axum::{
    extract::{RawQuery, State},
    http::{Extensions, HeaderMap, StatusCode},
    response::Response,
};
use k8s_openapi::{api::events::v1::Event, jiff::Timestamp};
use kube::{Api, api::ListParams};
use orchestra_api::{GROUP, Workload};
use serde::Serialize;

use crate::{
    Server,
    answer::{Failure, Format},
    workload::{At, absent, admit, no_parameters},
};

/// What happened, the newest last.
#[derive(Debug, Serialize)]
struct Happened {
    events: Vec<Line>,
}

/// One thing that happened.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Line {
    /// When, the last time.
    time: Option<Timestamp>,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    type_: String,
    /// In a word.
    reason: String,
    /// In a sentence.
    note: String,
    /// How often.
    count: i32,
}

/// What happened to a Workload.
pub(crate) async fn events(
    State(server): State<Server>,
    at: At,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let format = Format::of(&headers);
    let happened = async {
        let (namespace, name) = admit(&server, at, &extensions, "get", "log").await?;
        no_parameters(query.as_deref())?;
        happened(&server, &namespace, &name).await
    };
    match happened.await {
        Ok(happened) => format.write(StatusCode::OK, &happened),
        Err(failure) => failure.answer(format),
    }
}

async fn happened(server: &Server, namespace: &str, name: &str) -> Result<Happened, Failure> {
    let workloads: Api<Workload> = Api::namespaced(server.client.clone(), namespace);
    let workload = workloads.get_opt(name).await?.ok_or_else(|| absent(namespace, name))?;
    let api: Api<Event> = Api::namespaced(server.client.clone(), namespace);
    let about = ListParams::default().fields(&format!("regarding.kind=Workload,regarding.name={name}"));
    let found = api.list(&about).await?.items.into_iter();
    // An earlier Workload of this name, and a Workload of another group, are others.
    let is_meant = |event: &Event| {
        event.regarding.as_ref().is_some_and(|regarding| {
            regarding.uid == workload.metadata.uid
                && regarding.api_version.as_deref().is_some_and(|version| version.starts_with(GROUP))
        })
    };
    let mut events: Vec<Line> = found.filter(is_meant).map(line).collect();
    events.sort();
    Ok(Happened { events })
}

fn line(event: Event) -> Line {
    let (last, count) = event.series.map(|series| (series.last_observed_time.0, series.count)).unzip();
    let time = last
        .or(event.event_time.map(|time| time.0))
        .or(event.deprecated_last_timestamp.map(|time| time.0))
        .or(event.metadata.creation_timestamp.map(|time| time.0));
    Line {
        time,
        type_: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        note: event.note.unwrap_or_default(),
        count: count.or(event.deprecated_count).unwrap_or(1),
    }
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.events.is_empty() {
            return f.write_str("Nothing worth telling has happened lately.");
        }
        for Line { time, type_, reason, note, count } in &self.events {
            let time = time.map(|time| format!("{time:.0}")).unwrap_or_default();
            let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
            writeln!(f, "{time}  {type_:<7}  {reason}: {note}{times}")?;
        }
        Ok(())
    }
}
