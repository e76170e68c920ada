//! Every condition of a Workload with every reason, each with a case. These tests show that the list in
//! `docs/conditions.md` is correct and complete.

use std::collections::BTreeSet;

use orchestra_api::{Reason, plan::Phase, workload::WorkloadStatus};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::json;

use crate::decisions::{
    fixture::{Answer, Fixture, Running},
    random::{self, History},
    table,
};

const DOCUMENT: &str = "docs/conditions.md";
/// Number of random histories.
const HISTORY_COUNT: usize = 500;

/// Conditions of a status in one line.
fn line(status: &WorkloadStatus) -> String {
    let conditions = status.conditions.iter();
    conditions.map(|c| format!("{}={}/{}", c.type_, c.status, c.reason)).collect::<Vec<_>>().join(" ")
}

macro_rules! cases {
    ($($name:ident: $conditions:literal = $fixture:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let status: WorkloadStatus = $fixture;
                check_messages(&status);
                assert_eq!(line(&status), $conditions, "{status:#?}");
            }
        )*

        /// All cases with their conditions.
        const CASES: &[(&str, &str)] = &[$((stringify!($name), $conditions)),*];
    };
}

cases! {
    ready_without_dependencies: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=True/Succeeded Ready=True/Succeeded" =
        Fixture::with(json!({"containers": {"app": {"image": "nginx"}}})).settle();
    inputs_spec_invalid: "InputsValid=False/SpecInvalid ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/SpecInvalid" =
        Fixture::with(json!({"containers": {"app": {"imagee": "nginx"}}})).settle();
    inputs_policy_violation: "InputsValid=False/PolicyViolation ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/PolicyViolation" = {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.policy("images", json!({"allow": {"registries": ["registry.example.org"]}}));
        fixture.settle()
    };
    inputs_policy_violation_by_an_unreadable_policy: "InputsValid=False/PolicyViolation ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/PolicyViolation" = {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.unreadable_policies = vec![json!({"metadata": {"name": "images"}, "spec": {"priority": "high"}})];
        fixture.settle()
    };
    inputs_spec_invalid_after_a_good_version: "InputsValid=False/SpecInvalid ClaimsReady=True/Succeeded RuntimeReady=True/Succeeded Ready=False/SpecInvalid" = {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.settle();
        fixture.write(json!({}), json!({}), json!({"containers": {}}));
        fixture.settle()
    };
    claims_binding_pending: "InputsValid=True/Succeeded ClaimsReady=False/BindingPending RuntimeReady=False/ProjectionError Ready=False/BindingPending" =
        with_database(Answer::Make).settle();
    claims_binding_failed_without_provisioner: "InputsValid=True/Succeeded ClaimsReady=False/BindingFailed RuntimeReady=False/ProjectionError Ready=False/BindingFailed" =
        Fixture::with(using("oracle")).settle();
    runtime_projection_error_for_missing_output: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/ProjectionError Ready=False/ProjectionError" =
        with_database(Answer::BindInPart).settle();
    claims_quota_exceeded: "InputsValid=True/Succeeded ClaimsReady=False/QuotaExceeded RuntimeReady=False/ProjectionError Ready=False/QuotaExceeded" =
        with_database(Answer::Refuse(Reason::QuotaExceeded)).settle();
    claims_permission_denied: "InputsValid=True/Succeeded ClaimsReady=False/PermissionDenied RuntimeReady=False/ProjectionError Ready=False/PermissionDenied" =
        with_database(Answer::Refuse(Reason::PermissionDenied)).settle();
    claims_network_unavailable: "InputsValid=True/Succeeded ClaimsReady=False/NetworkUnavailable RuntimeReady=False/ProjectionError Ready=False/NetworkUnavailable" =
        with_database(Answer::Refuse(Reason::NetworkUnavailable)).settle();
    claims_quota_exceeded_while_retrying: "InputsValid=True/Succeeded ClaimsReady=False/QuotaExceeded RuntimeReady=False/ProjectionError Ready=False/QuotaExceeded" =
        with_database(Answer::Hinder(Reason::QuotaExceeded)).settle();
    claims_binding_pending_while_retrying: "InputsValid=True/Succeeded ClaimsReady=False/BindingPending RuntimeReady=False/ProjectionError Ready=False/BindingPending" =
        with_database(Answer::Hinder(Reason::RuntimeProvisioning)).settle();
    claims_permission_denied_beside_pending_claim: "InputsValid=True/Succeeded ClaimsReady=False/PermissionDenied RuntimeReady=False/ProjectionError Ready=False/PermissionDenied" = {
        let mut fixture = Fixture::with(json!({
            "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}", "CACHE": "${resources.store.host}"}}},
            "resources": {"db": {"type": "postgres"}, "store": {"type": "redis"}},
        }));
        fixture.answer("postgres", Answer::Make);
        fixture.answer("redis", Answer::Hinder(Reason::PermissionDenied));
        fixture.settle()
    };
    claims_policy_violation_by_admission: "InputsValid=True/Succeeded ClaimsReady=False/PolicyViolation RuntimeReady=False/ProjectionError Ready=False/PolicyViolation" = {
        let mut fixture = with_database(Answer::Bind);
        fixture.denials.claims = Some(Reason::PolicyViolation);
        fixture.settle()
    };
    runtime_selecting_without_suitable_backend: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/RuntimeSelecting" = {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.write(json!({}), json!({"score.dev/requirements": "quantum"}), json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.settle()
    };
    runtime_provisioning_without_runtime_controller: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeProvisioning Ready=False/RuntimeProvisioning" =
        running(Running::Absent);
    runtime_provisioning_during_start: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeProvisioning Ready=False/RuntimeProvisioning" =
        running(Running::Says(Phase::Provisioning, None));
    runtime_degraded_while_unhealthy: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeDegraded Ready=False/RuntimeDegraded" =
        running(Running::Says(Phase::Degraded, None));
    runtime_degraded_after_failed_start: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeDegraded Ready=False/RuntimeDegraded" =
        running(Running::Says(Phase::Failed, None));
    runtime_selecting_for_missing_capability: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/RuntimeSelecting" =
        running(Running::Says(Phase::Failed, Some(Reason::RuntimeSelecting)));
    runtime_quota_exceeded: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/QuotaExceeded Ready=False/QuotaExceeded" =
        running(Running::Says(Phase::Provisioning, Some(Reason::QuotaExceeded)));
    runtime_permission_denied: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/PermissionDenied Ready=False/PermissionDenied" =
        running(Running::Says(Phase::Failed, Some(Reason::PermissionDenied)));
    runtime_network_unavailable: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/NetworkUnavailable Ready=False/NetworkUnavailable" =
        running(Running::Says(Phase::Provisioning, Some(Reason::NetworkUnavailable)));
    runtime_policy_violation_by_admission: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/PolicyViolation Ready=False/PolicyViolation" = {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.denials.plans = Some(Reason::PolicyViolation);
        fixture.settle()
    };
    runtime_degraded_for_reason_of_another_condition: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeDegraded Ready=False/RuntimeDegraded" =
        running(Running::Says(Phase::Failed, Some(Reason::SpecInvalid)));
    inputs_spec_invalid_for_unknown_profile: "InputsValid=False/SpecInvalid ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/SpecInvalid" =
        annotated(json!({"score.dev/profile": "web-servcie"}));
    inputs_policy_violation_for_profile: "InputsValid=False/PolicyViolation ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeSelecting Ready=False/PolicyViolation" = {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.policy("jobs", json!({"allow": {"profiles": ["batch-job"]}}));
        fixture.settle()
    };
    runtime_provisioning_in_terminating_namespace: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeProvisioning Ready=False/RuntimeProvisioning" = {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.namespace.terminating = true;
        fixture.settle()
    };
    runtime_provisioning_during_deletion: "InputsValid=True/Succeeded ClaimsReady=True/Succeeded RuntimeReady=False/RuntimeProvisioning Ready=False/RuntimeProvisioning" = {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.settle();
        fixture.running = Running::Absent;
        fixture.delete();
        fixture.settle()
    };
}

