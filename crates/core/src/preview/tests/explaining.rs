//! Texts of explanations.

use orchestra_api::{claim::Phase, condition::Reason};
use serde_json::json;

use super::fixture::{Fixture, assert_text, ready, with_database};
use crate::preview::explain;

#[test]
fn a_ready_workload_shows_its_placement_and_dependencies() {
    assert_text(
        &ready().explain(),
        r"
Workload shop/web is ready. It runs on here (process) with the profile web-service. It is reached at http://web.example.test. It depends on db (postgres, default).

Where it runs:
  profile web-service: profile of the current placement
  backend here (process, priority 10): accepts the workload
  backend there (kubernetes, priority 5, version 1.2.0): accepts the workload
  stays on here

What it depends on:
  db (postgres, default), provided by the engine `builtin`: Bound: Ready.
",
    );
}

#[test]
fn a_ready_workload_shows_policies_and_rejected_backends() {
    let mut fixture = Fixture::empty()
        .with_policy("sizes", json!({"defaults": {"requests": {"memory": "2Gi"}}, "priority": 1}))
        .with_policy("small", json!({"defaults": {"requests": {"memory": "32Mi"}}}))
        .with_policy("trial", json!({"mode": "Audit", "allow": {"registries": ["registry.example.org"]}}))
        .with_unreadable_policy("broken", &json!({}));
    fixture.apply(json!({"containers": {"app": {"image": "nginx"}}}));
    fixture.run();
    assert_text(
        &fixture.explain(),
        r"
Workload shop/web is ready. It runs on there (kubernetes) with the profile web-service. It is reached at http://web.example.test. No dependencies.

Where it runs:
  profile web-service: profile of the current placement
  backend here (process, priority 10): rejected: it accepts at most 1Gi memory, the workload requests 2Gi
  backend there (kubernetes, priority 5, version 1.2.0): accepts the workload
  stays on there

What policies set:
  /containers/app/resources/requests/memory = 2Gi (policy sizes), not 32Mi (policy small)

Note: The policy `broken` cannot be deserialized; its last accepted version is in force.

Not enforced yet: Policy `trial` allows images from `registry.example.org` only; `/containers/app/image` is `nginx`: use an image from there or have the policy changed.
",
    );
}

#[test]
fn the_engine_that_manages_a_claim_is_shown_as_its_provider() {
    let mut fixture = Fixture::empty().with_provisioners("    - {type: queue, engine: external}\n");
    fixture.apply(json!({
        "containers": {"app": {"image": "nginx"}}, "resources": {"db": {"type": "postgres"}, "jobs": {"type": "queue"}},
    }));
    let db = fixture.inputs.claims.iter_mut().find(|claim| claim.spec.key == "db").unwrap();
    db.metadata.finalizers = Some(vec!["score.dev/provisioner".to_owned()]);
    db.metadata.annotations = Some([("score.dev/engine".to_owned(), "earlier".to_owned())].into());
    let text = fixture.explain().to_string();
    assert!(text.contains("  db (postgres, default), provided by the engine `earlier`: "), "{text}");
    assert!(text.contains("  jobs (queue, default), provided by an external controller: "), "{text}");
}

#[test]
fn a_pending_dependency_names_its_provisioner() {
    let mut fixture = Fixture::empty();
    fixture.apply(with_database("hello"));
    fixture.report_claim("db", Phase::Binding, None, "It is being made.");
    assert_text(
        &fixture.explain(),
        r"
Workload shop/web is not ready.

ClaimsReady is False (BindingPending): Resource `db`: It is being made.
  db (postgres, default), provided by the engine `builtin`: Binding: It is being made.

RuntimeReady is False (ProjectionError): Waiting for the output `host` of resource `db` (and 1 more).
  Waiting for the output `host` of resource `db`.
  Waiting for the output `password` of resource `db`.

Where it runs:
  profile web-service: default of the orchestrator config
  backend here (process, priority 10): accepts the workload
  backend there (kubernetes, priority 5, version 1.2.0): accepts the workload
  stays on here

Next: Wait for the resource `db`; if it takes long, check the provisioner of `postgres`.
",
    );
}

#[test]
fn the_message_of_a_failed_dependency_is_shown() {
    let mut fixture = Fixture::empty();
    fixture.apply(with_database("hello"));
    fixture.report_claim("db", Phase::Failed, Some(Reason::BindingFailed), "There is no version 3.");
    let text = fixture.explain().to_string();
    let next = "Next: Correct the resource `db` as its message says, or the provisioner of `postgres`.";
    assert!(text.contains("Failed: There is no version 3.") && text.ends_with(next), "{text}");
}

