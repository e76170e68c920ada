//! Cached state, and notifications about changes.

use kube::core::DynamicObject;
use orchestra_core::observe::kubernetes::ProbeFailure;
use serde_json::{Value as Json, json};

use super::*;

fn watched(object: Json) -> WatchedObject {
    WatchedObject::new(serde_json::from_value::<DynamicObject>(object).unwrap())
}

fn deployment(version: u32, available: u32) -> WatchedObject {
    watched(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "hello", "namespace": "shop", "uid": "d", "resourceVersion": version.to_string(),
            "labels": {"score.dev/workload": "hello", "app.kubernetes.io/managed-by": "orchestra"},
            "annotations": {"score.dev/workload-uid": "w", "score.dev/revision": "r1"}},
        "spec": {"replicas": 1},
        "status": {"availableReplicas": available},
    }))
}

fn pod(version: u32, status: &Json) -> WatchedObject {
    watched(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "hello-1", "namespace": "shop", "uid": "p", "resourceVersion": version.to_string(),
            "labels": {"score.dev/workload": "hello"}, "annotations": {"score.dev/revision": "r1"}},
        "status": status,
    }))
}

fn hello() -> NamespacedName {
    ("shop".to_owned(), "hello".to_owned())
}

#[test]
fn unchanged_and_older_versions_are_not_notified() {
    let cache = Cache::default();
    assert_eq!(cache.store(Kind::Deployment, &deployment(5, 0)), [hello()]);
    assert!(cache.store(Kind::Deployment, &deployment(5, 0)).is_empty());
    assert_eq!(cache.store(Kind::Deployment, &deployment(7, 1)), [hello()]);
    assert!(cache.store(Kind::Deployment, &deployment(6, 0)).is_empty());
    let live = cache.object(&hello(), Kind::Deployment, "hello").unwrap();
    assert!(matches!(live.facts, Facts::Rollout(rollout) if rollout.available == 1));
}

#[test]
fn a_relist_removes_missing_objects_but_not_concurrent_writes() {
    let cache = Cache::default();
    cache.store(Kind::Deployment, &deployment(5, 0));
    cache.relist_started(Kind::Deployment);
    assert_eq!(cache.relist_done(Kind::Deployment), [hello()]);
    assert!(cache.object(&hello(), Kind::Deployment, "hello").is_none());
    cache.relist_started(Kind::Deployment);
    cache.store(Kind::Deployment, &deployment(9, 0));
    assert!(cache.relist_done(Kind::Deployment).is_empty());
    assert!(cache.object(&hello(), Kind::Deployment, "hello").is_some());
}

#[test]
fn a_changed_route_of_a_claim_notifies_its_publishers() {
    let cache = Cache::default();
    let route = |version: u32, address: &str| {
        watched(json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "route", "namespace": "shop", "uid": "i", "resourceVersion": version.to_string(),
                "labels": {"score.dev/instance": "i1"}},
            "spec": {"rules": [{"host": "a.example.org", "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "hello", "port": {"number": 80}}}}]}}]},
            "status": {"loadBalancer": {"ingress": [{"ip": address}]}},
        }))
    };
    assert!(cache.store(Kind::Ingress, &route(1, "10.0.0.1")).is_empty());
    assert_eq!(cache.routes(&hello(), "i1").len(), 1);
    assert_eq!(cache.store(Kind::Ingress, &route(2, "10.0.0.2")), [hello()]);
    assert_eq!(cache.remove(Kind::Ingress, &route(3, "10.0.0.2")), [hello()]);
    assert!(cache.routes(&hello(), "i1").is_empty());
    cache.store(Kind::Ingress, &route(4, "10.0.0.2"));
    cache.relist_started(Kind::Ingress);
    assert_eq!(cache.relist_done(Kind::Ingress), [hello()], "it was deleted while the watch was broken");
}

