//! Forecasts of claims.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use orchestra_api::{ResourceClaim, WorkloadPlan, finalizer, plan::WorkloadPlanSpec};
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, assert_text};
use crate::preview::{PreviewContext, kept_by, shared_instances};

const FLAGS: &str = "    - {type: service, engine: static, outputs: {host: {value: flags.example.test}}}\n";
const VAULT: &str = "    - {type: vault, engine: static, unknownParams: Refuse, outputs: {host: {value: vault.example.test}, token: {secretKeyRef: {name: vault, key: token}}}}\n";
const QUEUE: &str = "    - {type: queue, engine: external}\n";
const SEARCH: &str = "    - {type: elasticsearch, engine: helm}\n";

fn depending_on(resource: &Json) -> Json {
    json!({"containers": {"app": {"image": "nginx"}}, "resources": {"it": resource}})
}

/// First line about a claim, and the condition `ClaimsReady`.
fn claim_forecast(fixture: &Fixture, resource: &Json) -> (String, String) {
    let text = fixture.preview(depending_on(resource)).to_string();
    let find =
        |start: &str| text.lines().find(|line| line.contains(start)).unwrap_or_default().trim().to_owned();
    (find(" dependency it "), find("ClaimsReady is "))
}

#[test]
fn a_dependency_without_a_provisioner_is_shown() {
    let fixture = Fixture::empty().with_provisioners("    - {type: redis, class: small, engine: builtin}\n");
    let (line, condition) = claim_forecast(&fixture, &json!({"type": "redis"}));
    assert_eq!(
        line,
        "+ dependency it (redis, default): cannot be provisioned: No provisioner found for redis of class \"default\"; available for this type: class \"small\"; use one of these, or add a provisioner to the orchestrator config."
    );
    assert_eq!(
        condition,
        "ClaimsReady is False (BindingFailed): Resource `it`: No provisioner found for redis of class \"default\"; available for this type: class \"small\"; use one of these, or add a provisioner to the orchestrator config."
    );
}

#[test]
fn an_unavailable_engine_is_named() {
    let (line, condition) =
        claim_forecast(&Fixture::empty().with_provisioners(SEARCH), &json!({"type": "elasticsearch"}));
    let why = "The orchestrator config provides `elasticsearch` with the engine `helm`, which is not available here; choose another engine.";
    assert_eq!(line, format!("+ dependency it (elasticsearch, default): cannot be provisioned: {why}"));
    assert_eq!(condition, format!("ClaimsReady is False (BindingFailed): Resource `it`: {why}"));
}

#[test]
fn without_known_engines_there_is_no_forecast() {
    let mut fixture = Fixture::empty().with_provisioners(SEARCH);
    fixture.context.engines = None;
    let (line, condition) = claim_forecast(&fixture, &json!({"type": "elasticsearch"}));
    assert_eq!(line, "+ dependency it (elasticsearch, default)");
    assert!(condition.starts_with("ClaimsReady is False (BindingPending): "), "{condition}");
}

#[test]
fn an_external_dependency_is_shown_as_such() {
    let (line, condition) =
        claim_forecast(&Fixture::empty().with_provisioners(QUEUE), &json!({"type": "queue"}));
    assert_eq!(
        line,
        "+ dependency it (queue, default): provided by an external controller (engine `external`)"
    );
    assert!(condition.starts_with("ClaimsReady is False (BindingPending): "), "{condition}");
}

#[test]
fn unused_parameters_are_shown_and_refused_if_the_entry_says_so() {
    let fixture = Fixture::empty().with_provisioners(&format!("{FLAGS}{VAULT}"));
    let (line, _) = claim_forecast(&fixture, &json!({"type": "service", "params": {"size": 3}}));
    assert_eq!(
        line,
        "+ dependency it (service, default): provided by the engine `static`; Ignored params: `size`."
    );
    let (line, condition) = claim_forecast(&fixture, &json!({"type": "vault", "params": {"size": 3}}));
    let why = "Unknown params: `size`; remove them.";
    assert_eq!(line, format!("+ dependency it (vault, default): cannot be provisioned: {why}"));
    assert_eq!(condition, format!("ClaimsReady is False (BindingFailed): Resource `it`: {why}"));
}

/// Claim of another Workload for the same instance.
fn of_another(fixture: &Fixture, resource: &Json) -> ResourceClaim {
    let mut fixture =
        Fixture { inputs: fixture.inputs.clone(), context: PreviewContext::default(), live: false };
    fixture.apply(depending_on(resource));
    let mut claim = fixture.inputs.claims.remove(0);
    claim.metadata.name = Some("other-it".to_owned());
    claim.metadata.finalizers = Some(vec![finalizer::PROVISIONER.to_owned()]);
    "other".clone_into(&mut claim.spec.workload_ref.name);
    "uid-2".clone_into(&mut claim.spec.workload_ref.uid);
    claim
}

