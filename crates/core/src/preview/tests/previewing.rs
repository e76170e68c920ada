//! Previews: the diff, and that it comes true.

use orchestra_api::{Reason, annotation, claim::Phase};
use serde_json::json;

use super::world::{World, assert_text, ready, with_database};
use crate::preview::{Action, Change, ObjectKind, of_deletion, preview, propose};

fn actions(changes: &[Change]) -> Vec<(Action, ObjectKind)> {
    changes.iter().map(|change| (change.action, change.kind)).collect()
}

#[test]
fn a_new_workload_is_shown_with_the_values_that_binding_will_give() {
    let preview = World::empty().preview(with_database("hello"));
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

The workload would say:
  ClaimsReady is False (BindingPending): Resource `db`: Waiting for a provisioner; if none begins, ask the platform team who provides this type.
  RuntimeReady is False (ProjectionError): Waiting for the output `host` of resource `db` (and 1 more).
"#,
    );
}

#[test]
fn a_changed_variable_is_one_line_of_the_document_and_one_of_the_plan() {
    let preview = ready().preview(with_database("bye"));
    assert_text(
        &preview,
        r#"
~ workload web
    /containers/app/variables/GREETING "hello" -> "bye"
~ plan (web-service on here)
    /containers/app/variables/GREETING "hello" -> "bye"

The workload would say:
  RuntimeReady is False (RuntimeProvisioning): This version is being started; if nothing happens, ask the platform team whether the runtime `process` is at work.
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
fn a_change_that_reaches_nothing_that_runs_is_not_called_a_change_of_it() {
    let mut spec = with_database("hello");
    spec["metadata"] = json!({"note": "for people"});
    let preview = ready().preview(spec);
    assert_text(
        &preview,
        r#"
~ workload web
    /metadata/note "for people"
No changes to what runs.

The workload would be ready.
"#,
    );
}

#[test]
fn annotations_and_labels_are_fields_of_the_document_and_those_of_other_tools_are_not() {
    let mut world = ready();
    let metadata = &mut world.inputs.workload.metadata;
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
    let preview = world.preview_annotated(json!({"note": "new"}), with_database("hello"));
    let fields: Vec<_> = preview.changes[0].fields.iter().map(ToString::to_string).collect();
    assert_eq!(
        fields,
        [r#"/metadata/annotations/note "old" -> "new""#, r#"/metadata/labels/team "a" -> nothing"#]
    );
}

#[test]
fn a_dependency_that_is_dropped_goes_after_the_plan_has_moved_on() {
    let spec = json!({"containers": {"app": {"image": "nginx"}}});
    let preview = ready().preview(spec);
    assert_text(
        &preview,
        r#"
~ workload web
    /containers/app/variables/DB "postgres://u:${resources.db.password}@${resources.db.host}/" -> nothing
    /containers/app/variables/GREETING "hello" -> nothing
    /resources/db/type "postgres" -> nothing
    /service/ports/http/port 80 -> nothing
~ plan (web-service on here)
    /containers/app/variables/DB "postgres://u:${resources.db.password}@db.example.test/" -> nothing
    /containers/app/variables/GREETING "hello" -> nothing
    /ports/http/port 80 -> nothing
    /ports/http/protocol "TCP" -> nothing
    /ports/http/targetPort 80 -> nothing
- dependency db (postgres, default): removed with its data; once the running version does without it

The workload would say:
  RuntimeReady is False (RuntimeProvisioning): This version is being started; if nothing happens, ask the platform team whether the runtime `process` is at work.
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
fn what_a_dependency_of_a_dependency_leads_to_is_foreseen_too() {
    let preview = World::empty().preview(json!({
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
+ dependency name (dns, default): once the values that it refers to are known
    /params/for "(known after binding)"
+ plan (web-service on here): once its dependencies are ready
    /containers/app/image "nginx"
    /containers/app/variables/NAME "(known after binding)"
? Waiting for the output `host` of resource `db`.
? Waiting for the output `host` of resource `name`.

The workload would say:
  ClaimsReady is False (BindingPending): Resource `db`: Waiting for a provisioner; if none begins, ask the platform team who provides this type.
  RuntimeReady is False (ProjectionError): Waiting for the output `host` of resource `name`.
"#,
    );
}

#[test]
fn a_value_that_will_never_come_is_listed_and_no_plan_is_made_up() {
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
fn an_invalid_document_changes_nothing_that_runs_and_says_where_it_is_wrong() {
    let mut spec = with_database("hello");
    spec["containers"]["app"]["env"] = json!({});
    let preview = ready().preview(spec);
    assert_eq!(preview.refusal(), Some(Reason::SpecInvalid));
    assert_eq!(ready().preview(with_database("bye")).refusal(), None, "what only takes time is not refused");
    assert_text(
        &preview,
        r#"
~ workload web
    /containers/app/env {}
No changes to what runs.

The workload would say:
  InputsValid is False (SpecInvalid): UNKNOWN_FIELD at /containers/app/env: "env" is not a field of a container; environment variables are called `variables`: `variables: {LOG_LEVEL: debug}`.
"#,
    );
}

#[test]
fn a_deletion_is_shown_to_its_end_in_the_reverse_order_of_need() {
    let mut world = World::empty();
    world.apply(json!({
        "containers": {"app": {"image": "nginx"}},
        "resources": {
            "db": {"type": "postgres", "metadata": {"annotations": {"score.dev/deprovision": "Retain"}}},
            "name": {"type": "dns", "id": "apex", "params": {"for": "${resources.db.host}"}},
        },
    }));
    world.bind("db");
    assert_text(
        &of_deletion(&world.inputs),
        r"
- address: withdrawn
- plan (web-service on here): what runs is stopped
- dependency name (dns, default, shared as apex): nothing was made for it
- dependency db (postgres, default): stopped; data and passwords are kept
- workload web: when nothing is left of it

The workload would say:
  ClaimsReady is False (BindingPending): Resource `name`: Waiting for a provisioner; if none begins, ask the platform team who provides this type.
  RuntimeReady is False (RuntimeProvisioning): Being deleted: waiting for its address to be withdrawn.
",
    );
}

#[test]
fn data_is_said_to_go_only_where_something_was_made() {
    let released = |prepare: &dyn Fn(&mut World)| {
        let mut world = World::empty();
        world.apply(with_database("hello"));
        prepare(&mut world);
        let preview = of_deletion(&world.inputs);
        let claim = preview.changes.iter().find(|change| change.kind == ObjectKind::ResourceClaim);
        claim.and_then(|claim| claim.note.clone()).unwrap()
    };
    let taken = |world: &mut World, engine: &str| {
        let noted = [(annotation::ENGINE.to_owned(), engine.to_owned())];
        world.inputs.claims[0].metadata.annotations = Some(noted.into());
    };
    let fail = |world: &mut World| world.say_of_claim("db", Phase::Failed, None, "There is none.");
    assert_eq!(released(&|_| {}), "nothing was made for it");
    assert_eq!(released(&fail), "nothing was made for it");
    assert_eq!(
        released(&|world| {
            taken(world, "builtin");
            fail(world);
        }),
        "it was never ready; what was begun for it is given up"
    );
    assert_eq!(released(&|world| world.bind("db")), "removed with its data");
    assert_eq!(
        released(&|world| {
            world.bind("db");
            // What was bound once has data, also when it fails later.
            world.inputs.claims[0].status.as_mut().unwrap().phase = Phase::Failed;
        }),
        "removed with its data"
    );
    assert_eq!(
        released(&|world| {
            taken(world, "static");
            world.bind("db");
        }),
        "let go; it was there before, and stays"
    );
}

#[test]
fn what_is_shown_is_what_is_done() {
    let mut world = ready();
    for spec in [
        with_database("bye"),
        json!({"containers": {"app": {"image": "nginx"}}, "resources": {"name": {"type": "dns"}}}),
        json!({"containers": {"app": {"image": "caddy", "nonsense": 1}}}),
    ] {
        let inputs = world.proposing(json!({}), spec.clone());
        let shown = preview(&inputs, &world.around);
        world.apply(spec);
        assert_eq!(world.inputs.workload.status.as_ref(), Some(&shown.status));
        for change in &shown.changes {
            if change.kind == ObjectKind::WorkloadPlan && change.note.is_none() {
                let held = serde_json::to_value(&world.inputs.plan.as_ref().unwrap().spec).unwrap();
                for field in &change.fields {
                    assert_eq!(held.pointer(&field.pointer), field.after.as_ref(), "{}", field.pointer);
                }
            }
        }
    }
}

#[test]
fn an_apply_keeps_what_others_have_put_on_the_object() {
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
