use std::time::Duration;

use orchestra_api::{
    Placement, WorkloadExposure, WorkloadPlan, WorkloadRef,
    condition::Reason,
    exposure::{Exposure, WorkloadExposureSpec, WorkloadExposureStatus},
    plan::{InventoryItem, Kind, Phase, WorkloadPlanSpec, WorkloadPlanStatus},
};
use serde_json::json;

use super::*;
use crate::{
    driver::{DriverError, Observation, Removed, UNWATCHED_CHECK_INTERVAL},
    status::FIRST_STATUS_DEBOUNCE,
};

const CLASS: &str = "built-in";

fn item(name: &str) -> InventoryItem {
    InventoryItem { kind: "Thing".to_owned(), name: name.to_owned(), id: None }
}

fn placement(backend: &str) -> Placement {
    Placement { runtime_class: CLASS.to_owned(), backend_id: backend.to_owned() }
}

fn spec(revision: &str) -> WorkloadPlanSpec {
    serde_json::from_value(json!({
        "workloadRef": {"name": "web", "uid": "u"}, "observedWorkloadGeneration": 1, "runtimeClass": CLASS,
        "profile": "web-service", "backendId": "here", "kind": "Service", "containers": {}, "revision": revision,
    }))
    .unwrap()
}

/// A new plan for the built-in runtime, which makes `a`.
fn new() -> Inputs {
    let mut plan = WorkloadPlan::new("web", spec("r1"));
    plan.metadata.namespace = Some("shop".to_owned());
    let workload_ref = WorkloadRef { name: "web".to_owned(), uid: "u".to_owned() };
    let exposure = WorkloadExposureSpec {
        workload_ref,
        runtime_class: CLASS.to_owned(),
        observed_workload_generation: 1,
    };
    Inputs {
        plan,
        exposure: Some(WorkloadExposure::new("web", exposure)),
        runtimes: [CLASS.to_owned()].into(),
        capabilities: Some(Capabilities { inventory: vec![item("a")], ..Capabilities::default() }),
        deferred_for: Duration::ZERO,
    }
}

fn held(mut inputs: Inputs, status: Option<WorkloadPlanStatus>) -> Inputs {
    inputs.plan.metadata.finalizers = Some(vec![finalizer::RUNTIME.to_owned()]);
    inputs.plan.status = status;
    inputs
}

fn reported(phase: Phase, backend: &str, inventory: &[&str]) -> WorkloadPlanStatus {
    WorkloadPlanStatus {
        phase,
        observed_revision: Some("r1".to_owned()),
        placement: Some(placement(backend)),
        inventory: inventory.iter().map(|name| item(name)).collect(),
        ..WorkloadPlanStatus::default()
    }
}

fn observation(phase: Phase) -> Observation {
    Observation { revision: Some("r1".to_owned()), phase, ..Observation::default() }
}

/// Outcome of a run whose writes succeeded, or failed as what was observed.
fn ran(observed: Result<Observation, DriverError>) -> RunOutcome {
    RunOutcome { applied: observed.as_ref().map(|_| ()).map_err(Clone::clone), observed }
}

fn deleting(mut inputs: Inputs) -> Inputs {
    inputs.plan.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    inputs
}

fn with_record(mut inputs: Inputs, record: &Record) -> Inputs {
    let annotations = [(orchestra_api::annotation::INVENTORY.to_owned(), record.annotation())];
    inputs.plan.metadata.annotations = Some(annotations.into());
    held(inputs, None)
}

#[test]
fn a_new_plan_is_recorded_with_its_finalizer_and_applied_without_a_status() {
    let decision = decide(&new());
    let record = Record { placement: placement("here"), inventory: vec![item("a")] };
    assert_eq!(decision.add_finalizer, Some(AddFinalizer { record: Some(record) }));
    assert_eq!(decision.status, None);
    assert!(matches!(decision.work, Work::Apply(_)));
}

