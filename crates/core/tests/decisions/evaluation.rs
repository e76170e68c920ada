//! Verdicts of policies about a Workload, which agree with its status.

use orchestra_api::Reason;
use orchestra_core::evaluate;
use serde_json::{Value as Json, json};

use crate::decisions::world::World;

fn with_database() -> World {
    World::with(json!({
        "containers": {"app": {"image": "nginx"}}, "resources": {"db": {"type": "postgres"}},
    }))
}

fn verdicts(world: &World) -> Json {
    json!(evaluate(&world.inputs().unwrap()))
}

#[test]
fn a_default_class_of_an_existing_claim_stays_after_an_edit_of_the_policy() {
    let mut world = with_database();
    world.policy("classes", json!({"defaults": {"classes": {"postgres": "small"}}}));
    world.settle();
    world.policies.clear();
    world.policy("classes", json!({"defaults": {"classes": {"postgres": "large"}}}));
    world.policy("large-only", json!({"allow": {"resources": [{"type": "postgres", "class": "large"}]}}));
    world.settle();
    assert_eq!(world.status().conditions[0].reason, Reason::PolicyViolation);
    assert_eq!(verdicts(&world), json!({"classes": false, "large-only": true}));
}

#[test]
fn a_default_profile_violates_policies_that_do_not_allow_it() {
    let mut world = with_database();
    world.policy("batch-only", json!({"allow": {"profiles": ["batch-job"]}}));
    world.policy("both", json!({"allow": {"profiles": ["batch-job", "web-service"]}}));
    world.policy("trial", json!({"mode": "Audit", "allow": {"profiles": ["batch-job"]}}));
    world.settle();
    assert_eq!(world.status().conditions[0].reason, Reason::PolicyViolation);
    assert_eq!(verdicts(&world), json!({"batch-only": true, "both": false, "trial": true}));
    let audited = world.decide().explanation.audited;
    let audited: Vec<_> =
        audited.iter().map(|found| (found.policy.as_str(), found.pointer.as_str())).collect();
    assert_eq!(audited, [("trial", "/metadata/annotations/score.dev~1profile")]);
}

#[test]
fn a_profile_of_the_author_is_reported_once() {
    let mut world = with_database();
    let spec = json!({"containers": {"app": {"image": "nginx"}}});
    world.write(json!({}), json!({"score.dev/profile": "web-service"}), spec);
    world.policy("trial", json!({"mode": "Audit", "allow": {"profiles": ["batch-job"]}}));
    assert_eq!(verdicts(&world), json!({"trial": true}));
    assert_eq!(world.decide().explanation.audited.len(), 1);
}

#[test]
fn an_invalid_or_deleted_workload_has_no_verdicts() {
    let mut world = with_database();
    world.policy("all", json!({}));
    assert_eq!(verdicts(&world), json!({"all": false}));
    world.settle();
    world.delete();
    assert_eq!(verdicts(&world), json!({}));
    let mut world = World::with(json!({"containers": {"app": {"image": "nginx", "env": {}}}}));
    world.policy("all", json!({}));
    assert_eq!(verdicts(&world), json!({}));
}
