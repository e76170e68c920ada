//! Events of a Workload.

use std::fmt;

use axum::{
    extract::{RawQuery, State},
    http::{Extensions, HeaderMap, StatusCode},
    response::Response,
};
use k8s_openapi::{api::events::v1::Event, jiff::Timestamp};
use kube::{Api, api::ListParams};
use orchestra_api::{GROUP, Workload};
use orchestra_limits::Kind;
use serde::Serialize;

use crate::{
    Server,
    error::Error,
    format::Format,
    preview_cost,
    workload::{Admitted, At, admit, answer, no_parameters, no_such_workload},
};

/// Events, the newest last.
#[derive(Debug, Serialize)]
struct EventList {
    events: Vec<EventRow>,
}

/// Event.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct EventRow {
    /// Last occurrence.
    time: Option<Timestamp>,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    type_: String,
    /// Machine-readable reason.
    reason: String,
    /// Explanation.
    note: String,
    /// Number of occurrences.
    count: i32,
}

/// Handler: events of a Workload.
pub(crate) async fn events(
    State(server): State<Server>,
    at: At,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let format = Format::of(&headers);
    let listed = async {
        let Admitted { namespace, name, permit, .. } =
            admit(&server, at, &extensions, Kind::Short, "get", "log").await?;
        no_parameters(query.as_deref())?;
        permit.reserve(preview_cost::BASE_BYTES).await?;
        Ok((list(&server, &namespace, &name).await?, permit))
    };
    match listed.await {
        Ok((events, permit)) => answer(permit.answer(format.respond(StatusCode::OK, &events)).await, format),
        Err(error) => Error::respond(&error, format),
    }
}

async fn list(server: &Server, namespace: &str, name: &str) -> Result<EventList, Error> {
    let workloads: Api<Workload> = Api::namespaced(server.client.clone(), namespace);
    let workload = workloads.get_opt(name).await?.ok_or_else(|| no_such_workload(namespace, name))?;
    let api: Api<Event> = Api::namespaced(server.client.clone(), namespace);
    let about = ListParams::default().fields(&format!("regarding.kind=Workload,regarding.name={name}"));
    let found = api.list(&about).await?.items.into_iter();
    // Others are about an earlier Workload of this name, or a Workload of another API group.
    let is_of_workload = |event: &Event| {
        event.regarding.as_ref().is_some_and(|regarding| {
            regarding.uid == workload.metadata.uid
                && regarding.api_version.as_deref().is_some_and(|version| version.starts_with(GROUP))
        })
    };
    let mut events: Vec<EventRow> = found.filter(is_of_workload).map(row).collect();
    events.sort();
    Ok(EventList { events })
}

fn row(event: Event) -> EventRow {
    let (last, count) = event.series.map(|series| (series.last_observed_time.0, series.count)).unzip();
    let time = last
        .or(event.event_time.map(|time| time.0))
        .or(event.deprecated_last_timestamp.map(|time| time.0))
        .or(event.metadata.creation_timestamp.map(|time| time.0));
    EventRow {
        time,
        type_: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        note: event.note.unwrap_or_default(),
        count: count.or(event.deprecated_count).unwrap_or(1),
    }
}

impl fmt::Display for EventList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.events.is_empty() {
            return f.write_str("No recent events.");
        }
        for EventRow { time, type_, reason, note, count } in &self.events {
            let time = time.map(|time| format!("{time:.0}")).unwrap_or_default();
            let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
            writeln!(f, "{time}  {type_:<7}  {reason}: {note}{times}")?;
        }
        Ok(())
    }
}
