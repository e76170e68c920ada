//! Every condition with every reason that a Workload can show, each from a case that shows it. `docs/conditions.md`
//! lists them for people; here it is proven that the list is right and complete.

use std::collections::BTreeSet;

use orchestra_api::{Reason, plan::Phase, workload::WorkloadStatus};
use orchestra_core::status::is_only_begun;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::json;

use crate::decisions::{
    random::{self, Scene},
    table,
    world::{Answer, Running, World},
};

const DOCUMENT: &str = "docs/conditions.md";
/// How many random worlds are looked at.
const WORLDS: usize = 500;

/// The conditions of a status in one line.
fn line(status: &WorkloadStatus) -> String {
    let conditions = status.conditions.iter();
    conditions.map(|c| format!("{}={}/{}", c.type_, c.status, c.reason)).collect::<Vec<_>>().join(" ")
}

macro_rules! cases {
    ($($name:ident: $says:literal = $world:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let status: WorkloadStatus = $world;
                check_messages(&status);
                assert_eq!(line(&status), $says, "{status:#?}");
            }
        )*

        /// All cases: what each says.
        const CASES: &[(&str, &str)] = &[$((stringify!($name), $says)),*];
    };
}

cases! {
    a_workload_that_needs_nothing: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=True/Succeeded Ready=True/Succeeded" =
        World::with(json!({"containers": {"app": {"image": "nginx"}}})).settle();
    a_mistake_in_the_document: "InputsValid=False/SpecInvalid ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/SpecInvalid" =
        World::with(json!({"containers": {"app": {"imagee": "nginx"}}})).settle();
    something_that_policy_forbids: "InputsValid=False/PolicyViolation ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/PolicyViolation" = {
        let mut world = World::with(json!({"containers": {"app": {"image": "nginx"}}}));
        world.policy("images", json!({"allow": {"registries": ["registry.example.org"]}}));
        world.settle()
    };
    a_mistake_after_a_good_version: "InputsValid=False/SpecInvalid ClaimsReady=True/Succeeded RuntimeReady=True/Succeeded Ready=False/SpecInvalid" = {
        let mut world = World::with(json!({"containers": {"app": {"image": "nginx"}}}));
        world.settle();
        world.write(json!({}), json!({}), json!({"containers": {}}));
        world.settle()
    };
    a_dependency_that_is_being_made: "InputsValid=True/Succeeded ClaimsReady=False/BindingPending RuntimeReady=False/ProjectionError Ready=False/BindingPending" =
        with_database(Answer::Make).settle();
    a_dependency_that_nobody_provides: "InputsValid=True/Succeeded ClaimsReady=False/BindingFailed RuntimeReady=False/ProjectionError Ready=False/BindingFailed" =
        World::with(using("oracle")).settle();
    an_output_that_the_dependency_does_not_have: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/ProjectionError Ready=False/ProjectionError" =
        with_database(Answer::BindInPart).settle();
    a_dependency_beyond_the_quota: "InputsValid=True/Succeeded ClaimsReady=False/QuotaExceeded RuntimeReady=False/ProjectionError Ready=False/QuotaExceeded" =
        with_database(Answer::Refuse(Reason::QuotaExceeded)).settle();
    a_dependency_that_may_not_be_made: "InputsValid=True/Succeeded ClaimsReady=False/PermissionDenied RuntimeReady=False/ProjectionError Ready=False/PermissionDenied" =
        with_database(Answer::Refuse(Reason::PermissionDenied)).settle();
    a_dependency_that_cannot_be_reached: "InputsValid=True/Succeeded ClaimsReady=False/NetworkUnavailable RuntimeReady=False/ProjectionError Ready=False/NetworkUnavailable" =
        with_database(Answer::Refuse(Reason::NetworkUnavailable)).settle();
    a_dependency_that_waits_for_more_quota: "InputsValid=True/Succeeded ClaimsReady=False/QuotaExceeded RuntimeReady=False/ProjectionError Ready=False/QuotaExceeded" =
        with_database(Answer::Hinder(Reason::QuotaExceeded)).settle();
    a_dependency_that_waits_for_something_else: "InputsValid=True/Succeeded ClaimsReady=False/BindingPending RuntimeReady=False/ProjectionError Ready=False/BindingPending" =
        with_database(Answer::Hinder(Reason::RuntimeProvisioning)).settle();
    a_dependency_that_waits_beside_one_that_takes_its_time: "InputsValid=True/Succeeded ClaimsReady=False/PermissionDenied RuntimeReady=False/ProjectionError Ready=False/PermissionDenied" = {
        let mut world = World::with(json!({
            "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}", "CACHE": "${resources.store.host}"}}},
            "resources": {"db": {"type": "postgres"}, "store": {"type": "redis"}},
        }));
        world.answer("postgres", Answer::Make);
        world.answer("redis", Answer::Hinder(Reason::PermissionDenied));
        world.settle()
    };
    a_dependency_that_the_organisation_forbids: "InputsValid=True/Succeeded ClaimsReady=False/PolicyViolation RuntimeReady=False/ProjectionError Ready=False/PolicyViolation" = {
        let mut world = with_database(Answer::Bind);
        world.denials.claims = Some(Reason::PolicyViolation);
        world.settle()
    };
    no_place_that_offers_what_is_asked_for: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/RuntimeSelecting" = {
        let mut world = World::with(json!({"containers": {"app": {"image": "nginx"}}}));
        world.write(json!({}), json!({"score.dev/requirements": "quantum"}), json!({"containers": {"app": {"image": "nginx"}}}));
        world.settle()
    };
    no_runtime_that_takes_it_up: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeProvisioning Ready=False/RuntimeProvisioning" =
        running(Running::Absent);
    a_start_that_is_not_over: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeProvisioning Ready=False/RuntimeProvisioning" =
        running(Running::Says(Phase::Provisioning, None));
    something_that_runs_badly: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeDegraded Ready=False/RuntimeDegraded" =
        running(Running::Says(Phase::Degraded, None));
    a_start_that_failed: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeDegraded Ready=False/RuntimeDegraded" =
        running(Running::Says(Phase::Failed, None));
    a_runtime_that_lacks_something: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/RuntimeSelecting" =
        running(Running::Says(Phase::Failed, Some(Reason::RuntimeSelecting)));
    a_start_beyond_the_quota: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/QuotaExceeded Ready=False/QuotaExceeded" =
        running(Running::Says(Phase::Provisioning, Some(Reason::QuotaExceeded)));
    a_start_that_is_not_permitted: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/PermissionDenied Ready=False/PermissionDenied" =
        running(Running::Says(Phase::Failed, Some(Reason::PermissionDenied)));
    a_place_that_cannot_be_reached: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/NetworkUnavailable Ready=False/NetworkUnavailable" =
        running(Running::Says(Phase::Provisioning, Some(Reason::NetworkUnavailable)));
    a_plan_that_the_organisation_forbids: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/PolicyViolation Ready=False/PolicyViolation" = {
        let mut world = World::with(json!({"containers": {"app": {"image": "nginx"}}}));
        world.denials.plans = Some(Reason::PolicyViolation);
        world.settle()
    };
    a_reason_that_is_not_the_runtimes_to_give: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeDegraded Ready=False/RuntimeDegraded" =
        running(Running::Says(Phase::Failed, Some(Reason::SpecInvalid)));
    a_profile_that_does_not_exist: "InputsValid=False/SpecInvalid ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/SpecInvalid" =
        annotated(json!({"score.dev/profile": "web-servcie"}));
    a_profile_that_policy_forbids: "InputsValid=False/PolicyViolation ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/PolicyViolation" = {
        let mut world = World::with(json!({"containers": {"app": {"image": "nginx"}}}));
        world.policy("jobs", json!({"allow": {"profiles": ["batch-job"]}}));
        world.settle()
    };
    a_namespace_that_goes_away: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeProvisioning Ready=False/RuntimeProvisioning" = {
        let mut world = World::with(json!({"containers": {"app": {"image": "nginx"}}}));
        world.namespace.terminating = true;
        world.settle()
    };
    a_deletion_that_waits_for_the_runtime: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeProvisioning Ready=False/RuntimeProvisioning" = {
        let mut world = World::with(json!({"containers": {"app": {"image": "nginx"}}}));
        world.settle();
        world.running = Running::Absent;
        world.delete();
        world.settle()
    };
}

