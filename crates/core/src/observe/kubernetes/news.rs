//! What a cluster tells about something that does not run.

use std::cmp::Reverse;

use k8s_openapi::{api::core::v1::Event, jiff::Timestamp};

use super::{
    cause::{Cause, Crash},
    check::Check,
};

/// Why something does not run, by all that is told about it: the newest that says why, or that it was started or made. `None` if
/// nothing is told, or no longer.
pub fn cause(events: &[Event]) -> Option<Option<Cause>> {
    let mut newest: Vec<_> = events.iter().collect();
    newest.sort_by_key(|event| (Reverse(last(event)), is_start(event)));
    let since_start = newest.iter().position(|event| is_start(event)).unwrap_or(newest.len());
    let (lately, before) = newest.split_at(since_start);
    let told = lately.iter().find_map(|event| match event.reason.as_deref()? {
        "Unhealthy" => check(event, lately).map(Cause::Check),
        reason => Cause::of_event(reason, message(event)),
    });
    told.map(Some).or_else(|| (!before.is_empty()).then_some(None))
}

/// The check that had a container ended, by all that is told about its copy: one that has failed too often, since the
/// container was started.
pub fn ended_by(events: &[Event], crash: &Crash) -> Option<Check> {
    let is_about_it = |event: &&Event| container(event) == Some(&*crash.container);
    let is_of_this_run = |event: &&Event| last(event) >= crash.began;
    let of_it = || events.iter().filter(is_about_it).filter(is_of_this_run);
    let killing =
        of_it().filter(|event| event.reason.as_deref() == Some("Killing")).max_by_key(|event| last(event))?;
    let failed = of_it().filter(|event| event.reason.as_deref() == Some("Unhealthy"));
    let checks =
        failed.filter_map(|event| Some((last(event), Check::of_event(message(event), container(event))?)));
    // `Container web failed liveness probe, will be restarted`
    let said = message(killing).to_lowercase();
    let of_this_probe = checks.filter(|(_, check)| said.contains(&format!("failed {} probe", check.probe)));
    of_this_probe.max_by_key(|(at, _)| *at).map(|(_, check)| check)
}

/// A check that does not pass, and for how long: what it found meanwhile may differ.
fn check(newest: &Event, lately: &[&Event]) -> Option<Check> {
    let read = |event: &Event| Check::of_event(message(event), container(event));
    let check = read(newest)?;
    let is_same = |event: &&&Event| {
        let other = read(event).filter(|_| event.reason == newest.reason);
        other.is_some_and(|other| other.probe == check.probe && other.container == check.container)
    };
    let first = lately.iter().filter(is_same).filter_map(|event| first(event)).min();
    let failing = first.zip(last(newest)).map(|(first, last)| last.duration_since(first));
    Some(check.failing_for(failing.unwrap_or_default()))
}

fn message(event: &Event) -> &str {
    event.message.as_deref().unwrap_or_default()
}

/// The container that an event is about: `spec.containers{web}`.
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

/// Whether a container was started, or a copy made: what was told before is over.
fn is_start(event: &Event) -> bool {
    matches!(event.reason.as_deref(), Some("Started" | "SuccessfulCreate"))
}
