//! Table of causes: objects and events of a cluster, and the status for users. Objects are written by hand, with the
//! messages of a 1.36 cluster; `e2e/kubernetes/causes.md` lists the causes that are tested on a real one.

use k8s_openapi::{api::core::v1::Event, jiff::Timestamp};
use orchestra_api::plan::{Kind, Lifecycle, WorkloadPlanSpec};
use serde::Deserialize;
use serde_json::Value as Json;

use super::*;

/// Nouns that messages for users must not contain.
const NOUNS: &[&str] = &[
    "pod",
    "deployment",
    "replicaset",
    "replica set",
    "statefulset",
    "kubelet",
    "node",
    "sandbox",
    "configmap",
];

#[derive(Deserialize)]
struct Case {
    #[serde(rename = "case")]
    name: String,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    suspend: bool,
    rollout: Option<(String, Json)>,
    #[serde(default)]
    pods: Vec<Json>,
    /// Events about the first pod, or about the rollout if there is none.
    #[serde(default)]
    events: Vec<Event>,
    expected: (Phase, Reason, Option<String>),
}

fn table() -> Vec<Case> {
    serde_json::from_str(include_str!("table.json")).unwrap()
}

fn status(case: &Case) -> RuntimeStatus {
    let plan = WorkloadPlanSpec {
        revision: "r2".to_owned(),
        kind: case.kind,
        lifecycle: Lifecycle { suspend: case.suspend, ..Lifecycle::default() },
        ..WorkloadPlanSpec::default()
    };
    let mut rollout = case.rollout.as_ref().map(|(kind, object)| {
        let kind = match kind.as_str() {
            "Deployment" => RolloutKind::Deployment,
            "StatefulSet" => RolloutKind::StatefulSet,
            _ => RolloutKind::Job,
        };
        Rollout::read(kind, &object["metadata"], object)
    });
    let mut pods: Vec<_> = case.pods.iter().map(|pod| Pod::read(&pod["metadata"], pod)).collect();
    let now: Timestamp = "2026-11-16T21:00:30Z".parse().unwrap();
    if !case.events.is_empty() {
        let cause = events::cause(&case.events).flatten().map(Box::new);
        match (pods.first_mut(), rollout.as_mut()) {
            (Some(pod), _) if pod.own_cause(now).is_some() => {
                let Some(Cause::Crash(crash)) = pod.cause.as_deref_mut() else {
                    panic!("events are not needed")
                };
                crash.killed_by = events::killed_by(&case.events, crash).map(Box::new);
            }
            (Some(pod), _) => {
                assert!(pod.needs_events(now), "{}: events are not needed", case.name);
                pod.event_cause = cause;
            }
            (None, Some(rollout)) => rollout.cause = cause,
            (None, None) => {}
        }
    }
    observe(&Snapshot { plan: &plan, rollouts: rollout.as_slice(), pods: &pods, now })
}

#[test]
fn every_case_of_the_table_has_the_expected_status() {
    let mut wrong = Vec::new();
    for case in table() {
        let RuntimeStatus { phase, reason, message, .. } = status(&case);
        if (phase, reason, message.clone()) != case.expected {
            wrong.push(format!("{}: {phase:?} {reason} {message:?}\n  not {:?}", case.name, case.expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_message_contains_a_noun_of_the_cluster() {
    for case in table() {
        let message = status(&case).message.unwrap_or_default().to_lowercase();
        for noun in NOUNS {
            let is_word = message.split(|c: char| !c.is_alphanumeric()).any(|word| word == *noun);
            assert!(!is_word, "{}: {message}", case.name);
        }
    }
}

#[test]
fn a_workload_is_reachable_while_any_version_of_it_is_available() {
    for (case, expected) in [
        ("rolled out", true),
        ("it was ready and crashes", false),
        ("an image that does not exist", false),
        ("an image that does not exist while the previous version serves", true),
    ] {
        let status = status(table().iter().find(|known| known.name == case).unwrap());
        assert_eq!(status.is_reachable, expected, "{case}");
    }
}

#[test]
fn the_rollout_of_the_current_revision_counts_and_none_that_is_being_deleted() {
    let rollout = |revision: &str, is_deleting| Rollout {
        revision: Some(revision.into()),
        is_deleting,
        ..Rollout::default()
    };
    let plan = WorkloadPlanSpec { revision: "r2".to_owned(), ..WorkloadPlanSpec::default() };
    let observed = |rollouts: &[Rollout]| {
        let now = Timestamp::UNIX_EPOCH;
        observe(&Snapshot { plan: &plan, rollouts, pods: &[], now }).revision
    };
    assert_eq!(observed(&[rollout("r1", false), rollout("r2", false)]).as_deref(), Some("r2"));
    assert_eq!(observed(&[rollout("r2", true), rollout("r1", false)]).as_deref(), Some("r1"));
    assert_eq!(observed(&[rollout("r2", true)]), None);
}

#[test]
fn a_dependency_that_crashed_once_is_not_in_a_crash_loop() {
    let crash = |is_loop| {
        Cause::Crash(Crash {
            container: "postgres".into(),
            exit_code: 1,
            out_of_memory: false,
            is_loop,
            started_at: None,
            last_line: None,
            killed_by: None,
        })
    };
    assert_eq!(crash(false).describe_dependency(), "`postgres` is not running (exit code 1); restarting.");
    assert!(crash(true).describe_dependency().starts_with("`postgres` is in a crash loop (exit code 1):"));
}