#[test]
fn additions_of_a_later_revision_are_recorded_in_the_status_before_they_are_made() {
    let mut inputs = held(new(), Some(reported(Phase::Ready, "here", &["a"])));
    inputs.capabilities = Some(Capabilities { inventory: vec![item("b")], ..Capabilities::default() });
    let decision = decide(&inputs);
    assert_eq!(decision.add_finalizer, None);
    assert_eq!(decision.status.unwrap().inventory, [item("a"), item("b")]);
    assert!(matches!(decision.work, Work::Apply(_)));
}

#[test]
fn a_plan_that_changes_before_its_first_status_records_both_revisions() {
    let record = Record { placement: placement("here"), inventory: vec![item("old")] };
    let inputs = with_record(new(), &record);
    let decision = decide(&inputs);
    assert_eq!(decision.status.unwrap().inventory, [item("a"), item("old")]);
}

#[test]
fn a_settled_plan_is_applied_and_nothing_is_written() {
    let inputs = held(new(), Some(reported(Phase::Ready, "here", &["a"])));
    let decision = decide(&inputs);
    assert_eq!((&decision.add_finalizer, &decision.status, &decision.exposure), (&None, &None, &None));
    let report = report_applied(&inputs, &decision, ran(Ok(observation(Phase::Ready))), Ok(Removed::Gone));
    let addresses = Some(WorkloadExposureStatus::default());
    assert_eq!(report, Report { exposure: addresses, ..Report::default() });
}

#[test]
fn a_job_that_has_succeeded_is_not_applied_again_until_its_revision_changes() {
    let mut inputs = held(new(), Some(reported(Phase::Ready, "here", &["a"])));
    inputs.plan.spec.kind = Kind::Job;
    assert_eq!(decide(&inputs).work, Work::Nothing(Report::default()));
    let is_applied = |inputs: &Inputs| matches!(decide(inputs).work, Work::Apply(_));
    let with = |status: WorkloadPlanStatus| {
        let mut inputs = inputs.clone();
        inputs.plan.status = Some(status);
        inputs
    };
    assert!(is_applied(&with(reported(Phase::Provisioning, "here", &["a"]))), "it runs");
    assert!(
        is_applied(&with(reported(Phase::Ready, "here", &["a", "old"]))),
        "an earlier revision is removed"
    );
    let mut changed = inputs.clone();
    changed.plan.spec.revision = "r2".to_owned();
    assert!(is_applied(&changed));
    inputs.plan.spec.lifecycle.suspend = true;
    assert!(is_applied(&inputs));
}

#[test]
fn a_plan_that_needs_what_the_runtime_lacks_fails_and_the_running_revision_stays() {
    let mut inputs = held(new(), Some(reported(Phase::Ready, "here", &["old"])));
    inputs.capabilities =
        Some(Capabilities { lacks: vec!["It cannot.".to_owned()], ..Capabilities::default() });
    let Work::Nothing(report) = decide(&inputs).work else { panic!("work") };
    let status = report.status.unwrap();
    assert_eq!((status.phase, status.reason), (Phase::Failed, Some(Reason::RuntimeSelecting)));
    assert_eq!(status.inventory, [item("old")]);
    assert!(status.message.unwrap().contains("It cannot."));
    // The running revision keeps its finalizer.
    inputs.plan.metadata.finalizers = None;
    assert_eq!(decide(&inputs).add_finalizer, Some(AddFinalizer { record: None }));
    inputs.plan.spec.lifecycle.suspend = true;
    assert!(matches!(decide(&inputs).work, Work::Apply(_)), "it can stop");
}