#[test]
fn a_conflict_over_a_shared_resource_names_the_other_workload() {
    let mut fixture = Fixture::empty().with_provisioners("");
    let shared = |size: u8| json!({"type": "postgres", "id": "orders", "params": {"size": size}});
    let other = of_another(&fixture, &shared(1));
    let inputs = fixture.proposing(json!({}), depending_on(&shared(2)));
    let instance = other.metadata.labels.as_ref().unwrap()["score.dev/instance"].clone();
    assert_eq!(shared_instances(&inputs), [instance].into());
    fixture.context.claims = vec![other];
    fixture.inputs.now = "2026-01-01T00:00:00Z".parse().unwrap();
    let (line, condition) = claim_forecast(&fixture, &shared(2));
    let why = "The shared resource `orders` is already used by workload `other` with a different `size` in its params: use the same value, or another id.";
    assert_eq!(
        line,
        format!("+ dependency it (postgres, default, shared as orders): cannot be provisioned: {why}")
    );
    assert_eq!(condition, format!("ClaimsReady is False (BindingFailed): Resource `it`: {why}"));
    let (line, _) = claim_forecast(&fixture, &shared(1));
    assert_eq!(
        line,
        "+ dependency it (postgres, default, shared as orders): provided by the engine `builtin`"
    );
}

#[test]
fn a_deleted_claim_of_another_workload_counts_while_its_running_version_uses_it() {
    let mut fixture = Fixture::empty().with_provisioners("");
    let shared = |size: u8| json!({"type": "postgres", "id": "orders", "params": {"size": size}});
    let mut other = of_another(&fixture, &shared(1));
    other.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(kept_by(std::slice::from_ref(&other)), ["other".to_owned()].into());
    let mut plan = WorkloadPlan::new("other", WorkloadPlanSpec::default());
    plan.spec.workload_ref = other.spec.workload_ref.clone();
    plan.metadata.finalizers = Some(vec![finalizer::RUNTIME.to_owned()]);
    fixture.context.claims = vec![other];
    fixture.inputs.now = "2026-01-01T00:00:00Z".parse().unwrap();
    let (line, _) = claim_forecast(&fixture, &shared(2));
    assert!(line.ends_with("provided by the engine `builtin`"), "{line}");
    fixture.context.plans = vec![plan];
    let (line, _) = claim_forecast(&fixture, &shared(2));
    assert!(line.contains("is already used by workload `other`"), "{line}");
}

#[test]
fn outputs_of_static_entries_are_in_the_plan() {
    let fixture = Fixture::empty().with_provisioners(FLAGS);
    let preview = fixture.preview(json!({
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

Expected conditions:
  ClaimsReady is False (BindingPending): Resource `name`: Waiting for a provisioner to pick up this claim.
  RuntimeReady is False (RuntimeProvisioning): Waiting for the first status from the runtime `process`.
"#,
    );
    let plan = preview.changes.iter().find(|change| change.title.starts_with("plan ")).unwrap();
    assert!(!plan.fields.iter().any(|field| field.pointer == "/claims" || field.pointer == "/revision"));
}

#[test]
fn secrets_of_static_entries_stay_references_and_are_awaited() {
    let fixture = Fixture::empty().with_provisioners(VAULT);
    let with = |text: &str| {
        json!({
            "containers": {"app": {"image": "nginx", "variables": {"VAULT": text}}},
            "resources": {"vault": {"type": "vault"}},
        })
    };
    assert_text(
        &fixture.preview(with("${resources.vault.token}@${resources.vault.host}")),
        r#"
+ workload web
+ dependency vault (vault, default): provided by the engine `static`
+ plan (web-service on here): once its dependencies are ready
    /containers/app/image "nginx"
    /containers/app/variables/VAULT "${resources.vault.token}@vault.example.test"
? Waiting for the output `host` of resource `vault`.
? Waiting for the output `token` of resource `vault`.

Expected conditions:
  ClaimsReady is False (BindingPending): Resource `vault`: Waiting for a provisioner to pick up this claim.
  RuntimeReady is False (ProjectionError): Waiting for the output `host` of resource `vault` (and 1 more).
"#,
    );
    let text = fixture.preview(with("${resources.vault.nonsense}")).to_string();
    assert!(
        text.contains("? Resource `vault` has no output `nonsense`; its outputs are: `host`, `token`."),
        "{text}"
    );
}

#[test]
fn an_unreadable_or_invalid_policy_is_noted() {
    let fixture = Fixture::empty()
        .with_policy("faulty", json!({"limits": {"cpu": "x"}}))
        .with_unreadable_policy("broken", &json!({}));
    let text = fixture.preview(depending_on(&json!({"type": "postgres"}))).to_string();
    let note = "\nNote: The policy `faulty` is invalid, and no accepted version of it is recorded; its status says why.\nNote: The policy `broken` cannot be deserialized; its last accepted version is in force.\n";
    assert!(text.contains(note), "{text}");
}
