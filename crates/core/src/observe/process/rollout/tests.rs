use super::{super::rollback::READY_TIMEOUT, *};
use orchestra_api::Reason;

const SECOND: Duration = Duration::from_secs(1);

fn plan(kind: Kind, revision: &str) -> WorkloadPlanSpec {
    WorkloadPlanSpec { kind, revision: revision.to_owned(), ..WorkloadPlanSpec::default() }
}

fn service(revision: &str) -> WorkloadPlanSpec {
    plan(Kind::Service, revision)
}

fn decision(phase: Phase) -> ProgramDecision {
    ProgramDecision {
        start: Vec::new(),
        stop: Vec::new(),
        requeue: None,
        phase,
        reason: Reason::RuntimeProvisioning,
        message: None,
        is_working: false,
        broken: None,
    }
}

fn broken() -> ProgramDecision {
    ProgramDecision { broken: Some("It crashes.".to_owned()), ..decision(Phase::Degraded) }
}

fn starting() -> ProgramDecision {
    ProgramDecision { start: vec!["app".to_owned()], ..decision(Phase::Provisioning) }
}

/// State after `revision` has failed, with `r1` as the last good version.
fn failed(revision: &str) -> WorkloadState {
    let failed = FailedVersion { revision: revision.to_owned(), why: "It crashes.".to_owned() };
    WorkloadState { good: Some(service("r1")), failed: Some(failed), ..WorkloadState::default() }
}

fn good() -> WorkloadState {
    WorkloadState { failed: None, ..failed("") }
}

fn after(elapsed: Duration) -> Observed {
    Observed { elapsed, ..Observed::default() }
}

fn conflict(elapsed: Duration) -> Observed {
    Observed { port_conflict: Some("Port 80 is taken.".to_owned()), ..after(elapsed) }
}

#[test]
fn the_last_good_version_is_in_force_while_the_desired_one_has_failed_and_the_good_one_is_prepared() {
    let (good, desired) = (service("r1"), service("r2"));
    let mut suspended = service("r2");
    suspended.lifecycle.suspend = true;
    let unavailable = LastGood::Unavailable("No secret.");
    for (case, desired, last_good, state, in_force, rollback) in [
        (
            "nothing failed",
            &desired,
            LastGood::Prepared(&good),
            WorkloadState::default(),
            "r2",
            Rollback::None,
        ),
        ("it failed", &desired, LastGood::Prepared(&good), failed("r2"), "r1", Rollback::Done("It crashes.")),
        ("another failed", &desired, LastGood::Prepared(&good), failed("r0"), "r2", Rollback::None),
        ("no good version", &desired, LastGood::None, failed("r2"), "r2", Rollback::None),
        ("not prepared", &desired, unavailable, failed("r2"), "r2", Rollback::Unavailable("No secret.")),
        ("it is suspended", &suspended, LastGood::Prepared(&good), failed("r2"), "r2", Rollback::None),
    ] {
        let versions = Versions { desired, last_good };
        assert_eq!(versions.in_force(&state).revision, in_force, "{case}");
        assert_eq!(versions.rollback(&state), rollback, "{case}");
    }
}

fn action(next: &Next) -> &'static str {
    match next {
        Next::RollBack => "roll back",
        Next::Start => "start",
        Next::PublishPortConflict { .. } => "publish the conflict",
        Next::Publish { .. } => "publish",
        Next::KeepPublished { .. } => "keep",
    }
}

