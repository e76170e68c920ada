//! Previews: the diff, and tests that it comes true.

use orchestra_api::{Reason, annotation, claim::Phase};
use serde_json::json;

use super::fixture::{Fixture, assert_text, ready, with_database};
use crate::preview::{Action, ObjectKind, PreviewChange, of_deletion, preview, propose, resumes};

fn actions(changes: &[PreviewChange]) -> Vec<(Action, ObjectKind)> {
    changes.iter().map(|change| (change.action, change.kind)).collect()
}

#[test]
fn a_new_workload_is_shown_with_placeholders_of_values_known_after_binding() {
    let preview = Fixture::empty().preview(with_database("hello"));
    assert_text(
        &preview,
        r#"
+ workload web
+ dependency db (postgres, default)
+ plan (web-service on here): once its dependencies are ready
    /containers/app/image "nginx"
    /containers/app/variables/DB "postgres://u:(known after binding)@(known after binding)/"
    /containers/app/variables/GREETING "hello"
    /ports/http/port 80
    /ports/http/protocol "TCP"
    /ports/http/targetPort 80
? Waiting for the output `host` of resource `db`.
? Waiting for the output `password` of resource `db`.

Expected conditions:
  ClaimsReady is False (BindingPending): Resource `db`: Waiting for a provisioner to pick up this claim.
  RuntimeReady is False (ProjectionError): Waiting for the output `host` of resource `db` (and 1 more).
"#,
    );
}

#[test]
fn a_changed_variable_is_one_line_in_the_document_and_one_in_the_plan() {
    let preview = ready().preview(with_database("bye"));
    assert_text(
        &preview,
        r#"
~ workload web
    /containers/app/variables/GREETING "hello" -> "bye"
~ plan (web-service on here)
    /containers/app/variables/GREETING "hello" -> "bye"

Expected conditions:
  RuntimeReady is False (RuntimeProvisioning): Waiting for the first status from the runtime `process`.
"#,
    );
}

#[test]
fn an_unchanged_workload_changes_nothing() {
    let preview = ready().preview(with_database("hello"));
    assert_text(&preview, "No changes.\n\nThe workload would be ready.");
    assert_eq!(
        actions(&preview.changes),
        [
            (Action::Unchanged, ObjectKind::ResourceClaim),
            (Action::Unchanged, ObjectKind::WorkloadPlan),
            (Action::Unchanged, ObjectKind::WorkloadExposure)
        ]
    );
}

#[test]
fn a_change_without_effect_on_the_plan_is_shown_as_such() {
    let mut spec = with_database("hello");
    spec["metadata"] = json!({"note": "for people"});
    let preview = ready().preview(spec);
    assert_text(
        &preview,
        r#"
~ workload web
    /metadata/note "for people"
No changes to the plan.

The workload would be ready.
"#,
    );
}

