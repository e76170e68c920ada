//! Explanations, word for word.

use orchestra_api::{claim::Phase, condition::Reason};
use serde_json::json;

use super::world::{World, assert_text, ready, with_database};
use crate::preview::explain;

#[test]
fn a_workload_that_is_ready_says_what_was_chosen_and_who_provides_what_it_depends_on() {
    assert_text(
        &ready().explain(),
        r"
Workload shop/web is ready. It runs on here (process) with the profile web-service. It is reached at http://web.example.test. It depends on db (postgres, default).

Where it runs:
  profile web-service: the workload was placed under it
  backend here (process, priority 10): takes the workload
  backend there (kubernetes, priority 5, version 1.2.0): takes the workload
  stays on here, where it is

What it depends on:
  db (postgres, default), provided by the engine `builtin`: Bound: Ready to use.
",
    );
}

#[test]
fn a_workload_that_is_ready_names_the_policies_and_the_backends_that_were_dropped() {
    let mut world = World::empty()
        .with_policy("sizes", json!({"defaults": {"requests": {"memory": "2Gi"}}, "priority": 1}))
        .with_policy("small", json!({"defaults": {"requests": {"memory": "32Mi"}}}))
        .with_policy("trial", json!({"mode": "Audit", "allow": {"registries": ["registry.example.org"]}}));
    world.around.unread_policies = vec!["broken".to_owned()];
    world.apply(json!({"containers": {"app": {"image": "nginx"}}}));
    world.run();
    assert_text(
        &world.explain(),
        r"
Workload shop/web is ready. It runs on there (kubernetes) with the profile web-service. It is reached at http://web.example.test. It depends on nothing.

Where it runs:
  profile web-service: the workload was placed under it
  backend here (process, priority 10): dropped: takes at most 1Gi memory, the workload asks for 2Gi
  backend there (kubernetes, priority 5, version 1.2.0): takes the workload
  stays on there, where it is

What policies set:
  /containers/app/resources/requests/memory = 2Gi (policy sizes), not 32Mi (policy small)

Note: The policy `broken` cannot be read, and is left out here: ask the platform team.

Not enforced yet: Policy `trial` allows images from `registry.example.org` only; `/containers/app/image` is `nginx`: use an image from there or ask the platform team.
",
    );
}

#[test]
fn a_dependency_is_provided_by_whoever_has_taken_charge_of_it() {
    let mut world = World::empty().with_provisioners("    - {type: queue, engine: external}\n");
    world.apply(json!({
        "containers": {"app": {"image": "nginx"}}, "resources": {"db": {"type": "postgres"}, "jobs": {"type": "queue"}},
    }));
    let db = world.inputs.claims.iter_mut().find(|claim| claim.spec.key == "db").unwrap();
    db.metadata.finalizers = Some(vec!["score.dev/provisioner".to_owned()]);
    db.metadata.annotations = Some([("score.dev/engine".to_owned(), "earlier".to_owned())].into());
    let text = world.explain().to_string();
    assert!(text.contains("  db (postgres, default), provided by the engine `earlier`: "), "{text}");
    assert!(text.contains("  jobs (queue, default), provided by others: "), "{text}");
}

#[test]
fn a_late_provisioner_is_named() {
    let mut world = World::empty();
    world.apply(with_database("hello"));
    world.say_of_claim("db", Phase::Binding, None, "It is being made.");
    assert_text(
        &world.explain(),
        r"
Workload shop/web is not ready.

ClaimsReady is False (BindingPending): Resource `db`: It is being made.
  db (postgres, default), provided by the engine `builtin`: Binding: It is being made.

RuntimeReady is False (ProjectionError): Waiting for the output `host` of resource `db` (and 1 more).
  Waiting for the output `host` of resource `db`.
  Waiting for the output `password` of resource `db`.

Where it runs:
  profile web-service: default of the platform's document
  backend here (process, priority 10): takes the workload
  backend there (kubernetes, priority 5, version 1.2.0): takes the workload
  stays on here, where it is

Next: Wait for the resource `db`; if it takes long, ask the platform team who provides `postgres`.
",
    );
}

#[test]
fn a_provisioner_that_refuses_is_quoted() {
    let mut world = World::empty();
    world.apply(with_database("hello"));
    world.say_of_claim("db", Phase::Failed, Some(Reason::BindingFailed), "There is no version 3.");
    let text = world.explain().to_string();
    let next =
        "Next: Correct the resource `db` as its message says, or ask the platform team about `postgres`.";
    assert!(text.contains("Failed: There is no version 3.") && text.ends_with(next), "{text}");
}