#[test]
fn a_plan_that_may_not_run_fails_for_lack_of_permission_and_the_running_revision_stays() {
    let mut inputs = held(new(), Some(reported(Phase::Ready, "here", &["old"])));
    let refusal = Some("Not here.".to_owned());
    inputs.capabilities = Some(Capabilities { refusal, ..Capabilities::default() });
    let Work::Nothing(report) = decide(&inputs).work else { panic!("work") };
    let status = report.status.unwrap();
    assert_eq!((status.phase, status.reason), (Phase::Failed, Some(Reason::PermissionDenied)));
    assert_eq!((status.inventory, status.message.as_deref()), (vec![item("old")], Some("Not here.")));
    inputs.plan.spec.lifecycle.suspend = true;
    assert!(matches!(decide(&inputs).work, Work::Apply(_)), "it can stop");
    inputs.plan.metadata.deletion_timestamp =
        Some(serde_json::from_value(serde_json::json!("2026-01-01T00:00:00Z")).unwrap());
    assert!(matches!(decide(&inputs).work, Work::Remove(..)), "it can be removed");
}

#[test]
fn the_first_status_is_deferred_while_the_plan_is_starting_and_only_for_a_moment() {
    let mut inputs = with_record(new(), &Record { placement: placement("here"), inventory: vec![item("a")] });
    let decision = decide(&inputs);
    let starting = || Ok(observation(Phase::Provisioning));
    let report = report_applied(&inputs, &decision, ran(starting()), Ok(Removed::Gone));
    assert_eq!((report.status, report.deferred), (None, Some(Deferral::FirstStatus)));
    assert_eq!(report.requeue, Requeue::After(FIRST_STATUS_DEBOUNCE));
    inputs.deferred_for = FIRST_STATUS_DEBOUNCE;
    let report = report_applied(&inputs, &decision, ran(starting()), Ok(Removed::Gone));
    assert!(report.status.is_some() && report.deferred.is_none());
    // A fault is reported at once.
    inputs.deferred_for = Duration::ZERO;
    let fault = Err(DriverError::unreachable("No connection."));
    let report = report_applied(&inputs, &decision, ran(fault), Ok(Removed::Gone));
    assert_eq!(report.status.unwrap().reason, Some(Reason::NetworkUnavailable));
    assert_eq!(report.requeue, Requeue::Backoff(DriverError::unreachable("No connection.").into()));
}

#[test]
fn a_failed_plan_is_checked_again_unless_a_watch_reports_what_fixes_it() {
    let inputs = held(new(), Some(reported(Phase::Ready, "here", &["a"])));
    let (reason, message) = (Reason::RuntimeDegraded, "It exists already.".to_owned());
    let unwatched = DriverError::unwatched(reason, message.clone());
    for (error, expected) in [
        (DriverError::refused(reason, message), Requeue::OnChange),
        (unwatched, Requeue::After(UNWATCHED_CHECK_INTERVAL)),
    ] {
        let report = report_applied(&inputs, &decide(&inputs), ran(Err(error)), Ok(Removed::Gone));
        assert_eq!((report.status.unwrap().phase, report.requeue), (Phase::Failed, expected));
    }
}

#[test]
fn a_ready_plan_stays_ready_while_its_runtime_is_unreachable_until_its_revision_changes() {
    let unreachable = || Err(DriverError::unreachable("The cluster does not respond; retrying."));
    let ready = WorkloadPlanStatus {
        reason: Some(Reason::Succeeded),
        placed_on: Some("node-1".to_owned()),
        ..reported(Phase::Ready, "here", &["a"])
    };
    let mut inputs = held(new(), Some(ready.clone()));
    let report = report_applied(&inputs, &decide(&inputs), ran(unreachable()), Ok(Removed::Gone));
    let message = Some("The cluster does not respond; retrying.".to_owned());
    assert_eq!(report.status, Some(WorkloadPlanStatus { message, ..ready }));
    assert_eq!(report.requeue, Requeue::Backoff(unreachable().unwrap_err().into()));
    inputs.plan.spec.revision = "r2".to_owned();
    let report = report_applied(&inputs, &decide(&inputs), ran(unreachable()), Ok(Removed::Gone));
    let status = report.status.unwrap();
    let expected = (Phase::Provisioning, Some(Reason::NetworkUnavailable));
    assert_eq!((status.phase, status.reason), expected);
}