#[test]
fn the_cause_of_a_pod_stays_until_it_is_ready() {
    let cache = Cache::default();
    let now = Timestamp::UNIX_EPOCH;
    cache.store(Kind::Pod, &pod(1, &json!({"phase": "Pending"})));
    let object = cache.unexplained(now).into_iter().next().unwrap();
    assert!(cache.set_cause(&object, Some(Cause::Network)));
    assert!(!cache.set_cause(&object, Some(Cause::Network)));
    cache.store(Kind::Pod, &pod(2, &json!({"phase": "Pending", "hostIP": "10.0.0.1"})));
    assert_eq!(cache.view(&hello()).pods[0].event_cause.as_deref(), Some(&Cause::Network));
    let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    cache.store(Kind::Pod, &pod(3, &ready));
    assert_eq!(cache.view(&hello()).pods[0].event_cause, None);
    assert!(cache.unexplained(now).is_empty());
}

#[test]
fn repeated_crashes_keep_the_first_log_line() {
    let cache = Cache::default();
    let crash = |restarts: u32| {
        json!({"phase": "Running", "containerStatuses": [{"name": "web", "ready": false, "restartCount": restarts,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}}]})
    };
    cache.store(Kind::Pod, &pod(1, &crash(1)));
    cache.last_line(&hello(), "p", "no database");
    assert!(cache.store(Kind::Pod, &pod(2, &crash(2))).is_empty());
    let message = cache.view(&hello()).pods[0].cause.as_ref().unwrap().describe().1;
    assert!(message.contains("It last wrote: `no database`."), "{message}");
}

#[test]
fn repeated_probe_failures_keep_the_first_output() {
    let cache = Cache::default();
    cache.store(Kind::Pod, &pod(1, &json!({"phase": "Running"})));
    let object = cache.unexplained(Timestamp::UNIX_EPOCH).into_iter().next().unwrap();
    let check = |found: &str, is_lasting| {
        let (probe, found) = ("readiness".into(), found.into());
        Some(Cause::Probe(ProbeFailure { probe, container: Some("web".into()), found, is_lasting }))
    };
    assert!(cache.set_cause(&object, check("12:00 not yet", false)));
    assert!(!cache.set_cause(&object, check("12:10 not yet", false)));
    assert!(cache.set_cause(&object, check("12:20 not yet", true)));
    assert!(!cache.set_cause(&object, check("12:30 not yet", true)));
    let message = cache.view(&hello()).pods[0].event_cause.as_ref().unwrap().describe().1;
    assert!(message.contains("`12:00 not yet`"), "{message}");
    assert!(cache.set_cause(&object, check("HTTP probe failed with statuscode: 404", true)));
}

#[test]
fn changed_files_are_invalidated_and_notify_their_workload() {
    let cache = Cache::default();
    let files = |version: u32| {
        watched(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "hello-files", "namespace": "shop", "uid": "f", "resourceVersion": version.to_string(),
                "labels": {"score.dev/workload": "hello", "app.kubernetes.io/managed-by": "orchestra"}},
        }))
    };
    // An object that was never read is not cached.
    assert!(cache.invalidate(Kind::ConfigMap, &files(3)).is_empty());
    cache.store(Kind::ConfigMap, &files(5));
    assert!(cache.invalidate(Kind::ConfigMap, &files(4)).is_empty());
    // Our own writes are not notified.
    assert!(cache.invalidate(Kind::ConfigMap, &files(5)).is_empty());
    assert!(cache.object(&hello(), Kind::ConfigMap, "hello-files").is_some());
    assert_eq!(cache.invalidate(Kind::ConfigMap, &files(6)), [hello()]);
    assert!(cache.object(&hello(), Kind::ConfigMap, "hello-files").is_none());
}

#[test]
fn a_relist_keeps_files_that_it_contains() {
    let cache = Cache::default();
    let files = watched(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "hello-files", "namespace": "shop", "uid": "f", "resourceVersion": "5",
            "labels": {"score.dev/workload": "hello"}},
    }));
    cache.store(Kind::ConfigMap, &files);
    cache.relist_started(Kind::ConfigMap);
    assert!(cache.invalidate(Kind::ConfigMap, &files).is_empty());
    assert!(cache.relist_done(Kind::ConfigMap).is_empty());
    assert!(cache.object(&hello(), Kind::ConfigMap, "hello-files").is_some());
    cache.relist_started(Kind::ConfigMap);
    assert_eq!(cache.relist_done(Kind::ConfigMap), [hello()]);
}