#[test]
fn every_mistake_of_a_document_is_listed() {
    let mut spec = with_database("hello");
    spec["containers"]["app"]["env"] = json!({});
    spec["containers"]["app"]["variables"]["MORE"] = json!(7);
    let mut world = ready();
    world.apply(spec);
    assert_text(
        &world.explain(),
        r#"
Workload shop/web is not ready.

InputsValid is False (SpecInvalid): UNKNOWN_FIELD at /containers/app/env: "env" is not a field of a container; environment variables are called `variables`: `variables: {LOG_LEVEL: debug}` (and 1 more).
  UNKNOWN_FIELD at /containers/app/env: "env" is not a field of a container; environment variables are called `variables`: `variables: {LOG_LEVEL: debug}`.
  TYPE_MISMATCH at /containers/app/variables/MORE: `MORE` must be text, and this is a number; write it in quotes: "7".

Next: Correct /containers/app/env and apply the workload again: environment variables are called `variables`: `variables: {LOG_LEVEL: debug}`.
"#,
    );
}

#[test]
fn a_violation_names_the_policy_and_the_place() {
    let mut world = World::empty().with_policy(
        "ours-only",
        json!({"allow": {"registries": ["registry.example.org"]}, "defaults": {"limits": {"memory": "64Mi"}}}),
    );
    world.apply(with_database("hello"));
    assert_text(
        &world.explain(),
        r"
Workload shop/web is not ready.

InputsValid is False (PolicyViolation): Policy `ours-only` allows images from `registry.example.org` only; `/containers/app/image` is `nginx`: use an image from there or ask the platform team.

RuntimeReady is False (RuntimeSelecting): Nothing is started until the inputs are valid.

What policies set:
  /containers/app/resources/limits/memory = 64Mi (policy ours-only)
  allow.registries = registry.example.org (policy ours-only)

Next: Change /containers/app/image and apply the workload again, or ask the platform team about the policy ours-only.
",
    );
}

#[test]
fn without_a_place_every_backend_says_why_not() {
    let mut world = World::empty();
    let mut spec = with_database("hello");
    spec["containers"]["app"]["resources"] = json!({"requests": {"memory": "2Gi"}});
    world.apply_annotated(json!({"score.dev/region": "eu"}), spec);
    assert_text(
        &world.explain(),
        r#"
Workload shop/web is not ready.

ClaimsReady is False (BindingPending): Resource `db`: It is asked for once there is a place to run.

RuntimeReady is False (RuntimeSelecting): Nowhere to run in the profile "web-service": "here" (it is in no region, and the workload asks for eu; takes at most 1Gi memory, the workload asks for 2Gi); "there" (it is in no region, and the workload asks for eu); change what the workload asks for, or ask the platform team for a place that offers it.
  profile web-service: default of the platform's document
  backend here (process, priority 10): dropped: it is in no region, and the workload asks for eu; takes at most 1Gi memory, the workload asks for 2Gi
  backend there (kubernetes, priority 5, version 1.2.0): dropped: it is in no region, and the workload asks for eu

Next: Change what the workload asks for, as said above, or ask the platform team.
"#,
    );
}

#[test]
fn a_deletion_says_what_it_waits_for() {
    let mut world = ready();
    world.delete();
    world.step();
    assert_text(
        &world.explain(),
        r"
Workload shop/web is being deleted.

RuntimeReady is False (RuntimeProvisioning): Being deleted: waiting for the runtime `process` to stop it, which `score.dev/runtime` has to confirm; if that takes long, ask the platform team whether it is at work.

Next: Wait until it is gone; if nothing moves for some minutes, ask the platform team about what is waited for above.
",
    );
}

#[test]
fn a_move_away_from_data_is_refused_and_says_how_to_insist() {
    let mut world = ready();
    world.apply_annotated(json!({"score.dev/move": "there"}), with_database("hello"));
    assert_text(
        &world.explain(),
        r#"
Workload shop/web is not ready.

RuntimeReady is False (RuntimeSelecting): The workload would move from "here" to "there", and the data of `db` would stay behind; undo the change, or set the annotation score.dev/abandon-data to "true" to give the data up.
  profile web-service: the workload was placed under it
  backend here (process, priority 10): takes the workload
  backend there (kubernetes, priority 5, version 1.2.0): takes the workload

Next: Change what the workload asks for, as said above, or ask the platform team; the last good version stays in force.
"#,
    );
}

#[test]
fn a_generation_that_nobody_has_looked_at_is_explained_beforehand() {
    let world = ready();
    let inputs = world.proposing(json!({}), with_database("bye"));
    let explained = explain(&inputs, &world.around);
    assert!(!explained.observed && !explained.ready);
    let text = explained.to_string();
    assert!(text.contains("The platform has not looked at generation 2 yet"), "{text}");
    assert!(text.ends_with("ask the platform team whether the orchestrator is at work."), "{text}");
}