#[test]
fn a_failed_write_leaves_a_plan_ready_only_as_far_as_what_runs_is_ready() {
    let quota = || DriverError::transient(Reason::QuotaExceeded, "Quota exceeded.");
    let unreachable = || DriverError::unreachable("No connection.");
    let inputs = held(new(), Some(reported(Phase::Ready, "here", &["a", "old"])));
    let nothing = Observation { revision: None, ..observation(Phase::Pending) };
    for (observed, phase, reason, message) in [
        (Ok(nothing), Phase::Provisioning, Some(Reason::QuotaExceeded), "Quota exceeded."),
        (
            Ok(observation(Phase::Provisioning)),
            Phase::Provisioning,
            Some(Reason::QuotaExceeded),
            "Quota exceeded.",
        ),
        (Ok(observation(Phase::Ready)), Phase::Ready, observation(Phase::Ready).reason, "Quota exceeded."),
        (Err(unreachable()), Phase::Ready, reported(Phase::Ready, "here", &[]).reason, "Quota exceeded."),
    ] {
        let outcome = RunOutcome { applied: Err(quota()), observed };
        assert_eq!(prunable(&inputs, &outcome), [], "nothing is removed while the new version is incomplete");
        let report = report_applied(&inputs, &decide(&inputs), outcome.clone(), Ok(Removed::Gone));
        let status = report.status.unwrap();
        assert_eq!((status.phase, status.reason), (phase, reason), "{outcome:?}");
        assert_eq!((status.message.as_deref(), status.inventory.len()), (Some(message), 2), "{outcome:?}");
        assert_eq!(report.requeue, Requeue::Backoff(quota().into()));
    }
    assert!(
        is_observed_after(&quota()) && !is_observed_after(&DriverError::refused(Reason::SpecInvalid, "No."))
    );
}

#[test]
fn addresses_are_published_with_readiness_and_withdrawn_before_a_removal() {
    let mut inputs = held(new(), Some(reported(Phase::Provisioning, "here", &["a"])));
    let address: Exposure = serde_json::from_value(json!({"url": "http://web", "priority": 1})).unwrap();
    let ready = Observation { exposures: vec![address.clone()], ..observation(Phase::Ready) };
    let report = report_applied(&inputs, &decide(&inputs), ran(Ok(ready)), Ok(Removed::Gone));
    let published = report.exposure.unwrap();
    assert_eq!(published.exposures, [address]);
    inputs.exposure.as_mut().unwrap().status = Some(published);
    let decision = decide(&deleting(inputs));
    assert_eq!(decision.exposure, Some(WorkloadExposureStatus::default()));
    assert!(matches!(decision.work, Work::Remove(..)));
}

#[test]
fn the_best_address_is_published_first() {
    let inputs = held(new(), Some(reported(Phase::Provisioning, "here", &["a"])));
    let addresses = json!([
        {"url": "http://down", "priority": 2, "reachable": false}, {"url": "http://web", "priority": 1},
    ]);
    let observed =
        Observation { exposures: serde_json::from_value(addresses).unwrap(), ..observation(Phase::Ready) };
    let report = report_applied(&inputs, &decide(&inputs), ran(Ok(observed)), Ok(Removed::Gone));
    let published = report.exposure.unwrap().exposures;
    assert_eq!(
        published.iter().map(|address| address.url.as_str()).collect::<Vec<_>>(),
        ["http://web", "http://down"]
    );
}

