//! Tests of policies.

mod defaults;
mod properties;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{PlatformPolicy, claim::DeprovisionPolicy};
use orchestra_score::model::Workload;
use serde_json::{Value as Json, json};

use super::*;

/// Policy of this name.
fn policy(name: &str, spec: Json) -> PlatformPolicy {
    PlatformPolicy::new(name, serde_json::from_value(spec).unwrap())
}

/// Valid document.
fn document(value: Json) -> Workload {
    let report = orchestra_score::Document::from_json(value.clone()).check();
    assert!(report.is_valid(), "{:?}", report.errors().collect::<Vec<_>>());
    serde_json::from_value(value).unwrap()
}

/// Document with another value at this pointer.
fn with(pointer: &str, value: Json) -> Workload {
    let mut whole = json!({
        "apiVersion": "score.dev/v1b1",
        "metadata": {"name": "web", "annotations": {}},
        "containers": {"main": {"image": ".", "resources": {}}},
        "resources": {},
    });
    *whole.pointer_mut(pointer).unwrap() = value;
    document(whole)
}

/// Document with only an image.
fn bare() -> Workload {
    with("/resources", json!({}))
}

/// Applies policies to a document in a namespace without labels.
fn decide(policies: &[PlatformPolicy], document: &Workload) -> PolicyOutcome {
    let none = BTreeMap::new();
    let subject =
        Subject { namespace: "shop", namespace_labels: &none, labels: &none, document, classes: &none };
    apply(policies, &subject)
}

fn setting<'o>(outcome: &'o PolicyOutcome, field: &str) -> &'o Setting {
    let found: Vec<_> = outcome.explanation.iter().filter(|setting| setting.field == field).collect();
    assert_eq!(found.len(), 1, "{field}: {:?}", outcome.explanation);
    found[0]
}

fn pointers(violations: &[Violation]) -> Vec<&str> {
    violations.iter().map(|violation| violation.pointer.as_str()).collect()
}

fn overridden(policy: &str, value: &str) -> Overridden {
    Overridden { policy: policy.to_owned(), value: value.to_owned() }
}

#[test]
fn violations_of_audit_policies_do_not_block() {
    let spec = |mode: &str| json!({"mode": mode, "limits": {"containers": 0}, "allow": {"registries": []}});
    let nginx = with("/containers/main/image", json!("nginx"));
    let audit = decide(&[policy("p", spec("Audit"))], &nginx);
    let enforce = decide(&[policy("p", spec("Enforce"))], &nginx);
    assert_eq!(audit.violations, []);
    assert_eq!(audit.audited, enforce.violations);
    assert_eq!(pointers(&audit.audited), ["/containers", "/containers/main/image"]);
    assert_eq!(audit.explanation, decide(&[], &nginx).explanation);
}

#[test]
fn selectors_match_namespaces_and_workloads() {
    let document = bare();
    let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let namespace_labels = labels(&[("stage", "prod"), ("kubernetes.io/metadata.name", "forged")]);
    let workload_labels = labels(&[("tier", "gold")]);
    let none = BTreeMap::new();
    let subject = Subject {
        namespace: "shop",
        namespace_labels: &namespace_labels,
        labels: &workload_labels,
        document: &document,
        classes: &none,
    };
    for (selectors, want) in [
        (json!({}), true),
        (json!({"namespaceSelector": {"matchLabels": {"stage": "prod"}}}), true),
        (json!({"namespaceSelector": {"matchLabels": {"stage": "test"}}}), false),
        (json!({"namespaceSelector": {"matchLabels": {"tier": "gold"}}}), false),
        (json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}), true),
        (json!({"workloadSelector": {"matchLabels": {"tier": "gold"}}}), true),
        (json!({"workloadSelector": {"matchLabels": {"stage": "prod"}}}), false),
        (
            json!({"namespaceSelector": {"matchLabels": {"stage": "prod"}},
                "workloadSelector": {"matchLabels": {"tier": "tin"}}}),
            false,
        ),
    ] {
        let mut spec = selectors.clone();
        spec["limits"] = json!({"containers": 0});
        let outcome = apply(&[policy("p", spec)], &subject);
        assert_eq!(!outcome.violations.is_empty(), want, "{selectors}");
    }
}

