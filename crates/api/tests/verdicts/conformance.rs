//! CRD of Workload against the validator of Score: a server stores every valid document without loss.
//!
//! The CRD accepts some invalid documents, because it cannot express every rule. The conformance data of Score counts
//! them by error code.

use std::collections::{BTreeMap, BTreeSet};

use crate::documents::{self, as_written, conformance_cases, documents, normalised, same};
use crate::server::Server;
use orchestra_api::Workload;
use orchestra_score::{Code, Document, Report};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value as Json, json};

fn check(document: &Json) -> Report {
    Document::from_json(document.clone()).check()
}

/// Difference between a valid document and what the server stores, or the rejection.
async fn problem(server: &Server, valid: &orchestra_score::Workload) -> Option<String> {
    let object = Workload::of_document(valid);
    let stored = match server.apply(&json!(object), true).await {
        Ok(stored) => stored,
        Err(message) => return Some(format!("rejected: {message}")),
    };
    let stored: Workload = serde_json::from_value(stored).unwrap();
    let (document, wanted) = (stored.document(), normalised(valid));
    (!same(&document, &wanted)).then(|| format!("read back as {document}, not {wanted}"))
}

#[test]
fn documents_round_trip_through_objects() {
    let with = |metadata: Json| {
        let mut document = json!({
            "apiVersion": "score.dev/v1b1", "metadata": metadata, "containers": {"main": {"image": "nginx"}},
        });
        document["metadata"]["name"] = json!("demo");
        check(&document).workload.expect("a valid document")
    };
    for (case, metadata, kept_in_spec) in [
        ("nothing else", json!({}), json!(null)),
        ("annotations", json!({"annotations": {"example.org/team": "shop"}}), json!(null)),
        ("no annotation", json!({"annotations": {}}), json!({"annotations": {}})),
        (
            "other metadata",
            json!({"owner": {"team": ["shop", null, 1.5]}}),
            json!({"owner": {"team": ["shop", null, 1.5]}}),
        ),
        ("labels", json!({"labels": {"tier": "gold", "example.org/empty": ""}}), json!(null)),
        ("no label", json!({"labels": {}}), json!({"labels": {}})),
        (
            "labels that are not all text",
            json!({"labels": {"tier": 1, "a": "b"}}),
            json!({"labels": {"tier": 1}}),
        ),
        ("a list of labels", json!({"labels": ["gold"]}), json!({"labels": ["gold"]})),
        (
            "a label that no object can have",
            json!({"labels": {"motto": "made with love"}}),
            json!({"labels": {"motto": "made with love"}}),
        ),
        (
            "a label key that no object can have",
            json!({"labels": {"a/b/c": "d"}}),
            json!({"labels": {"a/b/c": "d"}}),
        ),
    ] {
        let valid = with(metadata);
        let object = Workload::of_document(&valid);
        assert_eq!(object.document(), normalised(&valid), "{case}");
        let kept = object.spec.0.get("metadata").cloned().unwrap_or_default();
        assert_eq!(kept, kept_in_spec, "{case}");
    }
}

/// Applies the valid ones of many random documents.
async fn try_random_documents(server: &Server) {
    let mut runner = TestRunner::new_with_rng(
        Config { failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let documents = documents();
    let mut accepted = 0;
    for _ in 0..3000 {
        let document = documents.new_tree(&mut runner).unwrap().current();
        if let Some(valid) = check(&document).workload {
            accepted += 1;
            assert_eq!(problem(server, &valid).await, None, "{document}");
        }
    }
    assert!(accepted > 500, "only {accepted} documents are valid");
}

/// Applies every case of the conformance data, and counts the agreements and differences of validator and server.
async fn try_conformance_data(server: &Server) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, document) in conformance_cases() {
        let report = check(&document);
        let verdict = if let Some(valid) = &report.workload {
            problems.extend(problem(server, valid).await.map(|problem| format!("{name}: {problem}")));
            "both accept".to_owned()
        } else if let Some(object) = as_written(&document) {
            if server.apply(&object, true).await.is_ok() {
                let codes: BTreeSet<_> = report.errors().map(|error| error.code.to_string()).collect();
                format!("only the validator: {}", codes.into_iter().collect::<Vec<_>>().join(", "))
            } else {
                "both reject".to_owned()
            }
        } else {
            "not an object".to_owned()
        };
        *counts.entry(verdict).or_default() += 1;
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    counts
}

/// Applies a document at all limits of the validator, and documents with one entry more.
async fn try_limits(server: &Server) {
    let valid = check(&documents::full(None)).workload.expect("a document at the limits is valid");
    assert_eq!(problem(server, &valid).await, None);
    for limit in documents::LIMITS {
        let document = documents::full(Some(limit));
        let codes: BTreeSet<_> = check(&document).errors().map(|error| error.code).collect();
        assert_eq!(codes, BTreeSet::from([Code::LimitExceeded]), "{limit}");
        let rejection = server.apply(&as_written(&document).unwrap(), true).await.expect_err(limit);
        assert!(rejection.contains("Too many: "), "{limit}: {rejection}");
    }
}

#[tokio::test]
async fn the_server_has_the_limits_of_the_validator() {
    try_limits(&Server::embedded("conformance").await).await;
}

#[tokio::test]
async fn the_server_stores_what_the_validator_accepts() {
    try_random_documents(&Server::embedded("conformance").await).await;
}

#[tokio::test]
#[ignore = "needs the conformance data: SCORE_CONFORMANCE=folder"]
async fn definition_and_validator_differ_only_in_what_a_definition_cannot_express() {
    let counts = try_conformance_data(&Server::embedded("conformance").await).await;
    for (verdict, count) in &counts {
        println!("{count:4} {verdict}");
    }
    let of_validator: Vec<_> = counts
        .iter()
        .filter_map(|(verdict, count)| Some((verdict.strip_prefix("only the validator: ")?, *count)))
        .collect();
    let expected = [
        ("INVALID_BASE64", 1),
        // Annotations are those of the object, whose keys have other rules than those of Score.
        ("PATTERN_MISMATCH", 4),
        // Null annotations of an object are absent.
        ("TYPE_MISMATCH", 1),
        ("UNKNOWN_RESOURCE", 1),
    ];
    assert_eq!(of_validator, expected);
}

#[tokio::test]
#[ignore = "needs a cluster and the conformance data: KUBECONFIG, SCORE_CONFORMANCE=folder"]
async fn a_real_server_stores_what_the_validator_accepts() {
    let namespace = format!("conformance-{}", std::process::id());
    let real = Server::real(&namespace).await;
    try_limits(&real).await;
    try_random_documents(&real).await;
    let of_real = try_conformance_data(&real).await;
    real.clean_up().await;
    assert_eq!(of_real, try_conformance_data(&Server::embedded(&namespace).await).await);
}
