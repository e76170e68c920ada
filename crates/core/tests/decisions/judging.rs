//! What each policy makes of a Workload: the same as its status says, policy by policy.

use orchestra_api::Reason;
use orchestra_core::judge;
use serde_json::{Value as Json, json};

use crate::decisions::world::World;

fn with_database() -> World {
    World::with(json!({
        "containers": {"app": {"image": "nginx"}}, "resources": {"db": {"type": "postgres"}},
    }))
}

fn verdicts(world: &World) -> Json {
    json!(judge(&world.inputs().unwrap()))
}

#[test]
fn a_class_that_a_policy_filled_in_before_still_counts_when_the_policy_says_otherwise() {
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
fn a_profile_that_nobody_asked_for_violates_the_policies_that_do_not_allow_it() {
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
fn an_authors_own_profile_is_told_once() {
    let mut world = with_database();
    let spec = json!({"containers": {"app": {"image": "nginx"}}});
    world.write(json!({}), json!({"score.dev/profile": "web-service"}), spec);
    world.policy("trial", json!({"mode": "Audit", "allow": {"profiles": ["batch-job"]}}));
    assert_eq!(verdicts(&world), json!({"trial": true}));
    assert_eq!(world.decide().explanation.audited.len(), 1);
}

#[test]
fn what_is_invalid_or_on_its_way_out_is_judged_by_none() {
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