fn using(type_: &str) -> serde_json::Value {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}},
        "resources": {"db": {"type": type_}},
    })
}

fn with_database(answer: Answer) -> Fixture {
    let mut fixture = Fixture::with(using("postgres"));
    fixture.answer("postgres", answer);
    fixture
}

fn running(running: Running) -> WorkloadStatus {
    let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
    fixture.running = running;
    fixture.settle()
}

fn annotated(annotations: serde_json::Value) -> WorkloadStatus {
    let mut fixture = Fixture::new(crate::decisions::fixture::CONFIG);
    fixture.write(json!({}), annotations, json!({"containers": {"app": {"image": "nginx"}}}));
    fixture.settle()
}

/// Nouns that messages for users must not contain.
const NOUNS: [&str; 8] =
    ["pod", "deployment", "statefulset", "replicaset", "daemonset", "task", "container id", "reconcile"];

/// Checks that every message consists of neutral sentences.
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
        CASES.iter().flat_map(|(_, conditions)| conditions.split(' ')).map(ToOwned::to_owned).collect();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let histories = random::history();
    for _ in 0..HISTORY_COUNT {
        let history: History = histories.new_tree(&mut runner).unwrap().current();
        history.replay(|fixture| {
            let status = fixture.status();
            check_messages(&status);
            seen.extend(line(&status).split(' ').filter(|pair| !pair.is_empty()).map(ToOwned::to_owned));
        });
    }
    let rows = table::rows(DOCUMENT);
    let listed: BTreeSet<String> =
        rows.iter().map(|row| format!("{}={}/{}", row[0], row[1], row[2])).collect();
    assert_eq!(listed.len(), rows.len(), "duplicate pair");
    assert_eq!(seen, listed, "observed pairs, and those of {DOCUMENT}");
    for row in rows {
        let pair = format!("{}={}/{}", row[0], row[1], row[2]);
        let (_, conditions) =
            CASES.iter().find(|(name, _)| *name == row[5]).unwrap_or_else(|| panic!("no test {}", row[5]));
        assert!(conditions.split(' ').any(|shown| shown == pair), "{} does not show {pair}", row[5]);
        assert!(row[3..5].iter().all(|cell| cell.ends_with('.')), "{pair}: meaning and remedy are sentences");
    }
}
