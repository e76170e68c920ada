use orchestra_api::plan::{Container, ExposureTarget, Port};

use super::{
    rollback::{READY_TIMEOUT, Rollback, failure},
    status::{ADOPTION_GRACE_PERIOD, Snapshot, is_adoption_over, observe},
    *,
};

fn plan(kind: Kind, containers: &[(&str, &[(&str, Ready)])]) -> WorkloadPlanSpec {
    let container = |before: &[(&str, Ready)]| Container {
        before: before.iter().map(|(name, ready)| ((*name).to_owned(), *ready)).collect(),
        ..Container::default()
    };
    WorkloadPlanSpec {
        kind,
        containers: containers.iter().map(|(name, before)| ((*name).to_owned(), container(before))).collect(),
        ..WorkloadPlanSpec::default()
    }
}

fn states(all: &[(&str, ContainerState)]) -> BTreeMap<String, ContainerState> {
    all.iter().map(|(name, state)| ((*name).to_owned(), state.clone())).collect()
}

fn running(ready: bool) -> ContainerState {
    ContainerState { run: RunState::Running, current: true, ready, ..ContainerState::ABSENT }
}

fn ended(success: bool, failures: u32, ago: Duration) -> ContainerState {
    let how = format!("exit code {}", u8::from(!success));
    ContainerState {
        run: RunState::Ended { success, how, ago },
        current: true,
        failures,
        ..ContainerState::ABSENT
    }
}

#[test]
fn the_previous_version_is_stopped_before_a_new_one_starts() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    let old = ContainerState { current: false, ..running(true) };
    let gone = ContainerState { run: RunState::Stopping, current: false, ..running(true) };
    let decision = decide(&plan, &states(&[("app", old), ("dropped", running(true))]));
    assert_eq!((decision.stop, decision.start), (vec!["app".to_owned(), "dropped".to_owned()], vec![]));
    let decision = decide(&plan, &states(&[("app", gone)]));
    assert_eq!((decision.stop, decision.start), (vec![], vec![]), "nothing starts until it is gone");
    let decision = decide(
        &plan,
        &states(&[("app", ContainerState { current: false, ..ended(true, 0, Duration::ZERO) })]),
    );
    assert_eq!(decision.start, ["app"], "the exit of an older version does not count");
}

#[test]
fn containers_start_in_the_order_of_before() {
    let plan = plan(
        Kind::Service,
        &[
            ("app", &[]),
            ("cache", &[("app", Ready::Healthy)]),
            ("migrate", &[("app", Ready::Complete), ("cache", Ready::Started)]),
        ],
    );
    let next = |all: &[(&str, ContainerState)]| decide(&plan, &states(all));
    assert_eq!(next(&[]).start, ["migrate"]);
    assert_eq!(next(&[("migrate", running(true))]).start, ["cache"]);
    let decision = next(&[("migrate", running(true)), ("cache", running(true))]);
    assert_eq!(decision.start, Vec::<String>::new());
    assert_eq!(decision.message.as_deref(), Some("`app` waits for `migrate` to complete."));
    let done = ended(true, 0, Duration::ZERO);
    let decision = next(&[("migrate", done.clone()), ("cache", running(false))]);
    assert_eq!(decision.message.as_deref(), Some("`app` waits for `cache` to be ready."));
    assert_eq!(next(&[("migrate", done.clone()), ("cache", running(true))]).start, ["app"]);
    let decision = next(&[("migrate", done), ("cache", running(true)), ("app", running(true))]);
    assert_eq!(
        (decision.phase, decision.start),
        (Phase::Ready, vec![]),
        "a completed container is not restarted"
    );
}

#[test]
fn a_program_that_exits_is_restarted_with_backoff() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    for (failures, wait) in [(1, 500), (2, 1000), (3, 2000), (7, 30_000), (60, 30_000)] {
        let wait = Duration::from_millis(wait);
        let early = decide(&plan, &states(&[("app", ended(false, failures, wait.mul_f32(0.5)))]));
        assert_eq!((early.start, early.requeue), (vec![], Some(wait.mul_f32(0.5))), "after {failures}");
        assert_eq!(early.phase, Phase::Degraded);
        let due = decide(&plan, &states(&[("app", ended(false, failures, wait))]));
        assert_eq!(due.start, ["app"], "after {failures}");
        assert_eq!(due.broken.is_some(), failures >= 3, "after {failures}");
    }
    let decision = decide(&plan, &states(&[("app", ended(true, 1, Duration::from_secs(1)))]));
    assert_eq!(decision.start, ["app"], "also after exit code 0: a service keeps running");
}

