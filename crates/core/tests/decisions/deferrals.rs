//! Deferred writes of decisions.

use std::time::Duration;

use orchestra_api::{Reason, finalizer, plan::Phase};
use orchestra_core::{
    Applied,
    decision::{Deferral, Requeue},
    inputs::QueueState,
    plan,
    status::{ADDRESS_DEBOUNCE, BUSY_BACKLOG, BUSY_FIRST_STATUS_DEBOUNCE, FIRST_STATUS_DEBOUNCE},
};
use serde_json::{Value as Json, json};

use crate::decisions::fixture::{Fixture, Running};

#[test]
fn the_first_status_is_deferred_only_while_a_built_in_runtime_starts() {
    let first_report = |spec: Json, running: Running, runtimes: &[&str], deferred_for: Duration| {
        let mut fixture = Fixture::with(spec);
        fixture.running = running;
        fixture.settle();
        let mut inputs = fixture.inputs().unwrap();
        inputs.workload.status = None;
        inputs.runtimes = runtimes.iter().map(|class| (*class).to_owned()).collect();
        inputs.queue.deferred_for = deferred_for;
        plan(&inputs).report(&Applied::default())
    };
    let plain = || json!({"containers": {"app": {"image": "nginx"}}});
    let deferred = first_report(plain(), Running::Absent, &["scripted"], Duration::ZERO);
    assert_eq!((deferred.deferred, &deferred.status), (Some(Deferral::FirstStatus), &None));
    assert_eq!(deferred.requeue, Requeue::After(FIRST_STATUS_DEBOUNCE));
    let broken = || Running::Says(Phase::Failed, Some(Reason::QuotaExceeded));
    let ready = || Running::Says(Phase::Ready, None);
    let mistaken = json!({"containers": {"app": {"imagee": "nginx"}}});
    for (what, report) in [
        ("long enough", first_report(plain(), Running::Absent, &["scripted"], FIRST_STATUS_DEBOUNCE)),
        ("a runtime of others", first_report(plain(), Running::Absent, &[], Duration::ZERO)),
        ("a fault", first_report(plain(), broken(), &["scripted"], Duration::ZERO)),
        ("readiness", first_report(plain(), ready(), &["scripted"], Duration::ZERO)),
        ("an invalid spec", first_report(mistaken, Running::Absent, &["scripted"], Duration::ZERO)),
    ] {
        assert!(report.deferred.is_none() && report.status.is_some(), "{what}: {report:#?}");
    }
}

#[test]
fn the_first_status_is_deferred_for_longer_while_many_workloads_wait() {
    let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
    fixture.running = Running::Absent;
    fixture.settle();
    let requeue = |backlog: usize, deferred_for: Duration| {
        let mut inputs = fixture.inputs().unwrap();
        inputs.workload.status = None;
        inputs.runtimes = ["scripted".to_owned()].into();
        inputs.queue = QueueState { deferred_for, backlog };
        plan(&inputs).report(&Applied::default()).requeue
    };
    let second = Duration::from_secs(1);
    for (backlog, deferred_for, expected) in [
        (BUSY_BACKLOG - 1, Duration::ZERO, Requeue::After(FIRST_STATUS_DEBOUNCE)),
        (BUSY_BACKLOG - 1, second, Requeue::OnChange),
        (BUSY_BACKLOG, Duration::ZERO, Requeue::After(BUSY_FIRST_STATUS_DEBOUNCE)),
        (BUSY_BACKLOG, second, Requeue::After(BUSY_FIRST_STATUS_DEBOUNCE.saturating_sub(second))),
        (BUSY_BACKLOG, BUSY_FIRST_STATUS_DEBOUNCE, Requeue::OnChange),
    ] {
        assert_eq!(requeue(backlog, deferred_for), expected, "{backlog} wait, after {deferred_for:?}");
    }
}

#[test]
fn the_address_of_a_plan_that_keeps_starting_is_deferred_for_a_limited_time() {
    let mut fixture = Fixture::with(json!({
        "containers": {"app": {"image": "nginx"}}, "service": {"ports": {"web": {"port": 80}}},
    }));
    fixture.running = Running::Says(Phase::Provisioning, None);
    fixture.settle();
    let exposure = fixture.exposure.as_mut().unwrap();
    let published = json!({"exposures": [{"url": "http://web", "priority": 1}]});
    exposure.status = Some(serde_json::from_value(published).unwrap());
    let report = |deferred_for: Duration| {
        let mut inputs = fixture.inputs().unwrap();
        inputs.runtimes.insert("scripted".to_owned());
        inputs.queue.deferred_for = deferred_for;
        plan(&inputs).report(&Applied::default())
    };
    let deferred = report(Duration::ZERO);
    assert_eq!((deferred.deferred, deferred.status), (Some(Deferral::Address), None));
    assert_eq!(deferred.requeue, Requeue::After(ADDRESS_DEBOUNCE));
    let written = report(ADDRESS_DEBOUNCE);
    assert_eq!((written.deferred, written.requeue), (None, Requeue::OnChange));
    assert_eq!(written.status.unwrap().endpoint.as_deref(), Some("http://web"));
}

#[test]
fn a_plan_moves_only_after_the_first_report_of_its_runtime() {
    let plain = json!({"containers": {"app": {"image": "nginx"}}});
    let mut fixture = Fixture::with(plain.clone());
    fixture.running = Running::Absent;
    fixture.settle();
    assert_eq!(fixture.plan.as_ref().unwrap().spec.backend_id, "here");
    fixture.write(json!({}), json!({"score.dev/requirements": "big"}), plain);
    // An external runtime records in the status before it starts anything.
    assert_eq!(fixture.decide().plan.unwrap().spec.backend_id, "there");
    // A built-in one may have started it, although its finalizer is not visible yet.
    let mut inputs = fixture.inputs().unwrap();
    inputs.runtimes.insert("scripted".to_owned());
    let decision = plan(&inputs);
    assert_eq!(decision.deferred, [Deferral::Move]);
    assert_eq!(decision.writes().count(), 0, "the exposure names the planned generation, and waits too");
    let held = vec![finalizer::RUNTIME.to_owned()];
    fixture.plan.as_mut().unwrap().metadata.finalizers = Some(held);
    let decision = fixture.decide();
    assert_eq!((decision.plan.is_none(), decision.deferred), (true, vec![Deferral::Move]));
    fixture.running = Running::Says(Phase::Provisioning, None);
    fixture.run();
    assert_eq!(fixture.decide().plan.unwrap().spec.backend_id, "there");
}

#[test]
fn nothing_is_decided_before_the_namespace_was_observed() {
    let fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
    let mut inputs = fixture.inputs().unwrap();
    inputs.namespace = None;
    let decision = plan(&inputs);
    assert!(decision.is_settled());
    let report = decision.report(&Applied::default());
    assert_eq!((report.status, report.deferred), (None, Some(Deferral::NamespaceUnknown)));
}
