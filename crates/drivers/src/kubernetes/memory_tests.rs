//! What is remembered, and about whom there is news.

use kube::core::DynamicObject;
use orchestra_core::observe::kubernetes::Check;
use serde_json::{Value as Json, json};

use super::*;

fn passing(object: Json) -> Passing {
    Passing::new(serde_json::from_value::<DynamicObject>(object).unwrap())
}

fn deployment(version: u32, available: u32) -> Passing {
    passing(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "hello", "namespace": "shop", "uid": "d", "resourceVersion": version.to_string(),
            "labels": {"score.dev/workload": "hello", "app.kubernetes.io/managed-by": "orchestra"},
            "annotations": {"score.dev/workload-uid": "w", "score.dev/revision": "r1"}},
        "spec": {"replicas": 1},
        "status": {"availableReplicas": available},
    }))
}

fn pod(version: u32, status: &Json) -> Passing {
    passing(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "hello-1", "namespace": "shop", "uid": "p", "resourceVersion": version.to_string(),
            "labels": {"score.dev/workload": "hello"}, "annotations": {"score.dev/revision": "r1"}},
        "status": status,
    }))
}

fn hello() -> Id {
    ("shop".to_owned(), "hello".to_owned())
}

#[test]
fn what_is_known_already_is_no_news_and_nothing_older_is_taken_in() {
    let memory = Memory::default();
    assert_eq!(memory.take_in(Kind::Deployment, &deployment(5, 0)), [hello()]);
    assert!(memory.take_in(Kind::Deployment, &deployment(5, 0)).is_empty());
    assert_eq!(memory.take_in(Kind::Deployment, &deployment(7, 1)), [hello()]);
    assert!(memory.take_in(Kind::Deployment, &deployment(6, 0)).is_empty());
    let held = memory.held(&hello(), Kind::Deployment, "hello").unwrap();
    assert!(matches!(held.facts, Facts::Rollout(rollout) if rollout.available == 1));
}

#[test]
fn what_a_new_list_lacks_is_gone_but_not_what_we_wrote_meanwhile() {
    let memory = Memory::default();
    memory.take_in(Kind::Deployment, &deployment(5, 0));
    memory.begin(Kind::Deployment);
    assert_eq!(memory.end(Kind::Deployment), [hello()]);
    assert!(memory.held(&hello(), Kind::Deployment, "hello").is_none());
    memory.begin(Kind::Deployment);
    memory.take_in(Kind::Deployment, &deployment(9, 0));
    assert!(memory.end(Kind::Deployment).is_empty());
    assert!(memory.held(&hello(), Kind::Deployment, "hello").is_some());
}

#[test]
fn the_routes_of_a_claim_are_news_for_those_that_publish_them() {
    let memory = Memory::default();
    let route = |version: u32, address: &str| {
        passing(json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "route", "namespace": "shop", "uid": "i", "resourceVersion": version.to_string(),
                "labels": {"score.dev/instance": "i1"}},
            "spec": {"rules": [{"host": "a.example.org", "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "hello", "port": {"number": 80}}}}]}}]},
            "status": {"loadBalancer": {"ingress": [{"ip": address}]}},
        }))
    };
    assert!(memory.take_in(Kind::Ingress, &route(1, "10.0.0.1")).is_empty());
    assert_eq!(memory.routes(&hello(), "i1").len(), 1);
    assert_eq!(memory.take_in(Kind::Ingress, &route(2, "10.0.0.2")), [hello()]);
    assert_eq!(memory.gone(Kind::Ingress, &route(3, "10.0.0.2")), [hello()]);
    assert!(memory.routes(&hello(), "i1").is_empty());
}

