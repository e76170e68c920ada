//! Suspended Workloads.

use orchestra_api::{ConditionType, Reason, plan::SUSPENDED};
use serde_json::{Value as Json, json};

use crate::decisions::world::{Answer, World};

fn document(resources: &Json) -> Json {
    json!({"containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}}, "resources": resources})
}

#[test]
fn a_suspended_workload_keeps_its_dependencies_and_resumes_unchanged() {
    let spec = document(&json!({"db": {"type": "postgres"}}));
    let mut world = World::with(spec.clone());
    world.settle();
    let (revision, claims) = (world.plan.clone().unwrap().spec.revision, world.claims.clone());
    world.write(json!({}), json!({"score.dev/suspend": "true"}), spec.clone());
    world.settle();
    let suspended = world.plan.clone().unwrap().spec;
    assert!(suspended.lifecycle.suspend && suspended.revision != revision);
    assert_eq!(world.claims.keys().collect::<Vec<_>>(), claims.keys().collect::<Vec<_>>());
    world.write(json!({}), json!({}), spec);
    world.settle();
    assert_eq!(world.plan.unwrap().spec.revision, revision);
}

#[test]
fn a_running_version_is_suspended_even_if_the_next_one_waits() {
    let mut world = World::with(document(&json!({"db": {"type": "postgres"}})));
    world.settle();
    world.answer("redis", Answer::Wait);
    let next = document(&json!({"db": {"type": "redis"}}));
    world.write(json!({}), json!({"score.dev/suspend": "true"}), next);
    let status = world.settle();
    let condition = |type_| status.conditions.iter().find(|condition| condition.type_ == type_).unwrap();
    assert_eq!(condition(ConditionType::ClaimsReady).reason, Reason::BindingPending);
    assert_ne!(condition(ConditionType::RuntimeReady).reason, Reason::ProjectionError);
    assert!(world.plan.unwrap().spec.lifecycle.suspend);
}

#[test]
fn a_workload_that_never_ran_is_reported_as_suspended_at_once() {
    let mut world = World::new("");
    world.answer("redis", Answer::Wait);
    let waiting = document(&json!({"db": {"type": "redis"}}));
    world.write(json!({}), json!({"score.dev/suspend": "true"}), waiting);
    let status = world.settle();
    let runtime = status.conditions.iter().find(|condition| condition.type_ == ConditionType::RuntimeReady);
    assert_eq!(runtime.unwrap().message, SUSPENDED);
    assert_eq!(world.plan, None);
}
