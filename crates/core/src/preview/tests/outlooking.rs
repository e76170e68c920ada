//! What claims would come to, as far as it is known before anybody is asked.

use orchestra_api::{ResourceClaim, finalizer};
use serde_json::{Value as Json, json};

use super::world::{World, assert_text};
use crate::preview::{Surroundings, shared_instances};

const FLAGS: &str = "    - {type: service, engine: static, outputs: {host: {value: flags.example.test}}}\n";
const VAULT: &str = "    - {type: vault, engine: static, unknownParams: Refuse, outputs: {host: {value: vault.example.test}, token: {secretKeyRef: {name: vault, key: token}}}}\n";
const QUEUE: &str = "    - {type: queue, engine: external}\n";
const SEARCH: &str = "    - {type: elasticsearch, engine: helm}\n";

fn depending_on(resource: &Json) -> Json {
    json!({"containers": {"app": {"image": "nginx"}}, "resources": {"it": resource}})
}

/// The first line about a claim, and what the workload would say of its claims.
fn outlook(world: &World, resource: &Json) -> (String, String) {
    let text = world.preview(depending_on(resource)).to_string();
    let find =
        |start: &str| text.lines().find(|line| line.contains(start)).unwrap_or_default().trim().to_owned();
    (find(" dependency it "), find("ClaimsReady is "))
}

#[test]
fn what_nobody_provides_is_said_before_it_is_asked_for() {
    let world = World::empty().with_provisioners("    - {type: redis, class: small, engine: builtin}\n");
    let (line, said) = outlook(&world, &json!({"type": "redis"}));
    assert_eq!(
        line,
        "+ dependency it (redis, default): cannot be had: The platform provides no redis of class \"default\"; of this type there is: class \"small\"; ask for one of these, or ask the platform team for yours."
    );
    assert_eq!(
        said,
        "ClaimsReady is False (BindingFailed): Resource `it`: The platform provides no redis of class \"default\"; of this type there is: class \"small\"; ask for one of these, or ask the platform team for yours."
    );
}

#[test]
fn an_engine_that_is_not_at_hand_is_named() {
    let (line, said) = outlook(&World::empty().with_provisioners(SEARCH), &json!({"type": "elasticsearch"}));
    let why = "The platform's document provides `elasticsearch` with the engine `helm`, which is not at hand: ask the platform team.";
    assert_eq!(line, format!("+ dependency it (elasticsearch, default): cannot be had: {why}"));
    assert_eq!(said, format!("ClaimsReady is False (BindingFailed): Resource `it`: {why}"));
}

#[test]
fn where_the_engines_are_not_known_nothing_is_said_of_them() {
    let mut world = World::empty().with_provisioners(SEARCH);
    world.around.engines = None;
    let (line, said) = outlook(&world, &json!({"type": "elasticsearch"}));
    assert_eq!(line, "+ dependency it (elasticsearch, default)");
    assert!(said.starts_with("ClaimsReady is False (BindingPending): "), "{said}");
}

#[test]
fn what_others_provide_is_said_to_be_theirs() {
    let (line, said) = outlook(&World::empty().with_provisioners(QUEUE), &json!({"type": "queue"}));
    assert_eq!(line, "+ dependency it (queue, default): provided by others (engine `external`)");
    assert!(said.starts_with("ClaimsReady is False (BindingPending): "), "{said}");
}

#[test]
fn parameters_that_are_not_used_are_named_and_refused_where_the_platform_says_so() {
    let world = World::empty().with_provisioners(&format!("{FLAGS}{VAULT}"));
    let (line, _) = outlook(&world, &json!({"type": "service", "params": {"size": 3}}));
    assert_eq!(
        line,
        "+ dependency it (service, default): provided by the engine `static`; The parameters `size` are not used here."
    );
    let (line, said) = outlook(&world, &json!({"type": "vault", "params": {"size": 3}}));
    let why = "The parameters `size` are not known here: remove them from `params`.";
    assert_eq!(line, format!("+ dependency it (vault, default): cannot be had: {why}"));
    assert_eq!(said, format!("ClaimsReady is False (BindingFailed): Resource `it`: {why}"));
}

/// A claim of another Workload for the same thing.
fn of_another(world: &World, resource: &Json) -> ResourceClaim {
    let mut world = World { inputs: world.inputs.clone(), around: Surroundings::default(), live: false };
    world.apply(depending_on(resource));
    let mut claim = world.inputs.claims.remove(0);
    claim.metadata.name = Some("other-it".to_owned());
    claim.metadata.finalizers = Some(vec![finalizer::PROVISIONER.to_owned()]);
    "other".clone_into(&mut claim.spec.workload_ref.name);
    "uid-2".clone_into(&mut claim.spec.workload_ref.uid);
    claim
}