#[test]
fn what_is_told_of_a_copy_holds_until_it_is_ready() {
    let memory = Memory::default();
    let now = Timestamp::UNIX_EPOCH;
    memory.take_in(Kind::Pod, &pod(1, &json!({"phase": "Pending"})));
    let puzzle = memory.puzzles(now).into_iter().next().unwrap();
    assert!(memory.tell(&puzzle, Some(Cause::Network)));
    assert!(!memory.tell(&puzzle, Some(Cause::Network)));
    memory.take_in(Kind::Pod, &pod(2, &json!({"phase": "Pending", "hostIP": "10.0.0.1"})));
    assert_eq!(memory.view(&hello()).pods[0].told.as_deref(), Some(&Cause::Network));
    let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    memory.take_in(Kind::Pod, &pod(3, &ready));
    assert_eq!(memory.view(&hello()).pods[0].told, None);
    assert!(memory.puzzles(now).is_empty());
}

#[test]
fn a_crash_is_told_with_its_first_line_however_often_it_happens() {
    let memory = Memory::default();
    let crash = |restarts: u32| {
        json!({"phase": "Running", "containerStatuses": [{"name": "web", "ready": false, "restartCount": restarts,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}}]})
    };
    memory.take_in(Kind::Pod, &pod(1, &crash(1)));
    memory.last_line(&hello(), "p", "no database");
    assert!(memory.take_in(Kind::Pod, &pod(2, &crash(2))).is_empty());
    let told = memory.view(&hello()).pods[0].cause.as_ref().unwrap().told().1;
    assert!(told.contains("It last wrote: `no database`."), "{told}");
}

#[test]
fn a_check_is_told_with_what_its_command_wrote_first() {
    let memory = Memory::default();
    memory.take_in(Kind::Pod, &pod(1, &json!({"phase": "Running"})));
    let puzzle = memory.puzzles(Timestamp::UNIX_EPOCH).into_iter().next().unwrap();
    let check = |found: &str, is_lasting| {
        let (probe, found) = ("readiness".into(), found.into());
        Some(Cause::Check(Check { probe, container: Some("web".into()), found, is_lasting }))
    };
    assert!(memory.tell(&puzzle, check("12:00 not yet", false)));
    assert!(!memory.tell(&puzzle, check("12:10 not yet", false)));
    assert!(memory.tell(&puzzle, check("12:20 not yet", true)));
    assert!(!memory.tell(&puzzle, check("12:30 not yet", true)));
    let told = memory.view(&hello()).pods[0].told.as_ref().unwrap().told().1;
    assert!(told.contains("`12:00 not yet`"), "{told}");
    assert!(memory.tell(&puzzle, check("HTTP probe failed with statuscode: 404", true)));
}

#[test]
fn files_that_changed_are_forgotten_and_their_workload_is_told() {
    let memory = Memory::default();
    let files = |version: u32| {
        passing(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "hello-files", "namespace": "shop", "uid": "f", "resourceVersion": version.to_string(),
                "labels": {"score.dev/workload": "hello", "app.kubernetes.io/managed-by": "orchestra"}},
        }))
    };
    // Nothing is remembered of what was never read.
    assert!(memory.notice(Kind::ConfigMap, &files(3)).is_empty());
    memory.take_in(Kind::ConfigMap, &files(5));
    assert!(memory.notice(Kind::ConfigMap, &files(4)).is_empty());
    // What we wrote ourselves is no news.
    assert!(memory.notice(Kind::ConfigMap, &files(5)).is_empty());
    assert!(memory.held(&hello(), Kind::ConfigMap, "hello-files").is_some());
    assert_eq!(memory.notice(Kind::ConfigMap, &files(6)), [hello()]);
    assert!(memory.held(&hello(), Kind::ConfigMap, "hello-files").is_none());
}

#[test]
fn files_that_a_new_list_holds_are_still_there() {
    let memory = Memory::default();
    let files = passing(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "hello-files", "namespace": "shop", "uid": "f", "resourceVersion": "5",
            "labels": {"score.dev/workload": "hello"}},
    }));
    memory.take_in(Kind::ConfigMap, &files);
    memory.begin(Kind::ConfigMap);
    assert!(memory.notice(Kind::ConfigMap, &files).is_empty());
    assert!(memory.end(Kind::ConfigMap).is_empty());
    assert!(memory.held(&hello(), Kind::ConfigMap, "hello-files").is_some());
    memory.begin(Kind::ConfigMap);
    assert_eq!(memory.end(Kind::ConfigMap), [hello()]);
}