#[test]
fn published_addresses_stay_while_they_are_not_reachable_until_the_plan_is_suspended() {
    let address = |reachable: bool| -> Exposure {
        serde_json::from_value(json!({"url": "http://web", "priority": 1, "reachable": reachable})).unwrap()
    };
    let stored =
        |exposures: Vec<Exposure>| Some(WorkloadExposureStatus { exposures, conditions: Vec::new() });
    for (case, before, is_reachable, suspend, expected) in [
        ("it was never reachable", None, false, false, None),
        ("it becomes reachable", None, true, false, stored(vec![address(true)])),
        ("it is down", stored(vec![address(true)]), false, false, stored(vec![address(false)])),
        ("it is still down", stored(vec![address(false)]), false, false, None),
        ("it is suspended", stored(vec![address(true)]), false, true, stored(Vec::new())),
    ] {
        let mut inputs = held(new(), Some(reported(Phase::Provisioning, "here", &["a"])));
        inputs.exposure.as_mut().unwrap().status = before;
        inputs.plan.spec.lifecycle.suspend = suspend;
        let observed =
            Observation { exposures: vec![address(is_reachable)], ..observation(Phase::Provisioning) };
        let report = report_applied(&inputs, &decide(&inputs), ran(Ok(observed)), Ok(Removed::Gone));
        assert_eq!(report.exposure, expected, "{case}");
    }
}

#[test]
fn items_of_earlier_revisions_are_removed_once_the_new_one_is_ready() {
    let inputs = held(new(), Some(reported(Phase::Provisioning, "here", &["a", "old"])));
    let decision = decide(&inputs);
    assert_eq!(prunable(&inputs, &ran(Ok(observation(Phase::Provisioning)))), []);
    assert_eq!(prunable(&inputs, &ran(Ok(observation(Phase::Ready)))), [item("old")]);
    let stopping = Ok(Removed::Stopping("Stopping.".to_owned()));
    let report = report_applied(&inputs, &decision, ran(Ok(observation(Phase::Ready))), stopping);
    assert_eq!(report.status.unwrap().inventory, [item("a"), item("old")]);
    assert_eq!(report.requeue, Requeue::After(STOPPING_CHECK_INTERVAL));
    let failed = Err(DriverError::unreachable("No."));
    let report = report_applied(&inputs, &decision, ran(Ok(observation(Phase::Ready))), failed);
    let status = report.status.unwrap();
    assert_eq!((status.phase, status.inventory), (Phase::Ready, vec![item("a"), item("old")]));
    assert_eq!(status.message.as_deref(), Some("The previous version could not be removed; retrying: No."));
    assert_eq!(report.requeue, Requeue::Backoff(DriverError::unreachable("No.").into()));
    let report = report_applied(&inputs, &decision, ran(Ok(observation(Phase::Ready))), Ok(Removed::Gone));
    assert_eq!(report.status.unwrap().inventory, [item("a")]);
}

#[test]
fn a_deleted_plan_is_released_only_when_everything_recorded_is_gone() {
    let applied = Some(reported(Phase::Ready, "here", &["a"]));
    for inputs in [
        held(new(), applied),
        with_record(new(), &Record { placement: placement("here"), inventory: vec![item("a")] }),
    ] {
        let inputs = deleting(inputs);
        let Work::Remove(target, inventory) = decide(&inputs).work else { panic!("nothing removed") };
        assert_eq!((target.plan.backend_id.as_str(), inventory), ("here", vec![item("a")]));
        assert!(report_removed(&inputs, Ok(Removed::Gone)).remove_finalizer);
        let stopping = report_removed(&inputs, Ok(Removed::Stopping("Stopping.".to_owned())));
        assert!(!stopping.remove_finalizer);
        assert_eq!(stopping.status.unwrap().inventory, [item("a")]);
        let failed = report_removed(&inputs, Err(DriverError::unreachable("No.")));
        assert_eq!(
            (failed.remove_finalizer, failed.requeue),
            (false, Requeue::Backoff(DriverError::unreachable("No.").into()))
        );
    }
    // Without a readable record, it may have been started.
    let lost = deleting(held(new(), None));
    let Work::Remove(_, inventory) = decide(&lost).work else { panic!("nothing removed") };
    assert_eq!(inventory, [item("a")]);
    let absent = Inputs { capabilities: None, runtimes: BTreeSet::new(), ..lost };
    assert_eq!(decide(&absent).work, Work::Nothing(Report::default()), "only its runtime knows");
    let nothing_made = deleting(held(new(), Some(reported(Phase::Failed, "here", &[]))));
    let Work::Nothing(report) = decide(&nothing_made).work else { panic!("work") };
    assert!(report.remove_finalizer, "nothing is recorded in the status, so nothing was made");
    let Work::Nothing(report) = decide(&deleting(new())).work else { panic!("work") };
    assert_eq!(report, Report::default(), "other controllers add_finalizer it");
}