#[test]
fn an_invalid_policy_is_ignored_as_a_whole_and_reported() {
    for (spec, field) in [
        (json!({"limits": {"cpu": "many"}}), "limits.cpu"),
        (json!({"limits": {"memory": "0"}}), "limits.memory"),
        (json!({"defaults": {"requests": {"memory": "1 GB"}}}), "defaults.requests.memory"),
        (json!({"defaults": {"limits": {"cpu": ""}}}), "defaults.limits.cpu"),
        (json!({"defaults": {"classes": {"postgres": "-"}}}), "defaults.classes.postgres"),
        (json!({"defaults": {"profile": ""}}), "defaults.profile"),
        (
            json!({"defaults": {"annotations": {"score.dev/move": "best"}}}),
            "defaults.annotations.score.dev/move",
        ),
        (
            json!({"defaults": {"annotations": {"score.dev/profile": "x"}}}),
            "defaults.annotations.score.dev/profile",
        ),
        (json!({"defaults": {"annotations": {"a b": "x"}}}), "defaults.annotations.a b"),
        (json!({"allow": {"registries": ["example.org", "https://example.org"]}}), "allow.registries[1]"),
        (json!({"allow": {"resources": [{"type": "s3", "id": "*-x"}]}}), "allow.resources[0].id"),
        (
            json!({"workloadSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
            "workloadSelector",
        ),
        (json!({"namespaceSelector": {"matchLabels": {"a b": "c"}}}), "namespaceSelector"),
    ] {
        let mut whole = spec.clone();
        whole["limits"]["containers"] = json!(0);
        let bad = policy("bad", whole);
        let outcome = decide(&[bad.clone(), policy("good", json!({"limits": {"claims": 9}}))], &bare());
        let fields: Vec<_> = outcome.faults.iter().map(|fault| (&*fault.policy, &*fault.field)).collect();
        assert_eq!(fields, [("bad", field)], "{spec}");
        assert_eq!(outcome.violations, [], "{spec}");
        assert_eq!(setting(&outcome, "limits.claims").source, Source::Policy("good".to_owned()));
        assert_eq!(check(&bad), outcome.faults);
    }
    assert_eq!(check(&policy("good", json!({"limits": {"cpu": "4"}}))), []);
}

#[test]
fn every_policy_has_its_own_verdict_about_the_workloads_it_selects() {
    let none = BTreeMap::new();
    let gold = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
    let sized = with("/containers/main/resources", json!({"limits": {"cpu": "8"}}));
    let policies = [
        policy("wide", json!({"limits": {"cpu": "16"}})),
        policy("tight", json!({"limits": {"cpu": "4"}})),
        policy(
            "gold",
            json!({"mode": "Audit", "workloadSelector": {"matchLabels": {"tier": "gold"}}, "limits": {"cpu": "1"}}),
        ),
        policy("sizes", json!({"defaults": {"limits": {"cpu": "1"}}})),
        policy("bad", json!({"limits": {"cpu": "x"}})),
    ];
    let evaluate = |labels, document| {
        let subject =
            Subject { namespace: "shop", namespace_labels: &none, labels, document, classes: &none };
        let verdicts = evaluate(&policies, &subject).into_iter();
        verdicts.map(|verdict| (verdict.policy, verdict.violations.len())).collect::<Vec<_>>()
    };
    let expected = |verdicts: &[(&str, usize)]| {
        verdicts.iter().map(|(policy, count)| ((*policy).to_owned(), *count)).collect::<Vec<_>>()
    };
    assert_eq!(evaluate(&none, &sized), expected(&[("sizes", 0), ("tight", 1), ("wide", 0)]));
    assert_eq!(evaluate(&gold, &sized), expected(&[("gold", 1), ("sizes", 0), ("tight", 1), ("wide", 0)]));
    assert_eq!(evaluate(&none, &bare()), expected(&[("sizes", 0), ("tight", 0), ("wide", 0)]));
}

#[test]
fn outcomes_round_trip_through_json() {
    let spec = json!({"defaults": {"profile": "web", "requests": {"cpu": "1"}}, "limits": {"cpu": "1"},
        "allow": {"profiles": ["web"], "registries": ["docker.io"]}});
    let outcome = decide(&[policy("p", spec)], &bare());
    let text = serde_json::to_string(&outcome).unwrap();
    assert_eq!(serde_json::from_str::<PolicyOutcome>(&text).unwrap(), outcome);
}