#[test]
fn every_mistake_of_a_document_is_listed() {
    let mut spec = with_database("hello");
    spec["containers"]["app"]["env"] = json!({});
    spec["containers"]["app"]["variables"]["MORE"] = json!(7);
    let mut fixture = ready();
    fixture.apply(spec);
    assert_text(
        &fixture.explain(),
        r#"
Workload shop/web is not ready.

InputsValid is False (SpecInvalid): UNKNOWN_FIELD at /containers/app/env: unknown field `env` in a container; use `variables` for environment variables: `variables: {LOG_LEVEL: debug}` (and 1 more).
  UNKNOWN_FIELD at /containers/app/env: unknown field `env` in a container; use `variables` for environment variables: `variables: {LOG_LEVEL: debug}`.
  TYPE_MISMATCH at /containers/app/variables/MORE: invalid type: expected string, found number for `MORE`; quote the value: "7".

Next: Correct /containers/app/env and apply the workload again: use `variables` for environment variables: `variables: {LOG_LEVEL: debug}`.
"#,
    );
}

#[test]
fn a_violation_names_the_policy_and_the_field() {
    let mut fixture = Fixture::empty().with_policy(
        "ours-only",
        json!({"allow": {"registries": ["registry.example.org"]}, "defaults": {"limits": {"memory": "64Mi"}}}),
    );
    fixture.apply(with_database("hello"));
    assert_text(
        &fixture.explain(),
        r"
Workload shop/web is not ready.

InputsValid is False (PolicyViolation): Policy `ours-only` allows images from `registry.example.org` only; `/containers/app/image` is `nginx`: use an image from there or have the policy changed.

RuntimeReady is False (RuntimeSelecting): Not started: the inputs are not valid.

What policies set:
  /containers/app/resources/limits/memory = 64Mi (policy ours-only)
  allow.registries = registry.example.org (policy ours-only)

Next: Change /containers/app/image and apply the workload again, or have the policy ours-only changed.
",
    );
}

#[test]
fn without_a_placement_every_backend_is_shown_with_its_objections() {
    let mut fixture = Fixture::empty();
    let mut spec = with_database("hello");
    spec["containers"]["app"]["resources"] = json!({"requests": {"memory": "2Gi"}});
    fixture.apply_annotated(json!({"score.dev/region": "eu"}), spec);
    assert_text(
        &fixture.explain(),
        r#"
Workload shop/web is not ready.

ClaimsReady is False (BindingPending): Resource `db`: Requested once a backend is selected.

RuntimeReady is False (RuntimeSelecting): No backend of the profile "web-service" matches: "here" (it has no region, the workload requires eu; it accepts at most 1Gi memory, the workload requests 2Gi); "there" (it has no region, the workload requires eu); change the requirements of the workload, or add a matching backend to the orchestrator config.
  profile web-service: default of the orchestrator config
  backend here (process, priority 10): rejected: it has no region, the workload requires eu; it accepts at most 1Gi memory, the workload requests 2Gi
  backend there (kubernetes, priority 5, version 1.2.0): rejected: it has no region, the workload requires eu

Next: Change the requirements of the workload, or the orchestrator config, as named above.
"#,
    );
}

#[test]
fn a_deletion_shows_what_it_waits_for() {
    let mut fixture = ready();
    fixture.delete();
    fixture.step();
    assert_text(
        &fixture.explain(),
        r"
Workload shop/web is being deleted.

RuntimeReady is False (RuntimeProvisioning): Being deleted: waiting for the runtime `process` to stop it (finalizer `score.dev/runtime`); if it does not end, check that its controller is running.

Next: Wait for the deletion to finish; if nothing changes for some minutes, check the controller that is named above.
",
    );
}

#[test]
fn a_move_away_from_data_is_refused_with_the_annotation_that_allows_it() {
    let mut fixture = ready();
    fixture.apply_annotated(json!({"score.dev/move": "there"}), with_database("hello"));
    assert_text(
        &fixture.explain(),
        r#"
Workload shop/web is not ready.

RuntimeReady is False (RuntimeSelecting): The workload would move from "here" to "there", and the data of `db` would stay behind; undo the change, or set the annotation score.dev/abandon-data to "true" to give the data up.
  profile web-service: profile of the current placement
  backend here (process, priority 10): accepts the workload
  backend there (kubernetes, priority 5, version 1.2.0): accepts the workload

Next: Change the requirements of the workload, or the orchestrator config, as named above; the last valid version keeps running.
"#,
    );
}

#[test]
fn a_generation_that_is_not_reconciled_is_explained_in_advance() {
    let fixture = ready();
    let inputs = fixture.proposing(json!({}), with_database("bye"));
    let explained = explain(&inputs, &fixture.context);
    assert!(!explained.observed && !explained.ready);
    let text = explained.to_string();
    assert!(text.contains("Generation 2 has not been reconciled yet"), "{text}");
    assert!(text.ends_with("check that the orchestrator is running."), "{text}");
}
