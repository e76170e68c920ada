//! The table of causes: what a cluster says, and what users are told. Objects are written by hand, in the words
//! that a 1.36 cluster uses; `e2e/kubernetes/causes.md` has the causes that are shown on a real one.

use k8s_openapi::{api::core::v1::Event, jiff::Timestamp};
use orchestra_api::plan::{Kind, Lifecycle, WorkloadPlanSpec};
use serde::Deserialize;
use serde_json::Value as Json;

use super::*;

/// Nouns that no user should read.
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
    maker: Option<(String, Json)>,
    #[serde(default)]
    pods: Vec<Json>,
    /// What is told about the first copy, or about what makes them if there is none.
    #[serde(default)]
    events: Vec<Event>,
    told: (Phase, Reason, Option<String>),
}

fn table() -> Vec<Case> {
    serde_json::from_str(include_str!("table.json")).unwrap()
}

fn told(case: &Case) -> Told {
    let plan = WorkloadPlanSpec {
        revision: "r2".to_owned(),
        kind: case.kind,
        lifecycle: Lifecycle { suspend: case.suspend, ..Lifecycle::default() },
        ..WorkloadPlanSpec::default()
    };
    let mut rollout = case.maker.as_ref().map(|(kind, object)| {
        let kind = match kind.as_str() {
            "Deployment" => Maker::Deployment,
            "StatefulSet" => Maker::StatefulSet,
            _ => Maker::Job,
        };
        Rollout::read(kind, &object["metadata"], object)
    });
    let mut pods: Vec<_> = case.pods.iter().map(|pod| Pod::read(&pod["metadata"], pod)).collect();
    let now: Timestamp = "2026-11-16T21:00:30Z".parse().unwrap();
    if !case.events.is_empty() {
        let cause = news::cause(&case.events).flatten().map(Box::new);
        match (pods.first_mut(), rollout.as_mut()) {
            (Some(pod), _) if pod.own_cause(now).is_some() => {
                let Some(Cause::Crash(crash)) = pod.cause.as_deref_mut() else { panic!("nobody would ask") };
                crash.ended_by = news::ended_by(&case.events, crash).map(Box::new);
            }
            (Some(pod), _) => {
                assert!(pod.is_puzzling(now), "{}: nobody would ask", case.name);
                pod.told = cause;
            }
            (None, Some(rollout)) => rollout.cause = cause,
            (None, None) => {}
        }
    }
    observe(&Sight { plan: &plan, rollout: rollout.as_ref(), pods: &pods, now })
}

#[test]
fn every_cause_in_the_table_is_told_as_the_table_says() {
    let mut wrong = Vec::new();
    for case in table() {
        let Told { phase, reason, message, .. } = told(&case);
        if (phase, reason, message.clone()) != case.told {
            wrong.push(format!("{}: {phase:?} {reason} {message:?}\n  not {:?}", case.name, case.told));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_message_names_what_runs_a_workload() {
    for case in table() {
        let message = told(&case).message.unwrap_or_default().to_lowercase();
        for noun in NOUNS {
            let is_word = message.split(|c: char| !c.is_alphanumeric()).any(|word| word == *noun);
            assert!(!is_word, "{}: {message}", case.name);
        }
    }
}

#[test]
fn an_address_stays_published_while_what_was_up_once_is_down() {
    let told = |case: &str| told(table().iter().find(|known| known.name == case).unwrap());
    let ready = told("rolled out");
    assert!(ready.is_reachable && ready.was_reachable);
    let crashed = told("it was up and crashes");
    assert!(!crashed.is_reachable && crashed.was_reachable);
    let fresh = told("an image that does not exist");
    assert!(!fresh.is_reachable && !fresh.was_reachable);
    let serving = told("an image that does not exist while the version before serves");
    assert!(serving.is_reachable);
}