#[test]
fn a_conflict_over_something_shared_names_who_holds_it_with_what() {
    let mut world = World::empty().with_provisioners("");
    let shared = |size: u8| json!({"type": "postgres", "id": "orders", "params": {"size": size}});
    let other = of_another(&world, &shared(1));
    let asked = world.proposing(json!({}), depending_on(&shared(2)));
    let instance = other.metadata.labels.as_ref().unwrap()["score.dev/instance"].clone();
    assert_eq!(shared_instances(&asked), [instance].into());
    world.around.claims = vec![other];
    world.inputs.now = "2026-01-01T00:00:00Z".parse().unwrap();
    let (line, said) = outlook(&world, &shared(2));
    let why = "The shared resource `orders` is held by workload `other` with another `size` in its params: use the same, or another id.";
    assert_eq!(line, format!("+ dependency it (postgres, default, shared as orders): cannot be had: {why}"));
    assert_eq!(said, format!("ClaimsReady is False (BindingFailed): Resource `it`: {why}"));
    let (line, _) = outlook(&world, &shared(1));
    assert_eq!(
        line,
        "+ dependency it (postgres, default, shared as orders): provided by the engine `builtin`"
    );
}

#[test]
fn what_exists_already_is_in_the_plan_at_once_with_its_values() {
    let world = World::empty().with_provisioners(FLAGS);
    let preview = world.preview(json!({
        "containers": {"app": {"image": "nginx", "variables": {"FLAGS": "https://${resources.flags.host}"}}},
        "resources": {
            "flags": {"type": "service"},
            "name": {"type": "dns", "params": {"for": "${resources.flags.host}"}},
        },
    }));
    assert_text(
        &preview,
        r#"
+ workload web
+ dependency flags (service, default): provided by the engine `static`
+ dependency name (dns, default): provided by the engine `builtin`
    /params/for "flags.example.test"
+ plan (web-service on here)
    /containers/app/image "nginx"
    /containers/app/variables/FLAGS "https://flags.example.test"

The workload would say:
  ClaimsReady is False (BindingPending): Resource `name`: Waiting for a provisioner; if none begins, ask the platform team who provides this type.
  RuntimeReady is False (RuntimeProvisioning): This version is being started; if nothing happens, ask the platform team whether the runtime `process` is at work.
"#,
    );
    let plan = preview.changes.iter().find(|change| change.title.starts_with("plan ")).unwrap();
    assert!(!plan.fields.iter().any(|field| field.pointer == "/claims" || field.pointer == "/revision"));
}

#[test]
fn secrets_of_what_exists_already_stay_references_and_are_waited_for() {
    let world = World::empty().with_provisioners(VAULT);
    let with = |text: &str| {
        json!({
            "containers": {"app": {"image": "nginx", "variables": {"VAULT": text}}},
            "resources": {"vault": {"type": "vault"}},
        })
    };
    assert_text(
        &world.preview(with("${resources.vault.token}@${resources.vault.host}")),
        r#"
+ workload web
+ dependency vault (vault, default): provided by the engine `static`
+ plan (web-service on here): once its dependencies are ready
    /containers/app/image "nginx"
    /containers/app/variables/VAULT "${resources.vault.token}@vault.example.test"
? Waiting for the output `host` of resource `vault`.
? Waiting for the output `token` of resource `vault`.

The workload would say:
  ClaimsReady is False (BindingPending): Resource `vault`: Waiting for a provisioner; if none begins, ask the platform team who provides this type.
  RuntimeReady is False (ProjectionError): Waiting for the output `host` of resource `vault` (and 1 more).
"#,
    );
    let text = world.preview(with("${resources.vault.nonsense}")).to_string();
    assert!(
        text.contains("? Resource `vault` has no output `nonsense`; its outputs are: `host`, `token`."),
        "{text}"
    );
}

#[test]
fn a_policy_that_cannot_be_read_or_has_a_fault_is_noted() {
    let mut world = World::empty().with_policy("faulty", json!({"limits": {"cpu": "x"}}));
    world.around.unread_policies = vec!["broken".to_owned()];
    let text = world.preview(depending_on(&json!({"type": "postgres"}))).to_string();
    let note = "\nNote: The policy `faulty` has a fault, and is left out: ask the platform team.\nNote: The policy `broken` cannot be read, and is left out here: ask the platform team.\n";
    assert!(text.contains(note), "{text}");
}