#[test]
fn the_container_that_failed_most_often_is_named_with_its_own_failures() {
    let two = [("app", [].as_slice()), ("proxy", &[])];
    let failures = |app: u32, proxy: u32| {
        states(&[("app", ended(true, app, Duration::ZERO)), ("proxy", ended(false, proxy, Duration::ZERO))])
    };
    let service = plan(Kind::Service, &two);
    let decision = decide(&service, &failures(1, 3));
    assert_eq!(decision.broken.as_deref(), Some("`proxy` is in a crash loop: exit code 1."));
    assert!(decision.message.unwrap().starts_with("`proxy` is in a crash loop: exit code 1."));
    let decision = decide(&service, &failures(2, 2));
    assert!(decision.message.unwrap().starts_with("`app` is not running: exit code 0."));
    let restarted = ContainerState { failures: 3, ..running(false) };
    let decision =
        decide(&service, &states(&[("app", ended(false, 1, Duration::ZERO)), ("proxy", restarted)]));
    assert_eq!(decision.broken, None, "a container that runs does not make a crash loop of another");
    let job = plan(Kind::Job, &two);
    let all = [("app", ended(false, 2, Duration::ZERO)), ("proxy", ended(false, 3, Duration::ZERO))];
    let decision = decide(&job, &states(&all));
    assert_eq!(decision.phase, Phase::Failed);
    assert!(decision.message.unwrap().starts_with("`proxy` failed 3 times: exit code 1."));
}

#[test]
fn a_crash_loop_is_over_once_the_program_has_been_ready_for_ten_seconds() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    let restarted = |failures: u32, ready_for: u64| ContainerState {
        failures,
        ready_for: Duration::from_secs(ready_for),
        last_failure: Some("exit code 1".to_owned()),
        ..running(true)
    };
    for (failures, ready_for, phase, message) in [
        (0, 0, Phase::Ready, None),
        (1, 9, Phase::Degraded, Some("`app` was restarted: exit code 1.")),
        (1, 10, Phase::Ready, None),
        (3, 0, Phase::Degraded, Some("`app` is in a crash loop: exit code 1.")),
        (3, 9, Phase::Degraded, Some("`app` is in a crash loop: exit code 1.")),
        (3, 10, Phase::Ready, None),
    ] {
        let case = format!("{failures} failures, ready for {ready_for} s");
        let decision = decide(&plan, &states(&[("app", restarted(failures, ready_for))]));
        assert_eq!(decision.phase, phase, "{case}");
        let text = decision.message.unwrap_or_default();
        assert!(text.starts_with(message.unwrap_or_default()), "{case}: {text}");
        assert_eq!(
            decision.requeue,
            message.map(|_| Duration::from_secs(10 - ready_for)),
            "{case}: it is ready as soon as it is stable"
        );
        assert_eq!(decision.broken, None, "{case}: it may have recovered");
    }
}

#[test]
fn a_container_with_an_observable_port_is_ready_after_a_single_restart() {
    let mut plan = plan(Kind::Service, &[("app", &[])]);
    plan.ports.insert("web".to_owned(), Port { port: 80, target_port: 80, protocol: Protocol::Tcp });
    let restarted = |failures: u32| ContainerState { failures, ..running(true) };
    assert_eq!(decide(&plan, &states(&[("app", restarted(2))])).phase, Phase::Ready);
    assert_eq!(decide(&plan, &states(&[("app", restarted(3))])).phase, Phase::Degraded);
    let unready = ContainerState { failures: 3, ..running(false) };
    let decision = decide(&plan, &states(&[("app", unready)]));
    assert_eq!(decision.phase, Phase::Degraded, "the status does not alternate between two crashes");
}

#[test]
fn a_job_is_ready_after_success_and_failed_after_three_failures() {
    let plan = plan(Kind::Job, &[("work", &[])]);
    assert_eq!(decide(&plan, &states(&[("work", running(true))])).phase, Phase::Provisioning);
    let done = decide(&plan, &states(&[("work", ended(true, 0, Duration::MAX))]));
    assert_eq!((done.phase, done.start), (Phase::Ready, vec![]));
    let again = decide(&plan, &states(&[("work", ended(false, 2, Duration::MAX))]));
    assert_eq!(again.start, ["work"]);
    let failed = decide(&plan, &states(&[("work", ended(false, 3, Duration::MAX))]));
    assert_eq!((failed.phase, failed.start), (Phase::Failed, vec![]));
}

#[test]
fn a_program_that_fails_its_liveness_probe_is_stopped() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    let decision =
        decide(&plan, &states(&[("app", ContainerState { failed_liveness: true, ..running(true) })]));
    assert_eq!(decision.stop, ["app"]);
}

#[test]
fn a_suspended_workload_is_stopped_and_stays_so() {
    let mut plan = plan(Kind::Service, &[("app", &[])]);
    plan.lifecycle.suspend = true;
    assert_eq!(decide(&plan, &states(&[("app", running(true))])).stop, ["app"]);
    let decision = decide(&plan, &states(&[("app", ended(true, 0, Duration::MAX))]));
    assert_eq!((decision.phase, decision.start), (Phase::Pending, vec![]));
}

#[test]
fn a_suspended_version_is_never_rolled_back() {
    let mut plan = plan(Kind::Service, &[("app", &[])]);
    plan.lifecycle.suspend = true;
    for state in [ended(true, 0, Duration::MAX), ContainerState { run: RunState::Stopping, ..running(true) }]
    {
        let decision = decide(&plan, &states(&[("app", state)]));
        assert_eq!(failure(&plan, &decision, Duration::MAX), None, "{decision:?}");
    }
}