#[test]
fn a_version_gives_way_only_to_a_prepared_one_and_only_after_its_time() {
    let (good_plan, desired) = (service("r1"), service("r2"));
    let (none, prepared) = (LastGood::None, LastGood::Prepared(&good_plan));
    let unavailable = LastGood::Unavailable("No secret.");
    let just_before = |limit: Duration| limit.saturating_sub(Duration::from_nanos(1));
    let (early, late) = (after(just_before(READY_TIMEOUT)), after(READY_TIMEOUT));
    let (taken, taken_long) = (conflict(just_before(PORT_WAIT_TIMEOUT)), conflict(PORT_WAIT_TIMEOUT));
    let (waiting, ready) = (decision(Phase::Provisioning), decision(Phase::Ready));
    let (broken, starting) = (broken(), starting());
    for (case, last_good, state, decision, observed, expected) in [
        ("crash loop", prepared, good(), &broken, &early, "roll back"),
        ("crash loop, nothing to go back to", none, good(), &broken, &early, "publish"),
        ("crash loop, not prepared", unavailable, good(), &broken, &early, "publish"),
        ("crash loop of the last good version", prepared, failed("r2"), &broken, &early, "publish"),
        ("not ready in time", prepared, good(), &waiting, &late, "roll back"),
        ("not ready yet", prepared, good(), &waiting, &early, "publish"),
        ("started late", prepared, good(), &starting, &late, "start"),
        ("ready late", prepared, good(), &ready, &late, "publish"),
        ("port taken", prepared, good(), &starting, &taken, "publish the conflict"),
        ("port taken for long", prepared, good(), &starting, &taken_long, "roll back"),
        ("port taken, nothing to go back to", none, good(), &starting, &taken_long, "publish the conflict"),
        (
            "port of the good one taken",
            prepared,
            failed("r2"),
            &starting,
            &taken_long,
            "publish the conflict",
        ),
    ] {
        let step = advance(Versions { desired: &desired, last_good }, &state, decision, observed);
        assert_eq!(action(&step.next), expected, "{case}");
        if step.next == Next::RollBack {
            assert_eq!(step.state.failed.map(|failed| failed.revision).as_deref(), Some("r2"), "{case}");
            assert_eq!(step.state.good, state.good, "{case}");
        } else if decision.phase != Phase::Ready {
            assert_eq!(step.state, state, "{case}: nothing new is recorded");
        }
    }
}

#[test]
fn a_version_is_recorded_as_good_when_it_is_ready_and_was_not_rolled_back_to() {
    let (good_plan, desired) = (service("r1"), service("r2"));
    let versions = Versions { desired: &desired, last_good: LastGood::Prepared(&good_plan) };
    let ready = decision(Phase::Ready);
    let step = advance(versions, &failed("r0"), &ready, &after(SECOND));
    assert_eq!(step.state, WorkloadState { good: Some(desired.clone()), ..good() });
    let step = advance(versions, &failed("r2"), &ready, &after(SECOND));
    assert_eq!(step.state, failed("r2"), "the failed version stays recorded, or it would be tried again");
}

#[test]
fn failures_are_recorded_for_jobs_only_and_a_suspension_forgets_them() {
    let failures = BTreeMap::from([("app".to_owned(), 2)]);
    let observed = Observed { failures: failures.clone(), ..after(SECOND) };
    let recorded = WorkloadState {
        failures: failures.clone(),
        failures_revision: "r2".to_owned(),
        ..WorkloadState::default()
    };
    let state_after = |plan: &WorkloadPlanSpec, state: &WorkloadState, decision: &ProgramDecision| {
        advance(Versions { desired: plan, last_good: LastGood::None }, state, decision, &observed).state
    };
    let mut job = plan(Kind::Job, "r2");
    for decision in [starting(), decision(Phase::Provisioning)] {
        assert_eq!(state_after(&job, &WorkloadState::default(), &decision), recorded);
        assert_eq!(
            state_after(&service("r2"), &WorkloadState::default(), &decision),
            WorkloadState::default()
        );
    }
    let file = serde_json::json!({"workload": "", "tries": {"app": 2}, "tried": "r2"});
    assert_eq!(
        serde_json::from_value::<WorkloadState>(file).unwrap(),
        recorded,
        "the names in existing files"
    );
    assert_eq!(recorded.failures_of("r2"), failures);
    assert_eq!(recorded.failures_of("r3"), BTreeMap::new());
    job.lifecycle.suspend = true;
    let before = WorkloadState { failed: failed("r2").failed, ..recorded };
    assert_eq!(state_after(&job, &before, &decision(Phase::Pending)), WorkloadState::default());
}

#[test]
fn the_status_of_adopted_programs_is_published_with_their_first_probe_or_after_the_grace_period() {
    let desired = service("r1");
    let versions = Versions { desired: &desired, last_good: LastGood::None };
    let next = |phase: Phase, adopted: Duration| {
        let observed = Observed { adopted: Some(adopted), ..after(adopted) };
        advance(versions, &good(), &decision(phase), &observed).next
    };
    let kept = Next::KeepPublished { requeue: ADOPTION_GRACE_PERIOD };
    assert_eq!(next(Phase::Provisioning, Duration::ZERO), kept);
    assert!(matches!(next(Phase::Provisioning, ADOPTION_GRACE_PERIOD), Next::Publish { requeue: Some(_) }));
    assert_eq!(next(Phase::Ready, Duration::ZERO), Next::Publish { requeue: None });
}