#[test]
fn a_plan_that_moves_is_stopped_at_the_old_placement_first() {
    let inputs = held(new(), Some(reported(Phase::Ready, "there", &["a"])));
    let Work::Remove(target, _) = decide(&inputs).work else { panic!("not removed") };
    assert_eq!(target.plan.backend_id, "there");
    let report = report_removed(&inputs, Ok(Removed::Gone));
    let status = report.status.unwrap();
    assert_eq!((status.placement, status.inventory), (Some(placement("here")), Vec::new()));
    assert!(!report.remove_finalizer && report.requeue == Requeue::After(Duration::ZERO));
}

#[test]
fn a_plan_of_another_class_is_handed_over_with_an_empty_inventory() {
    let mut inputs = held(new(), Some(reported(Phase::Ready, "here", &["a"])));
    inputs.plan.spec.runtime_class = "others".to_owned();
    inputs.capabilities = None;
    assert!(matches!(decide(&inputs).work, Work::Remove(..)));
    let report = report_removed(&inputs, Ok(Removed::Gone));
    let status = report.status.unwrap();
    assert_eq!((status.placement, status.inventory), (None, Vec::new()));
    assert!(report.remove_finalizer);
    // Without the runtime that made it, it is held until that runtime is back.
    inputs.runtimes.clear();
    assert_eq!(decide(&inputs).work, Work::Nothing(Report::default()));
    // A plan that never was ours is left alone.
    inputs.plan.metadata.finalizers = None;
    inputs.plan.status = None;
    assert_eq!(decide(&inputs).work, Work::Nothing(Report::default()));
}

#[test]
fn a_finalizer_that_was_removed_by_hand_comes_back_with_the_record() {
    let record = Record { placement: placement("here"), inventory: vec![item("old")] };
    let mut inputs = with_record(new(), &record);
    inputs.plan.metadata.finalizers = None;
    let both = Record { inventory: vec![item("a"), item("old")], ..record };
    assert_eq!(decide(&inputs).add_finalizer, Some(AddFinalizer { record: Some(both) }));
    let elsewhere = Record { placement: placement("there"), inventory: vec![item("a")] };
    let mut inputs = with_record(new(), &elsewhere);
    inputs.plan.metadata.finalizers = None;
    assert_eq!(decide(&inputs).add_finalizer, Some(AddFinalizer { record: Some(elsewhere) }));
}

#[test]
fn an_exposure_that_is_created_during_the_reconcile_gets_its_addresses_at_once() {
    let with = new();
    let without = Inputs { exposure: None, ..with.clone() };
    let failing = Requeue::Backoff(DriverError::unreachable("x").into());
    for (inputs, planned, has_exposure, expected) in [
        (&without, Requeue::OnChange, true, Requeue::After(Duration::ZERO)),
        (&without, Requeue::OnChange, false, Requeue::OnChange),
        (&with, Requeue::OnChange, true, Requeue::OnChange),
        (&without, failing.clone(), true, failing),
    ] {
        assert_eq!(requeue(inputs, planned, has_exposure), expected);
    }
}
