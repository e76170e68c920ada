//! Suspended Workloads.

use orchestra_api::{ConditionType, Reason, plan::SUSPENDED};
use serde_json::{Value as Json, json};

use crate::decisions::fixture::{Answer, Fixture};

fn document(resources: &Json) -> Json {
    json!({"containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}}, "resources": resources})
}

#[test]
fn a_suspended_workload_keeps_its_dependencies_and_resumes_unchanged() {
    let spec = document(&json!({"db": {"type": "postgres"}}));
    let mut fixture = Fixture::with(spec.clone());
    fixture.settle();
    let (revision, claims) = (fixture.plan.clone().unwrap().spec.revision, fixture.claims.clone());
    fixture.write(json!({}), json!({"score.dev/suspend": "true"}), spec.clone());
    fixture.settle();
    let suspended = fixture.plan.clone().unwrap().spec;
    assert!(suspended.lifecycle.suspend && suspended.revision != revision);
    assert_eq!(fixture.claims.keys().collect::<Vec<_>>(), claims.keys().collect::<Vec<_>>());
    fixture.write(json!({}), json!({}), spec);
    fixture.settle();
    assert_eq!(fixture.plan.unwrap().spec.revision, revision);
}

#[test]
fn a_running_version_is_suspended_even_if_the_next_one_waits() {
    let mut fixture = Fixture::with(document(&json!({"db": {"type": "postgres"}})));
    fixture.settle();
    fixture.answer("redis", Answer::Wait);
    let next = document(&json!({"db": {"type": "redis"}}));
    fixture.write(json!({}), json!({"score.dev/suspend": "true"}), next);
    let status = fixture.settle();
    let condition = |type_| status.conditions.iter().find(|condition| condition.type_ == type_).unwrap();
    assert_eq!(condition(ConditionType::ClaimsReady).reason, Reason::BindingPending);
    assert_ne!(condition(ConditionType::RuntimeReady).reason, Reason::ProjectionError);
    assert!(fixture.plan.unwrap().spec.lifecycle.suspend);
}

#[test]
fn a_workload_that_never_ran_is_reported_as_suspended_at_once() {
    let mut fixture = Fixture::new("");
    fixture.answer("redis", Answer::Wait);
    let waiting = document(&json!({"db": {"type": "redis"}}));
    fixture.write(json!({}), json!({"score.dev/suspend": "true"}), waiting);
    let status = fixture.settle();
    let runtime = status.conditions.iter().find(|condition| condition.type_ == ConditionType::RuntimeReady);
    assert_eq!(runtime.unwrap().message, SUSPENDED);
    assert_eq!(fixture.plan, None);
}
