//! Verdicts of policies about a Workload, which agree with its status.

use orchestra_api::Reason;
use orchestra_core::evaluate;
use serde_json::{Value as Json, json};

use crate::decisions::fixture::Fixture;

fn with_database() -> Fixture {
    Fixture::with(json!({
        "containers": {"app": {"image": "nginx"}}, "resources": {"db": {"type": "postgres"}},
    }))
}

fn verdicts(fixture: &Fixture) -> Json {
    json!(evaluate(&fixture.inputs().unwrap()))
}

#[test]
fn a_default_class_of_an_existing_claim_stays_after_an_edit_of_the_policy() {
    let mut fixture = with_database();
    fixture.policy("classes", json!({"defaults": {"classes": {"postgres": "small"}}}));
    fixture.settle();
    fixture.policies.clear();
    fixture.policy("classes", json!({"defaults": {"classes": {"postgres": "large"}}}));
    fixture.policy("large-only", json!({"allow": {"resources": [{"type": "postgres", "class": "large"}]}}));
    fixture.settle();
    assert_eq!(fixture.status().conditions[0].reason, Reason::PolicyViolation);
    assert_eq!(verdicts(&fixture), json!({"classes": false, "large-only": true}));
}

#[test]
fn a_default_profile_violates_policies_that_do_not_allow_it() {
    let mut fixture = with_database();
    fixture.policy("batch-only", json!({"allow": {"profiles": ["batch-job"]}}));
    fixture.policy("both", json!({"allow": {"profiles": ["batch-job", "web-service"]}}));
    fixture.policy("trial", json!({"mode": "Audit", "allow": {"profiles": ["batch-job"]}}));
    fixture.settle();
    assert_eq!(fixture.status().conditions[0].reason, Reason::PolicyViolation);
    assert_eq!(verdicts(&fixture), json!({"batch-only": true, "both": false, "trial": true}));
    let audited = fixture.decide().explanation.audited;
    let audited: Vec<_> =
        audited.iter().map(|found| (found.policy.as_str(), found.pointer.as_str())).collect();
    assert_eq!(audited, [("trial", "/metadata/annotations/score.dev~1profile")]);
}

#[test]
fn a_profile_of_the_author_is_reported_once() {
    let mut fixture = with_database();
    let spec = json!({"containers": {"app": {"image": "nginx"}}});
    fixture.write(json!({}), json!({"score.dev/profile": "web-service"}), spec);
    fixture.policy("trial", json!({"mode": "Audit", "allow": {"profiles": ["batch-job"]}}));
    assert_eq!(verdicts(&fixture), json!({"trial": true}));
    assert_eq!(fixture.decide().explanation.audited.len(), 1);
}

#[test]
fn an_invalid_or_deleted_workload_has_no_verdicts() {
    let mut fixture = with_database();
    fixture.policy("all", json!({}));
    assert_eq!(verdicts(&fixture), json!({"all": false}));
    fixture.settle();
    fixture.delete();
    assert_eq!(verdicts(&fixture), json!({}));
    let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx", "env": {}}}}));
    fixture.policy("all", json!({}));
    assert_eq!(verdicts(&fixture), json!({}));
}