#[test]
fn annotations_and_labels_of_the_author_are_fields_of_the_document() {
    let mut fixture = ready();
    let metadata = &mut fixture.inputs.workload.metadata;
    metadata.labels = Some([("team".to_owned(), "a".to_owned())].into());
    let annotations =
        [("note", "old"), ("tool", "x"), ("kubectl.kubernetes.io/last-applied-configuration", "{}")];
    metadata.annotations = Some(annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    metadata.managed_fields = serde_json::from_value(json!([
        {"manager": "author", "fieldsV1": {"f:spec": {}, "f:metadata": {
            "f:labels": {"f:team": {}}, "f:annotations": {"f:note": {}}}}},
        {"manager": "tool", "fieldsV1": {"f:metadata": {"f:annotations": {"f:tool": {}}}}},
    ]))
    .unwrap();
    let preview = fixture.preview_annotated(json!({"note": "new"}), with_database("hello"));
    let fields: Vec<_> = preview.changes[0].fields.iter().map(ToString::to_string).collect();
    assert_eq!(
        fields,
        [r#"/metadata/annotations/note "old" -> "new""#, r#"/metadata/labels/team "a" -> (removed)"#]
    );
}

#[test]
fn a_removed_dependency_is_deleted_after_the_new_plan_is_ready() {
    let spec = json!({"containers": {"app": {"image": "nginx"}}});
    let preview = ready().preview(spec);
    assert_text(
        &preview,
        r#"
~ workload web
    /containers/app/variables/DB "postgres://u:${resources.db.password}@${resources.db.host}/" -> (removed)
    /containers/app/variables/GREETING "hello" -> (removed)
    /resources/db/type "postgres" -> (removed)
    /service/ports/http/port 80 -> (removed)
~ plan (web-service on here)
    /containers/app/variables/DB "postgres://u:${resources.db.password}@db.example.test/" -> (removed)
    /containers/app/variables/GREETING "hello" -> (removed)
    /ports/http/port 80 -> (removed)
    /ports/http/protocol "TCP" -> (removed)
    /ports/http/targetPort 80 -> (removed)
- dependency db (postgres, default): deleted with its data; once the running version no longer uses it

Expected conditions:
  RuntimeReady is False (RuntimeProvisioning): Waiting for the first status from the runtime `process`.
"#,
    );
}

#[test]
fn another_class_is_a_new_claim_beside_the_old_one() {
    let mut spec = with_database("hello");
    spec["resources"]["db"]["class"] = json!("large");
    let changes = ready().preview(spec).changes;
    let claims: Vec<_> = changes.iter().filter(|change| change.kind == ObjectKind::ResourceClaim).collect();
    assert_eq!(
        (claims[0].action, claims[0].title.as_str()),
        (Action::Create, "dependency db (postgres, large)")
    );
    assert_eq!(
        (claims[1].action, claims[1].title.as_str()),
        (Action::Delete, "dependency db (postgres, default)")
    );
}

#[test]
fn a_dependency_of_a_dependency_is_previewed_too() {
    let preview = Fixture::empty().preview(json!({
        "containers": {"app": {"image": "nginx", "variables": {"NAME": "${resources.name.host}"}}},
        "resources": {
            "db": {"type": "postgres"},
            "name": {"type": "dns", "params": {"for": "${resources.db.host}"}},
        },
    }));
    assert_text(
        &preview,
        r#"
+ workload web
+ dependency db (postgres, default)
+ dependency name (dns, default): once the values it refers to are known
    /params/for "(known after binding)"
+ plan (web-service on here): once its dependencies are ready
    /containers/app/image "nginx"
    /containers/app/variables/NAME "(known after binding)"
? Waiting for the output `host` of resource `db`.
? Waiting for the output `host` of resource `name`.

Expected conditions:
  ClaimsReady is False (BindingPending): Resource `db`: Waiting for a provisioner to pick up this claim.
  RuntimeReady is False (ProjectionError): Waiting for the output `host` of resource `name`.
"#,
    );
}

#[test]
fn a_value_that_will_never_exist_is_listed_without_a_plan() {
    let mut spec = with_database("hello");
    spec["containers"]["app"]["variables"]["GREETING"] = json!("${resources.db.nonsense}");
    let preview = ready().preview(spec);
    assert_eq!(
        actions(&preview.changes),
        [
            (Action::Update, ObjectKind::Workload),
            (Action::Unchanged, ObjectKind::ResourceClaim),
            (Action::Unchanged, ObjectKind::WorkloadPlan),
            (Action::Unchanged, ObjectKind::WorkloadExposure)
        ]
    );
    assert!(preview.to_string().contains("? Resource `db` has no output `nonsense`"), "{preview}");
}

#[test]
fn an_invalid_document_leaves_the_plan_unchanged_and_shows_the_error() {
    let mut spec = with_database("hello");
    spec["containers"]["app"]["env"] = json!({});
    let preview = ready().preview(spec);
    assert_eq!(preview.refusal(), Some(Reason::SpecInvalid));
    assert_eq!(ready().preview(with_database("bye")).refusal(), None, "a pending workload is not refused");
    assert_text(
        &preview,
        r"
~ workload web
    /containers/app/env {}
No changes to the plan.

Expected conditions:
  InputsValid is False (SpecInvalid): UNKNOWN_FIELD at /containers/app/env: unknown field `env` in a container; use `variables` for environment variables: `variables: {LOG_LEVEL: debug}`.
",
    );
}

#[test]
fn a_deletion_is_shown_in_reverse_order_of_dependencies() {
    let mut fixture = Fixture::empty();
    fixture.apply(json!({
        "containers": {"app": {"image": "nginx"}},
        "resources": {
            "db": {"type": "postgres", "metadata": {"annotations": {"score.dev/deprovision": "Retain"}}},
            "name": {"type": "dns", "id": "apex", "params": {"for": "${resources.db.host}"}},
        },
    }));
    fixture.bind("db");
    assert_text(
        &of_deletion(&fixture.inputs),
        r"
- address: withdrawn
- plan (web-service on here): the workload is stopped
- dependency name (dns, default, shared as apex): nothing was provisioned
- dependency db (postgres, default): stopped; data and passwords are kept
- workload web: after everything else is gone

Expected conditions:
  ClaimsReady is False (BindingPending): Resource `name`: Waiting for a provisioner to pick up this claim.
  RuntimeReady is False (RuntimeProvisioning): Being deleted: waiting for its address to be withdrawn.
",
    );
}

#[test]
fn deleted_data_is_shown_only_if_something_was_provisioned() {
    let released = |prepare: &dyn Fn(&mut Fixture)| {
        let mut fixture = Fixture::empty();
        fixture.apply(with_database("hello"));
        prepare(&mut fixture);
        let preview = of_deletion(&fixture.inputs);
        let claim = preview.changes.iter().find(|change| change.kind == ObjectKind::ResourceClaim);
        claim.and_then(|claim| claim.note.clone()).unwrap()
    };
    let acquired = |fixture: &mut Fixture, engine: &str| {
        let engine = [(annotation::ENGINE.to_owned(), engine.to_owned())];
        fixture.inputs.claims[0].metadata.annotations = Some(engine.into());
    };
    let fail = |fixture: &mut Fixture| fixture.report_claim("db", Phase::Failed, None, "Not available.");
    assert_eq!(released(&|_| {}), "nothing was provisioned");
    assert_eq!(released(&fail), "nothing was provisioned");
    assert_eq!(
        released(&|fixture| {
            acquired(fixture, "builtin");
            fail(fixture);
        }),
        "it was never ready; its provisioning is cancelled"
    );
    assert_eq!(released(&|fixture| fixture.bind("db")), "deleted with its data");
    assert_eq!(
        released(&|fixture| {
            fixture.bind("db");
            // A claim that was bound once has data, even if it fails later.
            fixture.inputs.claims[0].status.as_mut().unwrap().phase = Phase::Failed;
        }),
        "deleted with its data"
    );
    assert_eq!(
        released(&|fixture| {
            acquired(fixture, "static");
            fixture.bind("db");
        }),
        "released; the existing resource is kept"
    );
}

#[test]
fn a_preview_equals_the_apply() {
    let mut fixture = ready();
    for spec in [
        with_database("bye"),
        json!({"containers": {"app": {"image": "nginx"}}, "resources": {"name": {"type": "dns"}}}),
        json!({"containers": {"app": {"image": "caddy", "nonsense": 1}}}),
    ] {
        let inputs = fixture.proposing(json!({}), spec.clone());
        let shown = preview(&inputs, &fixture.context);
        fixture.apply(spec);
        assert_eq!(fixture.inputs.workload.status.as_ref(), Some(&shown.status));
        for change in &shown.changes {
            if change.kind == ObjectKind::WorkloadPlan && change.note.is_none() {
                let stored = serde_json::to_value(&fixture.inputs.plan.as_ref().unwrap().spec).unwrap();
                for field in &change.fields {
                    assert_eq!(stored.pointer(&field.pointer), field.after.as_ref(), "{}", field.pointer);
                }
            }
        }
    }
}

#[test]
fn an_apply_keeps_metadata_of_other_managers() {
    let mut live = ready().inputs.workload;
    live.metadata = serde_json::from_value(json!({
        "name": "web", "namespace": "shop", "uid": "uid-1", "generation": 3, "finalizers": ["score.dev/workload"],
        "labels": {"team": "a", "by-hand": "yes"},
        "annotations": {"score.dev/move": "best", "score.dev/profile": "gone", "tool": "x"},
        "managedFields": [
            {"manager": "author", "fieldsV1": {"f:spec": {}, "f:metadata": {
                "f:labels": {"f:team": {}}, "f:annotations": {"f:score.dev/profile": {}}}}},
            {"manager": "kubectl", "fieldsV1": {"f:metadata": {
                "f:labels": {"f:by-hand": {}}, "f:annotations": {"f:score.dev/move": {}, "f:tool": {}}}}},
        ],
    }))
    .unwrap();
    let mut proposed = live.clone();
    proposed.metadata =
        serde_json::from_value(json!({"name": "web", "labels": {"team": "b"}, "uid": "forged"})).unwrap();
    let same = propose(Some(&live), proposed.clone());
    assert_eq!(
        serde_json::to_value(&same.metadata).unwrap(),
        json!({
            "name": "web", "namespace": "shop", "uid": "uid-1", "generation": 3,
            "finalizers": ["score.dev/workload"],
            "labels": {"team": "b", "by-hand": "yes"}, "annotations": {"score.dev/move": "best"},
        })
    );
    assert_eq!(same.status, live.status);
    proposed.spec.0.insert("metadata".to_owned(), json!({"note": "new"}));
    assert_eq!(propose(Some(&live), proposed.clone()).metadata.generation, Some(4));
    let new = propose(None, proposed).metadata;
    assert_eq!((new.uid.as_deref(), new.generation), (Some(""), Some(1)));
}

#[test]
fn an_apply_resumes_what_down_has_suspended_and_not_what_others_have() {
    let annotations_after = |manager: &str| {
        let mut live = ready().inputs.workload;
        let proposed = live.clone();
        live.metadata.annotations = Some([(annotation::SUSPEND.to_owned(), "true".to_owned())].into());
        live.metadata.managed_fields = serde_json::from_value(json!([
            {"manager": manager, "fieldsV1": {"f:metadata": {"f:annotations": {"f:score.dev/suspend": {}}}}},
        ]))
        .unwrap();
        assert_eq!(resumes(&live), manager == annotation::SUSPEND_MANAGER);
        propose(Some(&live), proposed).metadata.annotations.unwrap_or_default()
    };
    assert!(!annotation::suspends(&annotations_after(annotation::SUSPEND_MANAGER)));
    assert!(annotation::suspends(&annotations_after("kubectl-annotate")));
}