fn using(type_: &str) -> serde_json::Value {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}},
        "resources": {"db": {"type": type_}},
    })
}

fn with_database(answer: Answer) -> World {
    let mut world = World::with(using("postgres"));
    world.answer("postgres", answer);
    world
}

fn running(running: Running) -> WorkloadStatus {
    let mut world = World::with(json!({"containers": {"app": {"image": "nginx"}}}));
    world.running = running;
    world.settle()
}

fn annotated(annotations: serde_json::Value) -> WorkloadStatus {
    let mut world = World::new(crate::decisions::world::DOCUMENT);
    world.write(json!({}), annotations, json!({"containers": {"app": {"image": "nginx"}}}));
    world.settle()
}

/// What no user has to know about.
const NOUNS: [&str; 8] =
    ["pod", "deployment", "statefulset", "replicaset", "daemonset", "task", "container id", "reconcile"];

/// Every message is a sentence, or a few, in neutral words.
pub(crate) fn check_messages(status: &WorkloadStatus) {
    let conditions = status.conditions.iter().map(|condition| &condition.message);
    let lines = status.claims.iter().map(|claim| &claim.message);
    for message in conditions.chain(lines) {
        let begins = message.chars().next().is_some_and(|c| c.is_uppercase() || c == '`');
        assert!(begins && message.ends_with(['.', '?']), "not a sentence: {message:?}");
        assert!(!message.contains("..") && !message.contains("?."), "it ends twice: {message:?}");
        assert!(!message.contains('\n') && message.chars().count() <= 1000, "not one line: {message:?}");
        let words = message.to_lowercase();
        let is_word = |noun: &&&str| {
            let bounded = |at: usize| {
                let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
                let rest = &words[at + noun.len()..];
                outside(words[..at].chars().last())
                    && outside(rest.strip_prefix('s').unwrap_or(rest).chars().next())
            };
            words.match_indices(**noun).any(|(at, _)| bounded(at))
        };
        assert_eq!(NOUNS.iter().find(is_word), None, "{message:?}");
    }
}

