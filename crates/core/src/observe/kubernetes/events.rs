//! Causes of failures in the events of a cluster.

use std::cmp::Reverse;

use k8s_openapi::{api::core::v1::Event, jiff::Timestamp};

use super::{
    cause::{Cause, Crash},
    probe::ProbeFailure,
};

/// Cause of a failure, by the events about an object. `Some(None)` if the newest relevant event reports a start; `None` if
/// there is no relevant event.
pub fn cause(events: &[Event]) -> Option<Option<Cause>> {
    let mut newest: Vec<_> = events.iter().collect();
    newest.sort_by_key(|event| (Reverse(last(event)), is_start(event)));
    let since_start = newest.iter().position(|event| is_start(event)).unwrap_or(newest.len());
    let (recent, before) = newest.split_at(since_start);
    let cause = recent.iter().find_map(|event| match event.reason.as_deref()? {
        "Unhealthy" => probe(event, recent).map(Cause::Probe),
        reason => Cause::of_event(reason, message(event)),
    });
    cause.map(Some).or_else(|| (!before.is_empty()).then_some(None))
}

/// Probe that made the cluster kill a container, by the events about its pod since the container started.
pub fn killed_by(events: &[Event], crash: &Crash) -> Option<ProbeFailure> {
    let is_about_it = |event: &&Event| container(event) == Some(&*crash.container);
    let is_of_this_run = |event: &&Event| last(event) >= crash.started_at;
    let of_it = || events.iter().filter(is_about_it).filter(is_of_this_run);
    let killing =
        of_it().filter(|event| event.reason.as_deref() == Some("Killing")).max_by_key(|event| last(event))?;
    let failed = of_it().filter(|event| event.reason.as_deref() == Some("Unhealthy"));
    let checks = failed
        .filter_map(|event| Some((last(event), ProbeFailure::of_event(message(event), container(event))?)));
    // `Container web failed liveness probe, will be restarted`
    let message = message(killing).to_lowercase();
    let of_this_probe =
        checks.filter(|(_, check)| message.contains(&format!("failed {} probe", check.probe)));
    of_this_probe.max_by_key(|(at, _)| *at).map(|(_, check)| check)
}

/// Failing probe and for how long it has failed; its findings may differ over time.
fn probe(newest: &Event, recent: &[&Event]) -> Option<ProbeFailure> {
    let read = |event: &Event| ProbeFailure::of_event(message(event), container(event));
    let failure = read(newest)?;
    let is_same = |event: &&&Event| {
        let other = read(event).filter(|_| event.reason == newest.reason);
        other.is_some_and(|other| other.probe == failure.probe && other.container == failure.container)
    };
    let first = recent.iter().filter(is_same).filter_map(|event| first(event)).min();
    let failing = first.zip(last(newest)).map(|(first, last)| last.duration_since(first));
    Some(failure.failing_for(failing.unwrap_or_default()))
}

fn message(event: &Event) -> &str {
    event.message.as_deref().unwrap_or_default()
}

/// Container of an event: `spec.containers{web}`.
fn container(event: &Event) -> Option<&str> {
    let (_, name) = event.involved_object.field_path.as_deref()?.split_once('{')?;
    name.strip_suffix('}')
}

fn first(event: &Event) -> Option<Timestamp> {
    event.first_timestamp.as_ref().map(|at| at.0)
}

fn last(event: &Event) -> Option<Timestamp> {
    event.last_timestamp.as_ref().map(|at| at.0)
}

/// True if a container was started or a pod created: earlier events no longer apply.
fn is_start(event: &Event) -> bool {
    matches!(event.reason.as_deref(), Some("Started" | "SuccessfulCreate"))
}