#[test]
fn a_version_that_is_late_or_in_a_crash_loop_is_rolled_back() {
    let service = plan(Kind::Service, &[("app", &[])]);
    let starting = decide(&service, &states(&[("app", running(false))]));
    let just_before = READY_TIMEOUT.saturating_sub(Duration::from_nanos(1));
    assert_eq!(failure(&service, &starting, just_before), None);
    assert_eq!(failure(&service, &starting, READY_TIMEOUT).as_deref(), Some("`app` is not ready yet."));
    let broken = decide(&service, &states(&[("app", ended(false, 3, Duration::ZERO))]));
    assert!(failure(&service, &broken, Duration::ZERO).is_some());
    let ready = decide(&service, &states(&[("app", running(true))]));
    assert_eq!(failure(&service, &ready, Duration::MAX), None);
    let job = plan(Kind::Job, &[("work", &[])]);
    let at_work = decide(&job, &states(&[("work", running(true))]));
    assert_eq!(failure(&job, &at_work, Duration::MAX), None, "a job has no timeout");
}

#[test]
fn the_status_of_a_failed_version_has_the_reason_why_it_is_not_rolled_back() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    let crashed = || decide(&plan, &states(&[("app", ended(false, 3, Duration::ZERO))]));
    let unavailable = Rollback::Unavailable("The secret `db` has no key `password` yet.");
    let decision = crashed().with_rollback(unavailable);
    assert_eq!((decision.phase, decision.reason), (Phase::Degraded, Reason::RuntimeDegraded));
    assert_eq!(
        decision.message.unwrap(),
        "`app` is in a crash loop: exit code 1. Restarting with backoff; see its log. Rollback to the last good version is not possible: The secret `db` has no key `password` yet."
    );
    assert_eq!(crashed().with_rollback(Rollback::None), crashed());
    let ready = || decide(&plan, &states(&[("app", running(true))]));
    assert_eq!(ready().with_rollback(unavailable), ready(), "a version that is ready needs no rollback");
}

#[test]
fn addresses_are_reported_as_reachable_while_the_workload_is_ready() {
    let mut plan = plan(Kind::Service, &[("app", &[])]);
    plan.exposures = vec![orchestra_api::plan::Exposure {
        target: ExposureTarget::ClaimKey("route".to_owned()),
        priority: 0,
    }];
    let routes = BTreeMap::from([("route".to_owned(), "http://app.localhost:8080/".to_owned())]);
    for is_ready in [true, false] {
        let snapshot = Snapshot {
            desired_revision: "r1",
            plan: &plan,
            rollback: Rollback::None,
            published: None,
            routes: &routes,
            has_limits: true,
        };
        let status = observe(&snapshot, decide(&plan, &states(&[("app", running(is_ready))])));
        let addresses = status.exposures.iter().map(|address| (address.url.as_str(), address.reachable));
        assert_eq!(addresses.collect::<Vec<_>>(), [("http://app.localhost:8080/", Some(is_ready))]);
    }
}

#[test]
fn adopted_programs_keep_their_status_until_they_are_probed() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    let starting = decide(&plan, &states(&[("app", running(false))]));
    assert!(!is_adoption_over(&plan, &starting, Duration::ZERO));
    assert!(is_adoption_over(&plan, &starting, ADOPTION_GRACE_PERIOD));
    let ready = decide(&plan, &states(&[("app", running(true))]));
    assert!(is_adoption_over(&plan, &ready, Duration::ZERO));
}

#[test]
fn a_container_that_is_not_ready_names_the_failure_of_its_probe() {
    let mut plan = plan(Kind::Service, &[("app", &[])]);
    let message = |plan: &WorkloadPlanSpec, probe_error: Option<ProbeError>| {
        let state = ContainerState { probe_error, ..running(false) };
        decide(plan, &states(&[("app", state)])).message.unwrap()
    };
    for port in [80, 8081] {
        let port = Port { port, target_port: port, protocol: Protocol::Tcp };
        plan.ports.insert(port.port.to_string(), port);
    }
    assert_eq!(message(&plan, None), "`app` is not ready yet.");
    let closed = Some(ProbeError::NoListener(8081));
    assert_eq!(message(&plan, closed), "`app` is not ready: nothing listens on port 8081 yet.");
    let probe = serde_json::from_value(serde_json::json!({"exec": ["check"]})).unwrap();
    plan.containers.get_mut("app").unwrap().readiness_probe = Some(probe);
    for (error, expected) in [
        (None, "its readiness probe has not succeeded yet."),
        (Some(ProbeError::Status(503)), "its readiness probe has not succeeded yet: HTTP status 503."),
        (
            Some(ProbeError::ConnectionRefused),
            "its readiness probe has not succeeded yet: connection refused.",
        ),
    ] {
        assert_eq!(message(&plan, error), format!("`app` is not ready: {expected}"));
    }
}