#[test]
fn the_document_lists_every_condition_with_every_reason_and_a_test_for_each() {
    let mut seen: BTreeSet<String> =
        CASES.iter().flat_map(|(_, says)| says.split(' ')).map(ToOwned::to_owned).collect();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let scenes = random::scene();
    for _ in 0..WORLDS {
        let scene: Scene = scenes.new_tree(&mut runner).unwrap().current();
        scene.play(|world| {
            let status = world.status();
            check_messages(&status);
            seen.extend(line(&status).split(' ').filter(|pair| !pair.is_empty()).map(ToOwned::to_owned));
        });
    }
    let rows = table::rows(DOCUMENT);
    let listed: BTreeSet<String> =
        rows.iter().map(|row| format!("{}={}/{}", row[0], row[1], row[2])).collect();
    assert_eq!(listed.len(), rows.len(), "a pair stands twice");
    assert_eq!(seen, listed, "what is seen, and what {DOCUMENT} lists");
    for row in rows {
        let pair = format!("{}={}/{}", row[0], row[1], row[2]);
        let (_, says) =
            CASES.iter().find(|(name, _)| *name == row[5]).unwrap_or_else(|| panic!("no test {}", row[5]));
        assert!(says.split(' ').any(|said| said == pair), "{} does not show {pair}", row[5]);
        assert!(row[3..5].iter().all(|cell| cell.ends_with('.')), "{pair}: meaning and remedy are sentences");
    }
}

#[test]
fn only_that_something_new_is_on_its_way_can_wait_a_moment_before_it_is_said() {
    let settled = |document: serde_json::Value, running: Running| {
        let mut world = World::with(document);
        world.running = running;
        world.settle()
    };
    let plain = json!({"containers": {"app": {"image": "nginx"}}});
    let begun = settled(plain.clone(), Running::Absent);
    assert!(is_only_begun(None, &begun));
    assert!(!is_only_begun(Some(&begun), &begun), "something was said before");
    let broken = Running::Says(Phase::Failed, Some(Reason::QuotaExceeded));
    assert!(!is_only_begun(None, &settled(plain.clone(), broken)));
    assert!(!is_only_begun(None, &settled(plain, Running::Says(Phase::Ready, None))));
    let mistaken = json!({"containers": {"app": {"imagee": "nginx"}}});
    assert!(!is_only_begun(None, &settled(mistaken, Running::Absent)));
}
