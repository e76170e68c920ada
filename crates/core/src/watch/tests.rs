use serde_json::{Value as Json, from_value, json};

use super::*;

fn meta(json: Json) -> ObjectMeta {
    from_value(json).unwrap()
}

fn plan(status: &Json) -> WorkloadPlan {
    from_value(json!({
        "apiVersion": "score.dev/v1b1", "kind": "WorkloadPlan", "metadata": {"name": "web"}, "status": status,
        "spec": {
            "workloadRef": {"name": "web", "uid": "u"}, "observedWorkloadGeneration": 1, "runtimeClass": "c",
            "profile": "web-service", "backendId": "here", "kind": "Service", "containers": {}, "revision": "r",
        },
    }))
    .unwrap()
}

fn exposure(url: &str) -> WorkloadExposure {
    from_value(json!({
        "apiVersion": "score.dev/v1b1", "kind": "WorkloadExposure", "metadata": {"name": "web"},
        "spec": {"workloadRef": {"name": "web", "uid": "u"}, "runtimeClass": "c", "observedWorkloadGeneration": 1},
        "status": {"exposures": [{"url": url, "priority": 1}]},
    }))
    .unwrap()
}

fn workload(endpoint: Option<&str>) -> Workload {
    from_value(json!({
        "apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": {"name": "web"},
        "spec": {"containers": {}}, "status": {"endpoint": endpoint, "conditions": []},
    }))
    .unwrap()
}

#[test]
fn the_origin_of_a_change_follows_from_its_metadata() {
    let first = meta(json!({"generation": 1}));
    let held = meta(json!({"generation": 1, "finalizers": ["score.dev/runtime"]}));
    let noted = meta(json!({"generation": 1, "annotations": {"a": "b"}}));
    let second = meta(json!({"generation": 2}));
    for (previous, current, gone, echo, origin, is_more) in [
        (None, &first, false, true, Origin::OwnCreation, true),
        (None, &first, false, false, Origin::Other, true),
        (Some(&first), &first, false, true, Origin::OwnReport, false),
        (Some(&first), &held, false, true, Origin::OwnReport, false),
        (Some(&first), &noted, false, true, Origin::OwnReport, false),
        (Some(&first), &noted, false, false, Origin::Other, true),
        (Some(&first), &first, false, false, Origin::Other, false),
        (Some(&first), &second, false, true, Origin::Other, true),
        (Some(&first), &first, true, true, Origin::Other, true),
        (None, &first, true, true, Origin::Other, true),
    ] {
        let change = WatchedChange { previous, current, gone, echo };
        assert_eq!((change.origin(), change.is_more_than_status()), (origin, is_more), "{change:?}");
    }
}

#[test]
fn a_plan_enqueues_its_workload_when_there_is_something_to_report() {
    let starting = json!({"phase": "Provisioning"});
    let obstructed = json!({"phase": "Provisioning", "reason": "QuotaExceeded"});
    for (origin, status, expected) in [
        (Origin::OwnCreation, json!(null), Enqueue::No),
        (Origin::OwnReport, json!(null), Enqueue::No),
        (Origin::OwnReport, starting.clone(), Enqueue::After(FIRST_STATUS_DEBOUNCE)),
        (Origin::OwnReport, obstructed, Enqueue::Now),
        (Origin::OwnReport, json!({"phase": "Ready"}), Enqueue::Now),
        (Origin::Other, starting, Enqueue::Now),
        (Origin::Other, json!(null), Enqueue::Now),
    ] {
        assert_eq!(plan_to_workload(origin, &plan(&status)), expected, "{origin:?} {status}");
    }
}

#[test]
fn an_exposure_enqueues_its_workload_unless_the_address_is_mirrored_or_readiness_follows() {
    let ready = plan(&json!({"phase": "Ready", "observedRevision": "r"}));
    let changed = plan(&json!({"phase": "Ready", "observedRevision": "earlier"}));
    let starting = plan(&json!({"phase": "Provisioning"}));
    let (mirrored, outdated) = (workload(Some("http://web")), workload(None));
    let later = Enqueue::After(ADDRESS_DEBOUNCE);
    for (origin, plan, workload, expected) in [
        (Origin::OwnCreation, Some(&ready), Some(&outdated), Enqueue::No),
        (Origin::OwnReport, Some(&starting), Some(&outdated), later),
        (Origin::OwnReport, Some(&changed), Some(&outdated), later),
        (Origin::OwnReport, None, Some(&outdated), later),
        (Origin::OwnReport, Some(&ready), Some(&mirrored), Enqueue::No),
        (Origin::OwnReport, Some(&ready), Some(&outdated), Enqueue::Now),
        (Origin::OwnReport, Some(&ready), None, Enqueue::Now),
        (Origin::Other, Some(&starting), Some(&mirrored), Enqueue::Now),
    ] {
        let found = exposure_to_workload(origin, &exposure("http://web"), plan, workload);
        assert_eq!(found, expected, "{origin:?}");
    }
}

