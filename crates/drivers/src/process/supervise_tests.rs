use orchestra_api::plan::Container;

use super::*;

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

fn parts(all: &[(&str, Part)]) -> BTreeMap<String, Part> {
    all.iter().map(|(name, part)| ((*name).to_owned(), part.clone())).collect()
}

fn running(ready: bool) -> Part {
    Part { run: Run::Running, current: true, ready, ..Part::ABSENT }
}

fn ended(well: bool, failures: u32, ago: Duration) -> Part {
    let how = if well { "it ended" } else { "it ended with code 1" }.to_owned();
    Part { run: Run::Ended { well, how, ago }, current: true, failures, ..Part::ABSENT }
}

#[test]
fn what_runs_before_a_new_version_is_stopped_first() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    let old = Part { current: false, ..running(true) };
    let gone = Part { run: Run::Stopping, current: false, ..running(true) };
    let step = decide(&plan, &parts(&[("app", old), ("dropped", running(true))]));
    assert_eq!((step.stop, step.start), (vec!["app".to_owned(), "dropped".to_owned()], vec![]));
    let step = decide(&plan, &parts(&[("app", gone)]));
    assert_eq!((step.stop, step.start), (vec![], vec![]), "nothing starts until it is gone");
    let step = decide(&plan, &parts(&[("app", Part { current: false, ..ended(true, 0, Duration::ZERO) })]));
    assert_eq!(step.start, ["app"], "how an older version ended does not matter");
}

#[test]
fn containers_start_in_the_order_that_they_ask_for() {
    let plan = plan(
        Kind::Service,
        &[
            ("app", &[]),
            ("cache", &[("app", Ready::Healthy)]),
            ("migrate", &[("app", Ready::Complete), ("cache", Ready::Started)]),
        ],
    );
    let next = |all: &[(&str, Part)]| decide(&plan, &parts(all));
    assert_eq!(next(&[]).start, ["migrate"]);
    assert_eq!(next(&[("migrate", running(true))]).start, ["cache"]);
    let step = next(&[("migrate", running(true)), ("cache", running(true))]);
    assert_eq!(step.start, Vec::<String>::new());
    assert_eq!(step.message.as_deref(), Some("`app` waits for `migrate` to end."));
    let done = ended(true, 0, Duration::ZERO);
    let step = next(&[("migrate", done.clone()), ("cache", running(false))]);
    assert_eq!(step.message.as_deref(), Some("`app` waits for `cache` to be ready."));
    assert_eq!(next(&[("migrate", done.clone()), ("cache", running(true))]).start, ["app"]);
    let step = next(&[("migrate", done), ("cache", running(true)), ("app", running(true))]);
    assert_eq!((step.phase, step.start), (Phase::Ready, vec![]), "what has ended well is not started again");
}

#[test]
fn what_ends_is_started_again_after_a_wait_that_grows() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    for (failures, wait) in [(1, 500), (2, 1000), (3, 2000), (7, 30_000), (60, 30_000)] {
        let wait = Duration::from_millis(wait);
        let early = decide(&plan, &parts(&[("app", ended(false, failures, wait.mul_f32(0.5)))]));
        assert_eq!((early.start, early.wake), (vec![], Some(wait.mul_f32(0.5))), "after {failures}");
        assert_eq!(early.phase, Phase::Degraded);
        let due = decide(&plan, &parts(&[("app", ended(false, failures, wait))]));
        assert_eq!(due.start, ["app"], "after {failures}");
        assert_eq!(due.broken.is_some(), failures >= 3, "after {failures}");
    }
    let step = decide(&plan, &parts(&[("app", ended(true, 1, Duration::from_secs(1)))]));
    assert_eq!(step.start, ["app"], "also if it ended well: it should run on");
}

#[test]
fn a_job_is_ready_when_it_has_ended_well_and_given_up_after_three_failures() {
    let plan = plan(Kind::Job, &[("work", &[])]);
    assert_eq!(decide(&plan, &parts(&[("work", running(true))])).phase, Phase::Provisioning);
    let done = decide(&plan, &parts(&[("work", ended(true, 0, Duration::MAX))]));
    assert_eq!((done.phase, done.start), (Phase::Ready, vec![]));
    let again = decide(&plan, &parts(&[("work", ended(false, 2, Duration::MAX))]));
    assert_eq!(again.start, ["work"]);
    let failed = decide(&plan, &parts(&[("work", ended(false, 3, Duration::MAX))]));
    assert_eq!((failed.phase, failed.start), (Phase::Failed, vec![]));
}

#[test]
fn something_that_no_longer_lives_is_stopped() {
    let plan = plan(Kind::Service, &[("app", &[])]);
    let step = decide(&plan, &parts(&[("app", Part { dead: true, ..running(true) })]));
    assert_eq!(step.stop, ["app"]);
}

#[test]
fn something_that_is_suspended_is_stopped_and_stays_so() {
    let mut plan = plan(Kind::Service, &[("app", &[])]);
    plan.lifecycle.suspend = true;
    assert_eq!(decide(&plan, &parts(&[("app", running(true))])).stop, ["app"]);
    let step = decide(&plan, &parts(&[("app", ended(true, 0, Duration::MAX))]));
    assert_eq!((step.phase, step.start), (Phase::Pending, vec![]));
}

#[test]
fn what_was_stopped_on_purpose_is_never_replaced_by_the_version_before() {
    let mut plan = plan(Kind::Service, &[("app", &[])]);
    plan.lifecycle.suspend = true;
    for part in [ended(true, 0, Duration::MAX), Part { run: Run::Stopping, ..running(true) }] {
        let step = decide(&plan, &parts(&[("app", part)]));
        assert_eq!(trouble(&plan, &step, Duration::MAX), None, "{step:?}");
    }
}

#[test]
fn a_version_that_is_late_or_broken_makes_room_for_the_one_before() {
    let service = plan(Kind::Service, &[("app", &[])]);
    let starting = decide(&service, &parts(&[("app", running(false))]));
    let just_before = READY_WITHIN.saturating_sub(Duration::from_nanos(1));
    assert_eq!(trouble(&service, &starting, just_before), None);
    assert_eq!(trouble(&service, &starting, READY_WITHIN).as_deref(), Some("Waiting for `app` to be ready."));
    let broken = decide(&service, &parts(&[("app", ended(false, 3, Duration::ZERO))]));
    assert!(trouble(&service, &broken, Duration::ZERO).is_some());
    let ready = decide(&service, &parts(&[("app", running(true))]));
    assert_eq!(trouble(&service, &ready, Duration::MAX), None);
    let job = plan(Kind::Job, &[("work", &[])]);
    let at_work = decide(&job, &parts(&[("work", running(true))]));
    assert_eq!(trouble(&job, &at_work, Duration::MAX), None, "work takes the time that it takes");
}