#[test]
fn an_exposure_enqueues_its_plan_unless_it_is_created_before_the_first_status() {
    let (first, second) = (meta(json!({"generation": 1})), meta(json!({"generation": 2})));
    let creation = WatchedChange { previous: None, current: &first, gone: false, echo: true };
    let update = WatchedChange { previous: Some(&first), current: &second, gone: false, echo: true };
    let report = WatchedChange { previous: Some(&first), current: &first, gone: false, echo: true };
    let (new, reported) = (plan(&json!(null)), plan(&json!({"phase": "Ready"})));
    for (change, plan, expected) in [
        (&creation, None, false),
        (&creation, Some(&new), false),
        (&creation, Some(&reported), true),
        (&update, Some(&new), true),
        (&report, Some(&reported), false),
    ] {
        assert_eq!(exposure_to_plan(change, plan), expected, "{change:?}");
    }
}

#[test]
fn a_workload_enqueues_claims_that_refer_to_workloads_if_its_ports_change() {
    let serving = |port: u16| -> Workload {
        from_value(json!({
            "apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": {"name": "web"},
            "spec": {"containers": {}, "service": {"ports": {"http": {"port": port}}}},
        }))
        .unwrap()
    };
    let (first, second) = (meta(json!({"generation": 1})), meta(json!({"generation": 2})));
    let (old, new) = (serving(80), serving(81));
    for (previous, current, gone, before, expected) in [
        (None, &first, false, None, true),
        (Some(&first), &second, false, Some(&old), true),
        (Some(&first), &second, false, Some(&new), false),
        (Some(&first), &first, false, Some(&old), false),
        (Some(&first), &first, true, Some(&new), true),
    ] {
        let change = WatchedChange { previous, current, gone, echo: false };
        assert_eq!(workload_to_referring_claims(&change, before, &new), expected, "{change:?}");
    }
}

#[test]
fn counts_of_policies_are_delayed_by_the_number_of_workloads() {
    assert_eq!(count_delay(0), Duration::from_secs(1));
    assert_eq!(count_delay(10_000), Duration::from_secs(5));
}

#[test]
fn objects_are_settled_when_they_are_ready_as_they_were_last_written() {
    let applied = |generation: i64, ready: &str| -> Workload {
        from_value(json!({
            "apiVersion": "score.dev/v1b1", "kind": "Workload",
            "metadata": {"name": "web", "generation": generation}, "spec": {"containers": {}},
            "status": {"conditions": [{
                "type": "Ready", "status": ready, "reason": "Succeeded", "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .unwrap()
    };
    assert!(is_settled_workload(&applied(1, "True")));
    assert!(!is_settled_workload(&applied(2, "True")), "it was changed");
    assert!(!is_settled_workload(&applied(1, "False")));

    let mut running = plan(&json!({"phase": "Ready", "observedRevision": "r1"}));
    running.spec.revision = "r1".to_owned();
    assert!(is_settled_plan(&running));
    running.spec.revision = "r2".to_owned();
    assert!(!is_settled_plan(&running));
    assert!(!is_settled_plan(&plan(&json!(null))));

    let claim = |generation: i64, phase: &str| -> ResourceClaim {
        from_value(json!({
            "apiVersion": "score.dev/v1b1", "kind": "ResourceClaim",
            "metadata": {"name": "db", "generation": generation},
            "spec": {
                "workloadRef": {"name": "web", "uid": "u"}, "key": "db", "type": "postgres", "class": "default",
                "placement": {"runtimeClass": "c", "backendId": "here"}, "deprovisionPolicy": "Delete",
            },
            "status": {"phase": phase, "observedGeneration": 1},
        }))
        .unwrap()
    };
    assert!(is_settled_claim(&claim(1, "Bound")));
    assert!(!is_settled_claim(&claim(2, "Bound")), "it was changed");
    assert!(!is_settled_claim(&claim(1, "Binding")));
}
